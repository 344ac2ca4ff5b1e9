package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// Five hundred contributors compete for a hundred slots. Slots that are freed are used by others,
// and in the end a hundred contributors are paid for one slot each.
func TestManyRaceForFewSlots(t *testing.T) {
	t.Parallel()
	const contributors, target, givenBack = 500, 100, 30
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", target, "")
		race := func(numbers []int) (won map[int]sortie.SubmissionDeclared, lost []int) {
			t.Helper()
			declared := make([]sortie.SubmissionDeclared, len(numbers))
			calls := make([]func() error, len(numbers))
			for i, number := range numbers {
				calls[i] = func() (err error) {
					declared[i], err = s.declare(contributor(number), draft, "k", fmt.Appendf(nil, "file %d", number))
					return err
				}
			}
			won = make(map[int]sortie.SubmissionDeclared)
			for i, err := range together(calls...) {
				switch sortie.ErrorCode(err) {
				case "":
					won[numbers[i]] = declared[i]
				case sortie.CodeMissionFull:
					lost = append(lost, numbers[i])
				default:
					t.Fatal(err)
				}
			}
			return won, lost
		}
		everybody := make([]int, contributors)
		for i := range everybody {
			everybody[i] = i
		}
		winners, losers := race(everybody)
		if len(winners) != target || len(losers) != contributors-target {
			t.Fatalf("%d of %d got a place", len(winners), target)
		}
		var leaving []func() error
		for number, declared := range winners {
			if len(leaving) == givenBack {
				break
			}
			delete(winners, number)
			leaving = append(leaving, func() error { _, err := s.app.Withdraw(ctx, contributor(number), declared.SubmissionID); return err })
		}
		for _, err := range together(leaving...) {
			s.must(err)
		}
		second, _ := race(losers)
		if len(second) != givenBack {
			t.Fatalf("%d of %d places that were given back were taken, want %v", len(second), givenBack, givenBack)
		}
		var checks []func() error
		for _, round := range []map[int]sortie.SubmissionDeclared{winners, second} {
			for number, declared := range round {
				s.upload(declared, fmt.Appendf(nil, "file %d", number))
				s.pretend(declared.SubmissionID)
				for range 2 { // a job may be worked twice at once
					checks = append(checks, func() error { return s.app.CheckSubmission(ctx, declared.SubmissionID) })
				}
			}
		}
		for _, err := range together(checks...) {
			s.must(err)
		}
		s.pass(testHold)
		for _, err := range together(func() error { return doDue(ctx, s.ledger) }, func() error { return doDue(ctx, s.ledger) }) { // two processes
			s.must(err)
		}
		s.due()
		s.wantEverySlotPaidOnce(draft, target)
	})
}

// wantEverySlotPaidOnce checks that all slots of a mission are final, with a receipt each. When the
// chain has paid them and closed the mission, there is one event for each payment and one for the
// completion.
func (s *testMedia) wantEverySlotPaidOnce(draft store.Draft, target int) {
	s.t.Helper()
	if slots := s.slots(draft); slots.Reserved != 0 || slots.Accepted != target || slots.Finals != target || slots.CompletedAt != nil {
		s.t.Errorf("before the payment: slots %+v, want %d final ones of a mission that is not complete", slots, target)
	}
	s.complete(draft)
	s.due()
	if slots := s.slots(draft); slots.Paid != target || slots.Waiting != 0 || slots.CompletedAt == nil {
		s.t.Errorf("after the payment: slots %+v, want %d paid ones of a complete mission", slots, target)
	}
	query := DeliverablesQuery{Limit: 100}
	var taken []uint32
	paid := make(map[sortie.Address]bool)
	for {
		page := s.deliverables(draft, query)
		for _, delivered := range page.Submissions {
			submission := s.stored(delivered.SubmissionID)
			taken = append(taken, *submission.Slot)
			paid[submission.Contributor] = true
			if len(submission.Receipt) == 0 {
				s.t.Errorf("slot %d has no receipt", *submission.Slot)
			}
		}
		if page.Summary.NextCursor == nil {
			break
		}
		query.Cursor = *page.Summary.NextCursor
	}
	slices.Sort(taken)
	if len(slices.Compact(taken)) != target || taken[0] != 0 || taken[target-1] != uint32(target-1) || len(paid) != target {
		s.t.Errorf("slots %v of %d contributors", taken, len(paid))
	}
	counts := make(map[sortie.EventType]int)
	for _, event := range s.typesOf(draft) {
		counts[event]++
	}
	if counts[sortie.EventSubmissionAccepted] != target || counts[sortie.EventPayoutSent] != target || counts[sortie.EventPayoutPaid] != target ||
		counts[sortie.EventMissionCompleted] != 1 {
		s.t.Errorf("events %v, want %d accepted, sent and paid, and one end", counts, target)
	}
}

