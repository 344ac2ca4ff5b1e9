package app

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

func (a *testApp) wantState(draft store.Draft, want mission.State) {
	a.t.Helper()
	if got := a.checkDraft(draft.ID).State; got != want {
		a.t.Errorf("draft is %+v, want %+v; events %v", got, want, a.typesOf(draft))
	}
}

func (a *testApp) wantTypes(draft store.Draft, want ...sortie.EventType) {
	a.t.Helper()
	if got := a.typesOf(draft); !slices.Equal(got, want) {
		a.t.Errorf("the events are %v, want %v", got, want)
	}
}

func (a *testApp) wantIncidents(want ...string) {
	a.t.Helper()
	if got := a.incidents(); !slices.Equal(got, want) {
		a.t.Errorf("the open incidents are %v, want %v", got, want)
	}
}

func wantCode(t testing.TB, err error, code sortie.Code) {
	t.Helper()
	if sortie.ErrorCode(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// A draft from its creation to publication, with all its events.
func TestFromFundingToPublication(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		draft := a.fund(alice, "k", mission.DepthConfirmed)
		if _, err := a.operators.Approve(context.Background(), reviewer, draft.ID, "Well described."); err != nil {
			t.Fatal(err)
		}
		a.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionApproved})
		a.finalize(a.position.Tip.Number)
		a.settle()
		a.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved})
		a.wantTypes(draft, sortie.EventDraftCreated, sortie.EventFundingDetected, sortie.EventFundingConfirmed,
			sortie.EventMissionApproved, sortie.EventMissionPublished)

		funding, err := a.db.FundingOf(context.Background(), draft.ID)
		a.must(err)
		for _, event := range a.events(alice)[1:] {
			var facts struct {
				DraftID, MissionID string
				TransactionHash    sortie.Hash
				BlockNumber        uint64
				Reason             string
			}
			a.must(json.Unmarshal(event.Data, &facts))
			if facts.DraftID != draft.ID || facts.MissionID != draft.MissionID || facts.TransactionHash != funding.Transaction || facts.BlockNumber != funding.Block {
				t.Errorf("event %s has data %s, want the transaction and block of its funding", event.Type, event.Data)
			}
			if wantReason := event.Type == string(sortie.EventMissionApproved); (facts.Reason == "Well described.") != wantReason {
				t.Errorf("event %s has data %s, want the transaction and block of its funding", event.Type, event.Data)
			}
		}
	})
}

func TestEverythingIsApprovedOnRequest(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{autoApprove: true})
	draft := a.fund(alice, "k", mission.DepthLocked)
	a.wantTypes(draft, sortie.EventDraftCreated, sortie.EventFundingDetected, sortie.EventFundingConfirmed,
		sortie.EventMissionApproved, sortie.EventMissionPublished)
	review, err := a.db.ReviewOf(context.Background(), draft.ID)
	if err != nil || review.Operator != "auto" {
		t.Errorf("the review is %+v, %v, want auto", review, err)
	}
}

// A funding that differs from the quote is not recorded and opens an incident.
func TestFundingsThatDoNotCount(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	for name, change := range map[string]func(*onchain.Event){
		"factory":             func(e *onchain.Event) { e.Factory = otherFactory },
		"missionKey":          func(e *onchain.Event) { e.MissionKey[0]++ },
		"creator":             func(e *onchain.Event) { e.Funded.Creator = bob },
		"token":               func(e *onchain.Event) { e.Funded.Token = otherFactory },
		"rewardPerSubmission": func(e *onchain.Event) { e.Funded.Reward = bigPlusOne(e.Funded.Reward) },
		"targetCount":         func(e *onchain.Event) { e.Funded.TargetCount = new(big.Int).Lsh(big.NewInt(1), 64) },
		"nonce":               func(e *onchain.Event) { e.Funded.Nonce[0]++ },
	} {
		draft := a.create(alice, name)
		event := fundingOf(draft)
		change(&event)
		a.extend([]onchain.Event{event})
		a.wantState(draft, mission.Created())
		incidents, err := a.db.OpenIncidents(context.Background())
		a.must(err)
		found := slices.ContainsFunc(incidents, func(incident store.Incident) bool {
			return incident.Kind == "funding_mismatch" && !incident.Halting && strings.Contains(incident.Detail, draft.ID) && strings.Contains(incident.Detail, "another "+name+" than")
		})
		if !found {
			t.Errorf("another %s: got incidents %+v, want one about it", name, incidents)
		}
	}
}

