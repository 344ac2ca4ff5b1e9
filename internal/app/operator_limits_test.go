package app

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// An operator cannot accept its own submission to another creator's mission. An operator who is the
// creator pays with its own money.
func TestOperatorsDoNotAcceptTheirOwnWork(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, func(config *Config) {
			curated(config)
			config.Operators = append(slices.Clone(config.Operators), alice)
		})
		ctx := context.Background()
		draft := s.publish("k", 3, "") // alice's
		own := s.submitQuickly(reviewer, draft, "one")
		_, err := s.operators.AcceptSubmission(ctx, testBase, by(reviewer), own, "Mine.")
		wantCode(t, err, sortie.CodeOwnSubmission)
		s.wantStatus(own, sortie.SubmissionFlagged)
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(colleague), own, "A colleague's.")
		s.must(err)
		s.wantStatus(own, sortie.SubmissionCurationAccepted)
		_, err = s.operators.FlagSubmission(ctx, testBase, by(reviewer), own, "I was wrong.") // against its own interest it may
		s.must(err)
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), own, "I was not.")
		wantCode(t, err, sortie.CodeOwnSubmission)

		creators := s.submitQuickly(alice, draft, "two")
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(alice), creators, "My money.")
		s.must(err)
		s.wantStatus(creators, sortie.SubmissionCurationAccepted)
	})
}

// An operator may contribute where the checks accept.
func TestAutomaticAcceptanceIsNotAnOperators(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), limited("2.5", true))
	draft := s.publish("k", 3, "")
	for i, wallet := range []sortie.Address{reviewer, bob, contributor(1)} {
		s.wantStatus(s.submitQuickly(wallet, draft, fmt.Sprint(i)), sortie.SubmissionAccepted)
	}
	if kinds := s.incidents(); len(kinds) != 0 {
		t.Errorf("incidents %v, want none", kinds)
	}
}

// limited sets the USDC that an operator may accept within an hour.
func limited(usdc string, second bool) func(*Config) {
	units, err := sortie.ParseUnits(usdc, 6)
	if err != nil {
		panic(err)
	}
	return func(config *Config) {
		config.OperatorLimits, config.SecondOperator = map[sortie.Token]*big.Int{sortie.TokenUSDC: units}, second
	}
}

func limitedAndCurated(usdc string, second bool) func(*Config) {
	return func(config *Config) {
		curated(config)
		limited(usdc, second)(config)
	}
}

// Acceptances above the hourly limit open one incident, and succeed.
func TestAnOperatorAboveTheHourlyLimitRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, limitedAndCurated("5", false)) // two rewards of 2.5
		ctx := context.Background()
		draft := s.publish("k", 9, "")
		number := 0
		accept := func(operator sortie.Address) {
			t.Helper()
			number++
			id := s.submitQuickly(contributor(number), draft, "k")
			_, err := s.operators.AcceptSubmission(ctx, testBase, by(operator), id, "")
			s.must(err)
			s.wantStatus(id, sortie.SubmissionCurationAccepted)
		}
		want := func(when string, crossed uint64, incidents ...string) {
			t.Helper()
			if got := s.incidents(); !slices.Equal(got, incidents) {
				t.Errorf("%s: incidents %v, want %v", when, got, incidents)
			}
			if got := s.app.Stats().LimitsCrossed; got != crossed {
				t.Errorf("%s: the limit was crossed %d times, want %d", when, got, crossed)
			}
		}
		accept(reviewer)
		accept(reviewer)
		accept(colleague)
		want("at the limit", 0)
		accept(reviewer)
		accept(reviewer)
		want("above the limit", 2, incidentOperatorLimit)
		if halted, err := s.db.Halted(ctx); err != nil || halted {
			t.Errorf("halted %t, %v; want an incident that does not halt", halted, err)
		}
		s.clearIncidents()
		s.pass(time.Hour)
		accept(reviewer)
		accept(reviewer)
		want("an hour later", 2)
	})
}

