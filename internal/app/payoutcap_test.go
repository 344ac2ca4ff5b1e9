package app

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

var serviceToken = sortie.MustAddress("0x3333333333333333333333333333333333333333")

// capped sets the hourly cap of USDC, and lets missions pay in both tokens.
func capped(wholeUSDC string) func(*Config) {
	return func(config *Config) {
		units, err := sortie.ParseUnits(wholeUSDC, 6)
		if err != nil {
			panic(err)
		}
		config.PayoutCaps = map[sortie.Token]*big.Int{sortie.TokenUSDC: units}
		config.Tokens[sortie.TokenService] = Token{Address: serviceToken, Decimals: 18}
	}
}

// withPayouts publishes a mission with a number of payouts.
func (s *testMedia) withPayouts(key string, token sortie.Token, reward string, payouts int) store.Draft {
	s.t.Helper()
	draft := s.createAs(alice, key, fmt.Sprintf(`{"title":"Photo of the tower","reward":{"token":%q,"amount":%s},"targetCount":%d}`, token, reward, payouts+1))
	s.extend([]onchain.Event{fundingOf(draft)})
	draft = s.bury(draft, mission.DepthLocked)
	_, err := s.operators.Approve(context.Background(), reviewer, draft.ID, "")
	s.must(err)
	for i := range payouts {
		s.submitQuickly(contributor(i), draft, fmt.Sprintf("%s-%d", key, i))
	}
	s.pass(testHold + time.Second)
	s.due()
	if got := s.slots(draft).Finals; got != payouts {
		s.t.Fatalf("final acceptances of %s: got %d, want %d", key, got, payouts)
	}
	return draft
}

// carried is how many payouts of a mission are in settlements.
func (s *testMedia) carried(draft store.Draft) int {
	s.t.Helper()
	return s.count(`SELECT COUNT(*) FROM payouts WHERE draft_id = $1 AND settlement_id IS NOT NULL`, draft.ID)
}

func (s *testMedia) wantCarried(when string, draft store.Draft, want int) {
	s.t.Helper()
	if got := s.carried(draft); got != want {
		s.t.Errorf("%s: settlements carry %d payouts, want %d", when, got, want)
	}
}

func (s *testMedia) makeSettlements() {
	s.t.Helper()
	s.must(s.ledger.Settle(context.Background()))
}

func (s *testMedia) wantHeld(when string, want bool) {
	s.t.Helper()
	if got := s.ledger.HeldByCap()[sortie.TokenUSDC]; got != want {
		s.t.Errorf("%s: payouts in USDC are held: got %t, want %t", when, got, want)
	}
}

// Above the hourly cap payouts wait, in one token and not in the other, and continue when the hour
// has passed.
func TestPayoutsAboveTheHourlyCapWait(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, capped("12.5"))
		other := s.withPayouts("other", sortie.TokenService, "3", 6)
		draft := s.withPayouts("k", sortie.TokenUSDC, "2.5", 8)
		s.makeSettlements()
		s.wantCarried("at first", draft, 5)
		s.wantCarried("of the other token", other, 6)
		s.wantHeld("at first", true)
		if got := s.incidents(); !slices.Equal(got, []string{incidentPayoutCap}) {
			t.Errorf("incidents: got %v, want %s once", got, incidentPayoutCap)
		}
		s.wantHalted(false)
		s.pass(time.Hour - time.Second)
		s.makeSettlements()
		s.wantCarried("within the hour", draft, 5)
		s.wantHeld("within the hour", true)
		s.pass(2 * time.Minute)
		s.makeSettlements()
		s.wantCarried("after the hour", draft, 8)
		s.wantHeld("after the hour", false)
	})
}

// Payouts that an ended settlement did not pay do not count.
func TestASettlementThatPaidNothingGivesItsRoomBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, capped("12.5"))
		draft := s.withPayouts("k", sortie.TokenUSDC, "2.5", 8)
		s.makeSettlements()
		s.wantCarried("at first", draft, 5)
		intent := s.intents()[0]
		s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error {
			over := intent
			over.Status = store.IntentVoid
			return tx.MoveIntent(intent, over)
		}))
		s.makeSettlements() // ends it, and lets the mission wait
		s.pass(2 * time.Minute)
		s.makeSettlements()
		s.wantCarried("after the end of the first settlement", draft, 5)
	})
}

// Processes that settle concurrently do not exceed the cap together.
func TestProcessesShareTheHourlyCap(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, capped("12.5"))
		var missions []store.Draft
		for i := range 6 {
			missions = append(missions, s.withPayouts(fmt.Sprint("k", i), sortie.TokenUSDC, "2.5", 2))
		}
		var group sync.WaitGroup
		failures := make([]error, 6)
		for i := range failures {
			process := s.another(nil)
			group.Go(func() { failures[i] = process.Ledger.Settle(context.Background()) })
		}
		group.Wait()
		s.must(errors.Join(failures...))
		for range 3 {
			s.makeSettlements()
		}
		sum := 0
		for _, draft := range missions {
			sum += s.carried(draft)
		}
		if sum != 5 {
			t.Errorf("settlements carry %d payouts, want the 5 that the cap allows", sum)
		}
	})
}

// Small rewards do not overtake a larger one that waits for the cap.
func TestALargeRewardIsNotPassedByTheSmallOnes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, capped("10"))
		first := s.withPayouts("first", sortie.TokenUSDC, "2.5", 1)
		s.makeSettlements()
		large := s.withPayouts("large", sortie.TokenUSDC, "10", 1)
		small := s.withPayouts("small", sortie.TokenUSDC, "2.5", 3)
		s.makeSettlements()
		s.wantCarried("the first mission", first, 1)
		s.wantCarried("the small ones while the large one waits", small, 0)
		s.pass(time.Hour)
		s.makeSettlements()
		s.wantCarried("the large one, which waited longest", large, 1)
		s.wantCarried("the small ones after it", small, 0)
	})
}

// A reward above the cap opens an incident and delays no other mission.
func TestARewardAboveTheCapHoldsUpItselfAlone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, capped("10"))
		large := s.withPayouts("large", sortie.TokenUSDC, "10.000001", 1)
		small := s.withPayouts("small", sortie.TokenUSDC, "2.5", 2)
		s.makeSettlements()
		s.pass(time.Second)
		s.makeSettlements()
		s.wantCarried("the reward above the cap", large, 0)
		s.wantCarried("the small ones", small, 2)
		if got := s.incidents(); !slices.Equal(got, []string{incidentPayoutCap}) {
			t.Errorf("incidents: got %v, want %s once", got, incidentPayoutCap)
		}
	})
}