func TestAMissionIsFundedOnce(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.create(alice, "k")
	a.extend([]onchain.Event{fundingOf(draft)}, []onchain.Event{fundingOf(draft)})
	a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
	a.wantIncidents("funding_repeated")
	a.advance(a.step(testStart+1, nil)) // the second one goes: nothing changes
	a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
	a.advance(a.step(testStart, nil)) // the first one goes
	a.wantState(draft, mission.Created())
}

// Confirm ignores what changed since it was listed.
func TestWhatWasListedIsHeldAgainstThePresent(t *testing.T) {
	t.Parallel()
	const seen, confirmed = mission.DepthSeen, mission.DepthConfirmed
	for name, c := range map[string]struct {
		meanwhile func(a *testApp, draft store.Draft) // between the list and the act
		want      mission.State
	}{
		"the funding is gone": {
			func(a *testApp, _ store.Draft) { a.advance(a.step(testStart, nil, nil, nil, nil, nil, nil)) },
			mission.Created(),
		},
		"the funding is in another block": {
			func(a *testApp, draft store.Draft) {
				a.advance(a.step(testStart, []onchain.Event{fundingOf(draft)}, nil, nil, nil, nil))
			},
			mission.State{Depth: seen, Decision: mission.DecisionNone},
		},
		"the chain became shorter": {
			func(a *testApp, _ store.Draft) { a.advance(a.step(testStart+1, nil)) },
			mission.State{Depth: seen, Decision: mission.DecisionNone},
		},
		"nothing": {
			func(*testApp, store.Draft) {},
			mission.State{Depth: confirmed, Decision: mission.DecisionNone},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
			draft := a.create(alice, "k")
			a.extend([]onchain.Event{fundingOf(draft)}, nil, nil)
			list := a.pendingConfirmations()
			if len(list) != 1 || list[0].To != confirmed {
				t.Fatalf("got confirmations %+v, want one", list)
			}
			c.meanwhile(a, draft)
			a.must(a.ledger.Confirm(context.Background(), list))
			a.wantState(draft, c.want)
		})
	}
}

func TestALockIsHeldAgainstThePresent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(a *testApp, draft store.Draft, list []onchain.Confirmation)
		want      mission.Depth
	}{
		"halted": {func(a *testApp, _ store.Draft, _ []onchain.Confirmation) {
			a.must(a.ledger.ReportIncident(context.Background(), "test", "Stop.", true))
		}, mission.DepthConfirmed},
		"money gone": {func(a *testApp, draft store.Draft, _ []onchain.Confirmation) {
			a.extend([]onchain.Event{closingOf(draft, 2)})
		}, mission.DepthConfirmed},
		"listed for a block that is not final": {func(_ *testApp, _ store.Draft, list []onchain.Confirmation) {
			list[0].Block++ // the row's block counts
		}, mission.DepthConfirmed},
		"nothing": {func(*testApp, store.Draft, []onchain.Confirmation) {}, mission.DepthLocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := openTestApp(t, sqliteDatabase(t), testAppOptions{autoApprove: true})
			draft := a.fund(alice, "k", mission.DepthConfirmed)
			a.finalize(a.position.Tip.Number)
			list := a.pendingConfirmations()
			if len(list) != 1 || list[0].To != mission.DepthLocked {
				t.Fatalf("got confirmations %+v, want one", list)
			}
			c.meanwhile(a, draft, list)
			a.must(a.ledger.Confirm(context.Background(), list))
			a.wantState(draft, mission.State{Depth: c.want, Decision: mission.DecisionApproved})
		})
	}
}

