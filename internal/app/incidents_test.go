package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// paymentOf is the event of a paid slot, in no block yet.
func paymentOf(draft store.Draft, slot uint64, recipient sortie.Address, submissionID string) onchain.Event {
	return onchain.Event{
		Factory: draft.Factory, Kind: onchain.EventSubmissionPaid, MissionKey: sortie.MissionKey(draft.MissionID),
		Payment: &onchain.Payment{SubmissionKey: sortie.SubmissionKey(submissionID), Recipient: recipient, Slot: slot, Amount: draft.Reward},
	}
}

func (a *testApp) wantHalted(want bool) {
	a.t.Helper()
	halted, err := a.ledger.Halted(context.Background())
	if err != nil || halted != want {
		a.t.Errorf("halted is %t, %v; want %t; incidents %v", halted, err, want, a.incidents())
	}
}

// A closing with a settler's signature that the service did not ask for halts the service, also
// after a reorganization. A reclaim does not.
func TestAClosingThatTheServiceDidNotAskForHalts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason  uint8
		prepare func(a *testApp, draft store.Draft)
		halts   bool
	}{
		"published, closed with the settler's signature": {1, func(a *testApp, draft store.Draft) { a.approved(draft) }, true},
		"published, reclaimed by its creator":            {2, func(a *testApp, draft store.Draft) { a.approved(draft) }, false},
		"in review, closed with the settler's signature": {1, func(*testApp, store.Draft) {}, true},
		"in review, reclaimed by its creator":            {2, func(*testApp, store.Draft) {}, false},
		"rejected, closed before the service could": {1, func(a *testApp, draft store.Draft) {
			_, err := a.operators.Reject(context.Background(), reviewer, draft.ID, "Because.")
			a.must(err)
		}, false},
		"published, closed as the service asked for": {1, func(a *testApp, draft store.Draft) {
			a.approved(draft)
			a.must(a.db.Tx(context.Background(), func(tx *store.Tx) error {
				_, _, err := tx.AddIntent(IntentClose, draft.ID, testChain, gasPayer)
				return err
			}))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, database string) {
				a := openTestApp(t, database, testAppOptions{})
				draft := a.fund(alice, "k", mission.DepthLocked)
				c.prepare(a, draft)
				before, tip := a.read(draft.ID).State, a.position.Tip.Number
				a.extend([]onchain.Event{closingOf(draft, c.reason)})
				a.wantHalted(c.halts)
				a.advance(a.step(tip, nil)) // the closing is reorganized out
				if got := a.read(draft.ID).State; got != before {
					t.Errorf("without the closing the mission is %+v, want %+v", got, before)
				}
				a.wantHalted(c.halts) // a person must look all the same
			})
		})
	}
}