// With a second operator required, one key accepts no more than the limit within an hour.
func TestAboveTheHourlyLimitASecondOperatorDecides(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, limitedAndCurated("2.5", true))
		ctx := context.Background()
		draft := s.publish("k", 9, "")
		accept := func(operator sortie.Address, id string) error {
			_, err := s.operators.AcceptSubmission(ctx, testBase, by(operator), id, "")
			return err
		}
		first, second, third := s.submitQuickly(contributor(1), draft, "a"), s.submitQuickly(contributor(2), draft, "b"), s.submitQuickly(contributor(3), draft, "c")
		s.must(accept(reviewer, first))

		order := by(reviewer)
		for range 2 { // the same signed request again is answered the same
			_, err := s.operators.AcceptSubmission(ctx, testBase, order, second, "")
			wantCode(t, err, sortie.CodeSecondOperatorNeeded)
		}
		wantCode(t, accept(reviewer, second), sortie.CodeSecondOperatorNeeded) // nor does asking once more
		s.wantStatus(second, sortie.SubmissionFlagged)
		if entries := s.count(`SELECT COUNT(*) FROM audit WHERE subject = $1 AND action = 'submission.endorsed'`, second); entries != 1 {
			t.Errorf("%d audit entries of one endorsement, want 1", entries)
		}
		if got := s.incidents(); !slices.Equal(got, []string{incidentOperatorLimit}) {
			t.Errorf("incidents %v, want [%s]", got, incidentOperatorLimit)
		}
		seen, err := s.operators.ReviewedSubmission(ctx, testBase, colleague, second)
		s.must(err)
		if by := seen.Submission.EndorsedBy; by == nil || *by != reviewer.String() {
			t.Errorf("endorsed by %v, want %s", by, reviewer)
		}
		s.must(accept(colleague, second)) // within its own limit
		s.wantStatus(second, sortie.SubmissionCurationAccepted)

		wantCode(t, accept(colleague, third), sortie.CodeSecondOperatorNeeded)
		s.must(accept(reviewer, third)) // both above their limit, and together two
		s.wantStatus(third, sortie.SubmissionCurationAccepted)
		_, err = s.operators.FlagSubmission(ctx, testBase, by(reviewer), third, "Is that the tower?") // which ends the endorsement
		s.must(err)
		wantCode(t, accept(reviewer, third), sortie.CodeSecondOperatorNeeded)
	})
}

// Concurrent requests cannot exceed the limit.
func TestTheHourlyLimitHoldsInARace(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, limitedAndCurated("7.5", true)) // three rewards
		draft := s.publish("k", 12, "")
		var calls []func() error
		for i := range 12 {
			id := s.submitQuickly(contributor(i), draft, "k")
			calls = append(calls, func() error {
				_, err := s.operators.AcceptSubmission(context.Background(), testBase, by(reviewer), id, "")
				return err
			})
		}
		accepted := 0
		for _, err := range together(calls...) {
			if err == nil {
				accepted++
				continue
			}
			wantCode(t, err, sortie.CodeSecondOperatorNeeded)
		}
		if accepted != 3 || s.slots(draft).Accepted != 3 {
			t.Errorf("one operator accepted %d submissions (%d are counted), want 3", accepted, s.slots(draft).Accepted)
		}
	})
}

// A former operator does not count as second operator.
func TestAFormerOperatorsAcceptanceDoesNotCount(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), limitedAndCurated("1", true)) // every acceptance is above it
	ctx := context.Background()
	draft := s.publish("k", 1, "")
	id := s.submitQuickly(bob, draft, "one")
	_, err := s.operators.AcceptSubmission(ctx, testBase, by(reviewer), id, "")
	wantCode(t, err, sortie.CodeSecondOperatorNeeded)
	later := s.another(func(config *Config) { config.Operators = []sortie.Address{colleague, alice} })
	_, err = later.Operators.AcceptSubmission(ctx, testBase, by(colleague), id, "")
	wantCode(t, err, sortie.CodeSecondOperatorNeeded)
	s.wantStatus(id, sortie.SubmissionFlagged)
}