// A funding is locked only when its block is final, whatever the caller of Confirm passes.
func TestNothingIsPublishedBelowTheLock(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{autoApprove: true})
	draft := a.fund(alice, "k", mission.DepthConfirmed)
	funding, err := a.db.FundingOf(context.Background(), draft.ID)
	a.must(err)
	forged := []onchain.Confirmation{{Terms: draft.Terms(), Funding: funding, To: mission.DepthLocked}}
	a.must(a.ledger.Confirm(context.Background(), forged))
	a.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionApproved})
}

// A refund is counted only when its block is final.
func TestNothingIsRefundedBelowTheLock(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.fund(alice, "k", mission.DepthLocked)
	a.extend([]onchain.Event{closingOf(draft, 2)})
	funding, err := a.db.FundingOf(context.Background(), draft.ID)
	a.must(err)
	forged := []onchain.Confirmation{{Terms: draft.Terms(), Funding: funding, To: mission.DepthLocked, Refund: true}}
	a.must(a.ledger.Confirm(context.Background(), forged))
	a.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionNone})
}

// A refund counts when its block is final, and only the closing that was confirmed.
func TestARefundIsHeldAgainstThePresent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(a *testApp, draft store.Draft, list []onchain.Confirmation)
		refunded  bool
	}{
		"another close": {func(a *testApp, draft store.Draft, _ []onchain.Confirmation) {
			a.advance(a.step(a.position.Tip.Number-1, []onchain.Event{closingOf(draft, 1)}))
		}, false},
		"no close": {func(a *testApp, _ store.Draft, _ []onchain.Confirmation) {
			a.advance(a.step(a.position.Tip.Number-1, nil))
		}, false},
		"nothing": {func(*testApp, store.Draft, []onchain.Confirmation) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
			draft := a.fund(alice, "k", mission.DepthConfirmed)
			_, err := a.operators.Reject(context.Background(), reviewer, draft.ID, "No.")
			a.must(err)
			a.extend([]onchain.Event{closingOf(draft, 1)})
			if list := a.pendingConfirmations(); len(list) != 0 {
				t.Fatalf("got confirmations %+v before the block is final, want none", list)
			}
			a.finalize(a.position.Tip.Number)
			list := slices.DeleteFunc(a.pendingConfirmations(), func(d onchain.Confirmation) bool { return !d.Refund })
			if len(list) != 1 {
				t.Fatalf("got confirmations %+v, want one", list)
			}
			c.meanwhile(a, draft, list)
			a.must(a.ledger.Confirm(context.Background(), list))
			if got := a.checkDraft(draft.ID).State.Refunded; got != c.refunded {
				t.Errorf("refunded is %t, want %v", got, c.refunded)
			}
		})
	}
}

func TestBrokenFinalityHaltsUntilAPersonHasLooked(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	ctx := context.Background()
	published, locked := a.fund(alice, "published", mission.DepthLocked), a.fund(alice, "locked", mission.DepthLocked)
	approved := a.fund(bob, "approved", mission.DepthConfirmed)
	for _, draft := range []store.Draft{published, approved} {
		_, err := a.operators.Approve(ctx, reviewer, draft.ID, "")
		a.must(err)
	}
	// The fundings of the first two are removed, and only bob's is added again.
	a.advance(a.step(testStart, []onchain.Event{fundingOf(approved), fundingOf(locked)}, nil, nil, nil, nil, nil))
	a.wantState(published, mission.State{Depth: mission.DepthNone, Decision: mission.DecisionApproved})
	halted, err := a.ledger.Halted(ctx)
	if err != nil || !halted {
		t.Fatalf("halted is %t, %v", halted, err)
	}
	for _, incident := range a.incidents() {
		if incident != "finality_broken" {
			t.Errorf("incident %s, want finality_broken", incident)
		}
	}
	a.finalize(a.position.Tip.Number)
	a.settle()
	a.wantState(approved, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionApproved}) // confirmed, not published

	a.clearIncidents()
	a.settle()
	a.wantState(approved, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved})
	a.wantState(locked, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionNone})
	a.must(a.ledger.ReportIncident(ctx, "test", "Stop.", true))
	_, err = a.operators.Approve(ctx, reviewer, locked.ID, "")
	wantCode(t, err, sortie.CodeServiceUnavailable)
	_, err = a.operators.Reject(ctx, reviewer, locked.ID, "A rejection publishes nothing.")
	a.must(err)
}