// A payment to the contributor of a slot is expected, from any account. Any other payment halts the
// service.
func TestAPaymentThatTheServiceDidNotPromiseHalts(t *testing.T) {
	t.Parallel()
	thief := sortie.Address{0xbd}
	for name, c := range map[string]struct {
		payments func(draft store.Draft, submission store.Submission) []onchain.Event
		halts    bool
	}{
		"as promised": {func(draft store.Draft, s store.Submission) []onchain.Event {
			return []onchain.Event{paymentOf(draft, 0, s.Contributor, s.ID)}
		}, false},
		"deferred, as promised": {func(draft store.Draft, s store.Submission) []onchain.Event {
			event := paymentOf(draft, 0, s.Contributor, s.ID)
			event.Kind = onchain.EventPayoutDeferred
			return []onchain.Event{event}
		}, false},
		"to another wallet": {func(draft store.Draft, s store.Submission) []onchain.Event {
			return []onchain.Event{paymentOf(draft, 0, thief, s.ID)}
		}, true},
		"deferred for another wallet": {func(draft store.Draft, s store.Submission) []onchain.Event {
			event := paymentOf(draft, 0, thief, s.ID)
			event.Kind = onchain.EventPayoutDeferred
			return []onchain.Event{event}
		}, true},
		"for another submission": {func(draft store.Draft, s store.Submission) []onchain.Event {
			return []onchain.Event{paymentOf(draft, 0, s.Contributor, "sub_other")}
		}, true},
		"of another slot": {func(draft store.Draft, s store.Submission) []onchain.Event {
			return []onchain.Event{paymentOf(draft, 1, s.Contributor, s.ID)}
		}, true},
		"a theft after an honest payment": {func(draft store.Draft, s store.Submission) []onchain.Event {
			return []onchain.Event{paymentOf(draft, 0, s.Contributor, s.ID), paymentOf(draft, 1, thief, s.ID)}
		}, true},
		"of a contract that has not funded the mission": {func(draft store.Draft, s store.Submission) []onchain.Event {
			event := paymentOf(draft, 0, thief, s.ID)
			event.Factory = otherFactory
			return []onchain.Event{event}
		}, false},
		"of a mission that is not in the database": {func(draft store.Draft, s store.Submission) []onchain.Event {
			event := paymentOf(draft, 0, thief, s.ID)
			event.MissionKey[0]++
			return []onchain.Event{event}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTestMedia(t, sqliteDatabase(t), nil)
			draft := s.publish("k", 3, "")
			id := s.submitQuickly(bob, draft, "one")
			s.pass(testHold)
			s.due()
			payments := c.payments(draft, s.stored(id))
			tip := s.position.Tip.Number
			s.extend(payments)
			s.wantHalted(c.halts)
			s.advance(s.step(tip, nil)) // the payment is reorganized out
			s.wantHalted(c.halts)
			s.clearIncidents()
			s.extend(payments)
			s.wantHalted(c.halts)
		})
	}
}

// A transaction that pays many slots opens one incident, which names what was paid.
func TestAStolenBatchIsOneIncident(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		draft := a.fund(alice, "k", mission.DepthLocked)
		var batch []onchain.Event
		for slot := range uint64(150) {
			batch = append(batch, paymentOf(draft, slot, bob, "sub_none"))
		}
		step := a.step(a.position.Tip.Number, batch)
		for i := range step.Events {
			step.Events[i].Transaction = step.Events[0].Transaction
		}
		a.advance(step)
		incidents, err := a.db.OpenIncidents(context.Background())
		a.must(err)
		if len(incidents) != 1 || incidents[0].Kind != "unexpected_payment" || !incidents[0].Halting || !strings.Contains(incidents[0].Detail, bob.String()) {
			t.Errorf("the incidents are %+v, want one unexpected_payment that halts and names %s", incidents, bob)
		}
	})
}

// A payment that the reconcile adopts is checked like a followed one.
func TestAnAdoptedTheftHalts(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.fund(alice, "k", mission.DepthLocked)
	event := paymentOf(draft, 0, bob, "sub_none")
	event.Block, event.BlockHash, event.Transaction = a.position.Tip.Number, a.position.Tip.Hash, testHash('t', 1)
	a.must(a.ledger.Adopt(context.Background(), testChain, event))
	a.wantIncidents("unexpected_payment")
}

// An acceptance on hold does not become final after the money left the contract, and gets no
// receipt. It is revoked when the closing is final, and becomes final when a reorganization removes
// the closing.
func TestNothingBecomesFinalAfterTheMoneyLeft(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 3, "")
		held := s.submitQuickly(bob, draft, "one")
		tip := s.position.Tip.Number
		reclaim := []onchain.Event{closingOf(draft, closedByCreator)}
		s.extend(reclaim)
		s.pass(testHold)
		s.due()
		if submission := s.stored(held); submission.Slot != nil || submission.Receipt != nil || submission.Status != sortie.SubmissionAccepted {
			t.Fatalf("after the money left: slot %v, receipt %s, %s; want it accepted and on hold", submission.Slot, submission.Receipt, submission.Status)
		}
		s.advance(s.step(tip, nil)) // the money is back
		s.pass(time.Minute)
		s.due()
		s.wantReceipt(held, 0)

		second := s.submitQuickly(contributor(1), draft, "two")
		s.extend(reclaim)
		s.finalize(s.position.Tip.Number)
		s.pass(testHold)
		s.due()
		if submission := s.wantStatus(second, sortie.SubmissionRejected); !strings.Contains(submission.Reason, "money left") {
			t.Errorf("the reason is %q, want it to say that the money left", submission.Reason)
		}
		s.due()
		if s.completions(draft) != 1 {
			t.Errorf("got %d completion events, want 1", s.completions(draft))
		}
		s.wantCountsOf(draft.ID)
	})
}