// While an incident halts the service nothing becomes final and nothing is signed. Afterwards
// everything continues.
func TestAHaltedServiceMakesNothingFinal(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		unsigned := s.another(func(config *Config) { config.Settler = nil })
		draft := s.publish("k", 2, "")
		waiting, final := s.submitQuickly(bob, draft, "one"), s.submitQuickly(contributor(1), draft, "two")
		_, err := s.operators.FlagSubmission(ctx, testBase, by(reviewer), waiting, "Later.")
		s.must(err)
		s.pass(testHold)
		s.must(doDue(ctx, unsigned.Ledger)) // final, and not signed
		if submission := s.submission(final); submission.Payout.Status != sortie.PayoutQueued || submission.Receipt != nil {
			t.Errorf("without a settler: %+v", submission)
		}
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), waiting, "")
		s.must(err)
		s.pass(testHold)
		s.must(s.ledger.ReportIncident(ctx, "test", "Stop.", true))
		s.due()
		if s.stored(waiting).Slot != nil || s.submission(final).Receipt != nil {
			t.Error("a halted service makes final or signs")
		}
		s.clearIncidents()
		s.due()
		s.wantReceipt(final, 0)
		s.wantReceipt(waiting, 1)
	})
}

// A settler that fails for one submission does not delay the others.
func TestReceiptsThatCannotBeSigned(t *testing.T) {
	t.Parallel()
	var broken sortie.Hash
	s := openTestMedia(t, sqliteDatabase(t), func(config *Config) {
		sign := config.Settler
		config.Settler = func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
			if settlement.Payments[0].SubmissionKey == broken {
				return nil, errors.New("the signer is away")
			}
			return sign(ctx, domain, settlement)
		}
	})
	draft := s.publish("k", 2, "")
	first, second := s.submitQuickly(bob, draft, "one"), s.submitQuickly(contributor(1), draft, "two")
	broken = sortie.SubmissionKey(first)
	s.pass(testHold)
	if err := doDue(context.Background(), s.ledger); err == nil {
		t.Error("got no error, want that of the signer")
	}
	s.wantReceipt(second, 1)
	broken = sortie.Hash{}
	s.due()
	s.wantReceipt(first, 0)
}

// A mission that has ended is closed when everything accepted is paid, and complete when that
// closing is final, with one event for its creator.
func TestAMissionThatIsOverIsCompleted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, curated)
		ctx := context.Background()
		draft := s.publish("k", 5, "")
		flagged := s.submitQuickly(bob, draft, "one")
		s.pass(31 * 24 * time.Hour)
		wantNotClosed := func(when string) {
			t.Helper()
			s.due()
			s.wantClosing(draft, false)
			if got := s.completions(draft); got != 0 {
				t.Errorf("%s: got %d completion events, want 0", when, got)
			}
		}
		wantNotClosed("while a submission waits for a person")
		_, err := s.operators.AcceptSubmission(ctx, testBase, by(reviewer), flagged, "")
		s.must(err)
		wantNotClosed("during the hold")
		s.pass(testHold)
		wantNotClosed("before it is paid")
		s.wantReceipt(flagged, 0)
		s.pay(flagged)
		wantNotClosed("before its payment is final")
		s.finalTip()
		s.due()
		s.closeMission(draft)
		s.due()
		if got := s.completions(draft); got != 0 {
			t.Errorf("before the closing is final: got %d completion events, want 0", got)
		}
		s.finalTip()
		for range 3 {
			s.due()
			if got := s.completions(draft); got != 1 {
				t.Errorf("when the closing is final: got %d completion events, want 1", got)
			}
		}
	})
}