func (a *testApp) clearIncidents() {
	a.t.Helper()
	incidents, err := a.db.OpenIncidents(context.Background())
	a.must(err)
	for _, incident := range incidents {
		_, err := a.operators.ClearIncident(context.Background(), reviewer, incident.ID, "Looked at it.")
		a.must(err)
	}
}

// A mission that its creator reclaimed before a decision is rejected.
func TestAReclaimDecides(t *testing.T) {
	t.Parallel()
	for reason, wantActor := range map[uint8]string{2: "reclaim", 1: "chain"} {
		t.Run(wantActor, func(t *testing.T) {
			t.Parallel()
			a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
			draft := a.fund(alice, "k", mission.DepthLocked)
			a.extend([]onchain.Event{closingOf(draft, reason)})
			_, err := a.operators.Approve(context.Background(), reviewer, draft.ID, "")
			wantCode(t, err, sortie.CodeWrongState)
			a.settle()
			a.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionNone}) // not final yet
			a.finalize(a.position.Tip.Number)
			a.settle()
			a.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionRejected, Refunded: true})
			review, err := a.db.ReviewOf(context.Background(), draft.ID)
			if err != nil || review.Operator != wantActor {
				t.Errorf("the review is %+v, %v, want %v", review, err, wantActor)
			}
			if jobs := a.refundJobs(draft); jobs != 0 {
				t.Errorf("%d jobs for a refund that happened, want 0", jobs)
			}
			if unexpected := slices.Contains(a.incidents(), "unexpected_close"); unexpected != (reason == 1) {
				t.Errorf("the incidents are %v", a.incidents())
			}
			a.wantTypes(draft, sortie.EventDraftCreated, sortie.EventFundingDetected, sortie.EventFundingConfirmed, sortie.EventFundingLocked,
				sortie.EventMissionRejected, sortie.EventRefundConfirmed)
		})
	}
}

func TestAnApprovedMissionStaysApprovedWhenItIsClosed(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{autoApprove: true})
	draft := a.fund(alice, "k", mission.DepthLocked)
	a.extend([]onchain.Event{closingOf(draft, closedByCreator)})
	a.finalize(a.position.Tip.Number)
	a.settle()
	a.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved})
	a.wantIncidents()
}

// A step that contradicts itself is refused before anything is written.
func TestStepsThatContradictThemselves(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	draft := a.create(alice, "k")
	a.extend(nil, nil, nil)
	a.finalize(testStart + 1)
	fund := []onchain.Event{fundingOf(draft)}
	tip := a.position.Tip.Number
	for name, change := range map[string]func(*onchain.Advance){
		"another chain":           func(s *onchain.Advance) { s.ChainID++ },
		"after above the tip":     func(s *onchain.Advance) { s.After.Number += 5 },
		"after with another hash": func(s *onchain.Advance) { s.After.Hash[0]++ },
		"a block twice":           func(s *onchain.Advance) { s.Blocks[1].Number-- },
		"a block before after":    func(s *onchain.Advance) { s.Blocks[0].Number = tip },
		"head below the tip":      func(s *onchain.Advance) { s.Head-- },
		"final above the head":    func(s *onchain.Advance) { s.Final = s.Head + 1 },
		"final lower than before": func(s *onchain.Advance) { s.Final-- },
		"an event above the tip":  func(s *onchain.Advance) { s.Events[1].Block++ },
		"an event below the step": func(s *onchain.Advance) { s.Events[0].Block = tip },
		"events in another order": func(s *onchain.Advance) { s.Events[0], s.Events[1] = s.Events[1], s.Events[0] },
		"an event twice": func(s *onchain.Advance) {
			s.Events[1].Block, s.Events[1].LogIndex = s.Events[0].Block, s.Events[0].LogIndex
		},
		"a block that is followed": func(s *onchain.Advance) {
			s.After = a.blocks[tip-1]
			s.After.Number = tip
			s.After.Hash = sortie.Hash{}
		},
	} {
		step := a.step(tip, fund, fund)
		change(&step)
		if _, err := a.ledger.Advance(context.Background(), step); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: got error %v, want a refusal", name, err)
		}
	}
	position, err := a.ledger.Position(context.Background(), testChain)
	if err != nil || position != a.position {
		t.Errorf("the position is %+v, %v; want %+v", position, err, a.position)
	}
	a.wantState(draft, mission.Created())
}