// Acceptances of missions without money do not delay others.
func TestAcceptancesWithoutMoneyHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: makes more acceptances than one pass takes")
	}
	s := openTestMedia(t, sqliteDatabase(t), nil)
	poor, rich := s.publish("poor", maxDue+1, `,"maxSubmissionsPerContributor":1`), s.publish("rich", 1, "")
	for i := range maxDue + 1 {
		s.submitQuickly(contributor(i), poor, "one")
	}
	s.extend([]onchain.Event{closingOf(poor, closedByCreator)})
	paid := s.submitQuickly(bob, rich, "one")
	s.pass(testHold)
	for range 2 {
		s.due()
	}
	s.wantReceipt(paid, 0)
}

// When the money leaves between the read of the mission and the write of the slot, the write is
// refused.
func TestASlotOfAClosedMissionIsRefusedByTheWrite(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 3, "")
		held := s.submitQuickly(bob, draft, "one")
		s.pass(testHold)
		s.extend([]onchain.Event{closingOf(draft, closedByCreator)})
		err := s.db.Tx(context.Background(), func(tx *store.Tx) error {
			_, err := tx.TakeSlot(s.stored(held))
			return err
		})
		if !errors.Is(err, store.ErrMissionClosed) {
			t.Errorf("got %v, want %v", err, store.ErrMissionClosed)
		}
		s.wantCountsOf(draft.ID)
	})
}

// A published mission whose funding a reorganization removed is not completed, also after an
// operator has cleared the incident, until it is funded again and has ended.
func TestAMissionWithoutItsFundingIsNotCompleted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 2, "")
		wantCompletions := func(when string, want int) {
			t.Helper()
			s.due()
			if got := s.completions(draft); got != want {
				t.Errorf("%s: got %d completion events, want %d; events %v", when, got, want, s.typesOf(draft))
			}
		}
		wantNoEnd := func(when string) {
			t.Helper()
			wantCompletions(when, 0)
			s.wantClosing(draft, false)
		}
		gone := s.step(testStart, nil)
		gone.Final, gone.Head = testStart, testStart+1
		s.advance(gone)
		s.wantIncidents("finality_broken", "finality_broken")
		wantNoEnd("while the incident is open")
		s.clearIncidents()
		wantNoEnd("while the funding is gone")
		s.pass(31 * 24 * time.Hour)
		wantNoEnd("after its end, while the funding is gone")
		s.extend([]onchain.Event{fundingOf(draft)})
		wantNoEnd("while the funding is in a block again")
		s.bury(draft, mission.DepthLocked)
		wantCompletions("when the funding is final again", 0)
		s.closeMission(draft)
		wantCompletions("when the mission is closed", 0)
		s.finalTip()
		wantCompletions("when the closing is final", 1)
		if types := s.typesOf(draft); slices.Contains(types, sortie.EventMissionRejected) {
			t.Errorf("the events are %v, want no rejection of a mission that was published", types)
		}
	})
}

// A mission that has ended is neither closed nor completed while an incident halts the service.
func TestNothingCompletesWhileTheServiceIsHalted(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	draft := s.publish("k", 2, "")
	halt := func() { s.must(s.ledger.ReportIncident(context.Background(), "test", "Stop.", true)) }
	halt()
	s.pass(31 * 24 * time.Hour)
	s.due()
	s.wantClosing(draft, false)
	s.clearIncidents()
	s.due()
	s.closeMission(draft)
	s.finalTip()
	halt()
	s.due()
	if got := s.completions(draft); got != 0 {
		t.Errorf("halted: got %d completion events, want 0", got)
	}
	s.clearIncidents()
	s.due()
	if got := s.completions(draft); got != 1 {
		t.Errorf("cleared: got %d completion events, want 1", got)
	}
}