// When a job cannot be queued, its transaction fails.
func TestNothingHappensWithoutItsJob(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		funded, late := a.fund(alice, "funded", mission.DepthConfirmed), a.create(alice, "late")
		ctx := context.Background()
		_, err := a.operators.Reject(ctx, reviewer, late.ID, "No.")
		a.must(err)
		broken := errors.New("the queue is broken")
		a.queue.fail = broken
		if _, err := a.operators.Reject(ctx, reviewer, funded.ID, "No."); !errors.Is(err, broken) {
			t.Errorf("reject: %v", err)
		}
		a.wantState(funded, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})
		if _, err := a.db.ReviewOf(ctx, funded.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a review is left: %v", err)
		}
		a.extend([]onchain.Event{fundingOf(late)}, nil, nil)
		if err := a.ledger.Confirm(ctx, a.pendingConfirmations()); !errors.Is(err, broken) {
			t.Errorf("Confirm: got error %v, want the error of the queue", err)
		}
		a.wantState(late, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionRejected})
		a.queue.fail = nil
		a.settle()
		a.wantState(late, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionRejected})
		if jobs := a.refundJobs(late); jobs != 1 {
			t.Errorf("got %d jobs, want 0", jobs)
		}
	})
}

func TestWhereFollowingBegins(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	ctx := context.Background()
	earliest, err := a.ledger.EarliestInterest(ctx)
	if err != nil || !earliest.Equal(a.clock()) {
		t.Errorf("without drafts: %s, %v; want now", earliest, err)
	}
	first := a.create(alice, "first")
	a.pass(time.Hour)
	a.create(bob, "second")
	if earliest, err = a.ledger.EarliestInterest(ctx); err != nil || !earliest.Equal(first.CreatedAt) {
		t.Errorf("with drafts: %s, %v; want %s", earliest, err, first.CreatedAt)
	}
	if err := a.ledger.Begin(ctx, testChain, a.mine(1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("begun twice: %v", err)
	}
	if _, err := a.ledger.Position(ctx, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a chain that is not followed: %v", err)
	}
	factories, err := a.ledger.Factories(ctx, testChain)
	if err != nil || !slices.Equal(factories, []sortie.Address{factory}) {
		t.Errorf("got factories %v, error %v, want both", factories, err)
	}
}

func TestOldBlocksAreForgotten(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	const last = testStart + 3*onchain.KeptBlocks
	for number := uint64(testStart); number < last; {
		number += 64
		block := a.mine(number)
		step := a.step(a.position.Tip.Number)
		step.Blocks, step.Head, step.Final = []onchain.Block{block}, number, number-10
		a.advance(step)
	}
	tail, err := a.ledger.Tail(context.Background(), testChain, last+100, 10_000)
	a.must(err)
	oldest := tail[len(tail)-1].Number
	if oldest < a.position.Final-onchain.KeptBlocks || oldest > a.position.Final-onchain.KeptBlocks+64 {
		t.Errorf("the oldest of %d blocks is %d; final is %d", len(tail), oldest, a.position.Final)
	}
}
