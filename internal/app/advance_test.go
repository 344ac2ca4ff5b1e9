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

func (w *world) wantState(draft store.Draft, want mission.State) {
	w.t.Helper()
	if got := w.checkDraft(draft.ID).State; got != want {
		w.t.Errorf("draft is %+v, want %+v; events %v", got, want, w.typesOf(draft))
	}
}

func (w *world) wantTypes(draft store.Draft, want ...sortie.EventType) {
	w.t.Helper()
	if got := w.typesOf(draft); !slices.Equal(got, want) {
		w.t.Errorf("the events are %v, want %v", got, want)
	}
}

func (w *world) wantIncidents(want ...string) {
	w.t.Helper()
	if got := w.incidents(); !slices.Equal(got, want) {
		w.t.Errorf("the open incidents are %v, want %v", got, want)
	}
}

func wantCode(t testing.TB, err error, code sortie.Code) {
	t.Helper()
	if sortie.ErrorCode(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// The whole story, and what its events say.
func TestFromFundingToPublication(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		draft := w.fund(alice, "k", mission.DepthConfirmed)
		if _, err := w.operators.Approve(context.Background(), reviewer, draft.ID, "Well described."); err != nil {
			t.Fatal(err)
		}
		w.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionApproved})
		w.finalize(w.position.Tip.Number)
		w.settle()
		w.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved})
		w.wantTypes(draft, sortie.EventDraftCreated, sortie.EventFundingDetected, sortie.EventFundingConfirmed,
			sortie.EventMissionApproved, sortie.EventMissionPublished)

		funding, err := w.db.FundingOf(context.Background(), draft.ID)
		w.must(err)
		for _, event := range w.events(alice)[1:] {
			var facts struct {
				DraftID, MissionID string
				TransactionHash    sortie.Hash
				BlockNumber        uint64
				Reason             string
			}
			w.must(json.Unmarshal(event.Data, &facts))
			if facts.DraftID != draft.ID || facts.MissionID != draft.MissionID || facts.TransactionHash != funding.Transaction || facts.BlockNumber != funding.Block {
				t.Errorf("%s says %s", event.Type, event.Data)
			}
			if wantReason := event.Type == string(sortie.EventMissionApproved); (facts.Reason == "Well described.") != wantReason {
				t.Errorf("%s says %s", event.Type, event.Data)
			}
		}
	})
}

func TestEverythingIsApprovedOnRequest(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{autoApprove: true})
	draft := w.fund(alice, "k", mission.DepthLocked)
	w.wantTypes(draft, sortie.EventDraftCreated, sortie.EventFundingDetected, sortie.EventFundingConfirmed,
		sortie.EventMissionApproved, sortie.EventMissionPublished)
	review, err := w.db.ReviewOf(context.Background(), draft.ID)
	if err != nil || review.Operator != "auto" {
		t.Errorf("the review is %+v, %v", review, err)
	}
}

// A funding that differs in anything is not the draft's, and somebody should know.
func TestFundingsThatDoNotCount(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	for name, change := range map[string]func(*onchain.Event){
		"factory":             func(e *onchain.Event) { e.Factory = otherFactory },
		"missionKey":          func(e *onchain.Event) { e.MissionKey[0]++ },
		"creator":             func(e *onchain.Event) { e.Funded.Creator = bob },
		"token":               func(e *onchain.Event) { e.Funded.Token = otherFactory },
		"rewardPerSubmission": func(e *onchain.Event) { e.Funded.Reward = bigPlusOne(e.Funded.Reward) },
		"targetCount":         func(e *onchain.Event) { e.Funded.TargetCount = new(big.Int).Lsh(big.NewInt(1), 64) },
		"nonce":               func(e *onchain.Event) { e.Funded.Nonce[0]++ },
	} {
		draft := w.create(alice, name)
		event := fundingOf(draft)
		change(&event)
		w.extend([]onchain.Event{event})
		w.wantState(draft, mission.Created())
		incidents, err := w.db.OpenIncidents(context.Background())
		w.must(err)
		found := slices.ContainsFunc(incidents, func(incident store.Incident) bool {
			return incident.Kind == "funding_mismatch" && !incident.Halting && strings.Contains(incident.Detail, draft.ID) && strings.Contains(incident.Detail, "another "+name+" than")
		})
		if !found {
			t.Errorf("another %s: no incident says so: %+v", name, incidents)
		}
	}
}

func TestAMissionIsFundedOnce(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.create(alice, "k")
	w.extend([]onchain.Event{fundingOf(draft)}, []onchain.Event{fundingOf(draft)})
	w.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
	w.wantIncidents("funding_repeated")
	w.advance(w.step(testStart+1, nil)) // the second one goes: nothing changes
	w.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
	w.advance(w.step(testStart, nil)) // the first one goes
	w.wantState(draft, mission.Created())
}

// What is acted on was asked about a moment ago. Meanwhile the chain may have changed.
func TestWhatWasListedIsHeldAgainstThePresent(t *testing.T) {
	t.Parallel()
	const seen, confirmed = mission.DepthSeen, mission.DepthConfirmed
	for name, c := range map[string]struct {
		meanwhile func(w *world, draft store.Draft) // between the list and the act
		want      mission.State
	}{
		"the funding is gone": {
			func(w *world, _ store.Draft) { w.advance(w.step(testStart, nil, nil, nil, nil, nil, nil)) },
			mission.Created(),
		},
		"the funding is in another block": {
			func(w *world, draft store.Draft) {
				w.advance(w.step(testStart, []onchain.Event{fundingOf(draft)}, nil, nil, nil, nil))
			},
			mission.State{Depth: seen, Decision: mission.DecisionNone},
		},
		"the chain became shorter": {
			func(w *world, _ store.Draft) { w.advance(w.step(testStart+1, nil)) },
			mission.State{Depth: seen, Decision: mission.DecisionNone},
		},
		"nothing": {
			func(*world, store.Draft) {},
			mission.State{Depth: confirmed, Decision: mission.DecisionNone},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t, sqliteDatabase(t), worldOptions{})
			draft := w.create(alice, "k")
			w.extend([]onchain.Event{fundingOf(draft)}, nil, nil)
			list := w.toDeepen()
			if len(list) != 1 || list[0].To != confirmed {
				t.Fatalf("listed %+v", list)
			}
			c.meanwhile(w, draft)
			w.must(w.ledger.Deepen(context.Background(), list))
			w.wantState(draft, c.want)
		})
	}
}

func TestALockIsHeldAgainstThePresent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(w *world, draft store.Draft, list []onchain.Deepening)
		want      mission.Depth
	}{
		"halted": {func(w *world, _ store.Draft, _ []onchain.Deepening) {
			w.must(w.ledger.ReportIncident(context.Background(), "test", "Stop.", true))
		}, mission.DepthConfirmed},
		"money gone": {func(w *world, draft store.Draft, _ []onchain.Deepening) {
			w.extend([]onchain.Event{closingOf(draft, 2)})
		}, mission.DepthConfirmed},
		"listed for a block that is not final": {func(_ *world, _ store.Draft, list []onchain.Deepening) {
			list[0].Block++ // the row's block counts
		}, mission.DepthConfirmed},
		"nothing": {func(*world, store.Draft, []onchain.Deepening) {}, mission.DepthLocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t, sqliteDatabase(t), worldOptions{autoApprove: true})
			draft := w.fund(alice, "k", mission.DepthConfirmed)
			w.finalize(w.position.Tip.Number)
			list := w.toDeepen()
			if len(list) != 1 || list[0].To != mission.DepthLocked {
				t.Fatalf("listed %+v", list)
			}
			c.meanwhile(w, draft, list)
			w.must(w.ledger.Deepen(context.Background(), list))
			w.wantState(draft, mission.State{Depth: c.want, Decision: mission.DecisionApproved})
		})
	}
}

// Whoever says that a funding may be locked, it is not before the position says that its block is
// final.
func TestNothingIsPublishedBelowTheLock(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{autoApprove: true})
	draft := w.fund(alice, "k", mission.DepthConfirmed)
	funding, err := w.db.FundingOf(context.Background(), draft.ID)
	w.must(err)
	forged := []onchain.Deepening{{Terms: draft.Terms(), Funding: funding, To: mission.DepthLocked}}
	w.must(w.ledger.Deepen(context.Background(), forged))
	w.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionApproved})
}

// Nor is a refund counted before its block is final.
func TestNothingIsRefundedBelowTheLock(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.fund(alice, "k", mission.DepthLocked)
	w.extend([]onchain.Event{closingOf(draft, 2)})
	funding, err := w.db.FundingOf(context.Background(), draft.ID)
	w.must(err)
	forged := []onchain.Deepening{{Terms: draft.Terms(), Funding: funding, To: mission.DepthLocked, Refund: true}}
	w.must(w.ledger.Deepen(context.Background(), forged))
	w.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionNone})
}

// A refund counts when its block is final, and then only the one that was asked about.
func TestARefundIsHeldAgainstThePresent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(w *world, draft store.Draft, list []onchain.Deepening)
		refunded  bool
	}{
		"another close": {func(w *world, draft store.Draft, _ []onchain.Deepening) {
			w.advance(w.step(w.position.Tip.Number-1, []onchain.Event{closingOf(draft, 1)}))
		}, false},
		"no close": {func(w *world, _ store.Draft, _ []onchain.Deepening) {
			w.advance(w.step(w.position.Tip.Number-1, nil))
		}, false},
		"nothing": {func(*world, store.Draft, []onchain.Deepening) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t, sqliteDatabase(t), worldOptions{})
			draft := w.fund(alice, "k", mission.DepthConfirmed)
			_, err := w.operators.Reject(context.Background(), reviewer, draft.ID, "No.")
			w.must(err)
			w.extend([]onchain.Event{closingOf(draft, 1)})
			if list := w.toDeepen(); len(list) != 0 {
				t.Fatalf("listed %+v before it is final", list)
			}
			w.finalize(w.position.Tip.Number)
			list := slices.DeleteFunc(w.toDeepen(), func(d onchain.Deepening) bool { return !d.Refund })
			if len(list) != 1 {
				t.Fatalf("listed %+v", list)
			}
			c.meanwhile(w, draft, list)
			w.must(w.ledger.Deepen(context.Background(), list))
			if got := w.checkDraft(draft.ID).State.Refunded; got != c.refunded {
				t.Errorf("refunded is %t", got)
			}
		})
	}
}

func TestBrokenFinalityHaltsUntilAPersonHasLooked(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	ctx := context.Background()
	published, locked := w.fund(alice, "published", mission.DepthLocked), w.fund(alice, "locked", mission.DepthLocked)
	approved := w.fund(bob, "approved", mission.DepthConfirmed)
	for _, draft := range []store.Draft{published, approved} {
		_, err := w.operators.Approve(ctx, reviewer, draft.ID, "")
		w.must(err)
	}
	// From here on the fundings of the first two are gone, and only bob's comes back.
	w.advance(w.step(testStart, []onchain.Event{fundingOf(approved), fundingOf(locked)}, nil, nil, nil, nil, nil))
	w.wantState(published, mission.State{Depth: mission.DepthNone, Decision: mission.DecisionApproved})
	halted, err := w.ledger.Halted(ctx)
	if err != nil || !halted {
		t.Fatalf("halted is %t, %v", halted, err)
	}
	for _, incident := range w.incidents() {
		if incident != "finality_broken" {
			t.Errorf("incident %s", incident)
		}
	}
	w.finalize(w.position.Tip.Number)
	w.settle()
	w.wantState(approved, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionApproved}) // confirmed, not published

	w.clearIncidents()
	w.settle()
	w.wantState(approved, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved})
	w.wantState(locked, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionNone})
	w.must(w.ledger.ReportIncident(ctx, "test", "Stop.", true))
	_, err = w.operators.Approve(ctx, reviewer, locked.ID, "")
	wantCode(t, err, sortie.CodeServiceUnavailable)
	_, err = w.operators.Reject(ctx, reviewer, locked.ID, "A rejection publishes nothing.")
	w.must(err)
}

func (w *world) clearIncidents() {
	w.t.Helper()
	incidents, err := w.db.OpenIncidents(context.Background())
	w.must(err)
	for _, incident := range incidents {
		_, err := w.operators.ClearIncident(context.Background(), reviewer, incident.ID, "Looked at it.")
		w.must(err)
	}
}

// A mission whose creator took the money back before anybody decided is rejected by that.
func TestAReclaimDecides(t *testing.T) {
	t.Parallel()
	for reason, wantActor := range map[uint8]string{2: "reclaim", 1: "chain"} {
		t.Run(wantActor, func(t *testing.T) {
			t.Parallel()
			w := openWorld(t, sqliteDatabase(t), worldOptions{})
			draft := w.fund(alice, "k", mission.DepthLocked)
			w.extend([]onchain.Event{closingOf(draft, reason)})
			_, err := w.operators.Approve(context.Background(), reviewer, draft.ID, "")
			wantCode(t, err, sortie.CodeWrongState)
			w.settle()
			w.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionNone}) // not final yet
			w.finalize(w.position.Tip.Number)
			w.settle()
			w.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionRejected, Refunded: true})
			review, err := w.db.ReviewOf(context.Background(), draft.ID)
			if err != nil || review.Operator != wantActor {
				t.Errorf("the review is %+v, %v", review, err)
			}
			if jobs := w.refundJobs(draft); jobs != 0 {
				t.Errorf("%d jobs for a refund that happened", jobs)
			}
			if unexpected := slices.Contains(w.incidents(), "unexpected_close"); unexpected != (reason == 1) {
				t.Errorf("the incidents are %v", w.incidents())
			}
			w.wantTypes(draft, sortie.EventDraftCreated, sortie.EventFundingDetected, sortie.EventFundingConfirmed, sortie.EventFundingLocked,
				sortie.EventMissionRejected, sortie.EventRefundConfirmed)
		})
	}
}

func TestAnApprovedMissionStaysApprovedWhenItIsClosed(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{autoApprove: true})
	draft := w.fund(alice, "k", mission.DepthLocked)
	w.extend([]onchain.Event{closingOf(draft, closedByCreator)})
	w.finalize(w.position.Tip.Number)
	w.settle()
	w.wantState(draft, mission.State{Depth: mission.DepthLocked, Decision: mission.DecisionApproved})
	w.wantIncidents()
}

// A step that contradicts itself is refused before anything is written.
func TestStepsThatContradictThemselves(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	draft := w.create(alice, "k")
	w.extend(nil, nil, nil)
	w.finalize(testStart + 1)
	fund := []onchain.Event{fundingOf(draft)}
	tip := w.position.Tip.Number
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
			s.After = w.blocks[tip-1]
			s.After.Number = tip
			s.After.Hash = sortie.Hash{}
		},
	} {
		step := w.step(tip, fund, fund)
		change(&step)
		if _, err := w.ledger.Advance(context.Background(), step); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	position, err := w.ledger.Position(context.Background(), testChain)
	if err != nil || position != w.position {
		t.Errorf("the position is %+v, %v; want %+v", position, err, w.position)
	}
	w.wantState(draft, mission.Created())
}

// A job that cannot be queued takes everything with it that made it necessary.
func TestNothingHappensWithoutItsJob(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		w := openWorld(t, database, worldOptions{})
		funded, late := w.fund(alice, "funded", mission.DepthConfirmed), w.create(alice, "late")
		ctx := context.Background()
		_, err := w.operators.Reject(ctx, reviewer, late.ID, "No.")
		w.must(err)
		broken := errors.New("the queue is broken")
		w.queue.fail = broken
		if _, err := w.operators.Reject(ctx, reviewer, funded.ID, "No."); !errors.Is(err, broken) {
			t.Errorf("reject: %v", err)
		}
		w.wantState(funded, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone})
		if _, err := w.db.ReviewOf(ctx, funded.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a review is left: %v", err)
		}
		w.extend([]onchain.Event{fundingOf(late)}, nil, nil)
		if err := w.ledger.Deepen(ctx, w.toDeepen()); !errors.Is(err, broken) {
			t.Errorf("deepen: %v", err)
		}
		w.wantState(late, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionRejected})
		w.queue.fail = nil
		w.settle()
		w.wantState(late, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionRejected})
		if jobs := w.refundJobs(late); jobs != 1 {
			t.Errorf("%d jobs", jobs)
		}
	})
}

func TestWhereFollowingBegins(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	ctx := context.Background()
	earliest, err := w.ledger.EarliestInterest(ctx)
	if err != nil || !earliest.Equal(w.clock()) {
		t.Errorf("without drafts: %s, %v; want now", earliest, err)
	}
	first := w.create(alice, "first")
	w.pass(time.Hour)
	w.create(bob, "second")
	if earliest, err = w.ledger.EarliestInterest(ctx); err != nil || !earliest.Equal(first.CreatedAt) {
		t.Errorf("with drafts: %s, %v; want %s", earliest, err, first.CreatedAt)
	}
	if err := w.ledger.Begin(ctx, testChain, w.mine(1)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("begun twice: %v", err)
	}
	if _, err := w.ledger.Position(ctx, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a chain that is not followed: %v", err)
	}
	factories, err := w.ledger.Factories(ctx, testChain)
	if err != nil || !slices.Equal(factories, []sortie.Address{factory}) {
		t.Errorf("factories %v, %v", factories, err)
	}
}

func TestOldBlocksAreForgotten(t *testing.T) {
	t.Parallel()
	w := openWorld(t, sqliteDatabase(t), worldOptions{})
	const last = testStart + 3*keptBlocks
	for number := uint64(testStart); number < last; {
		number += 64
		block := w.mine(number)
		step := w.step(w.position.Tip.Number)
		step.Blocks, step.Head, step.Final = []onchain.Block{block}, number, number-10
		w.advance(step)
	}
	tail, err := w.ledger.Tail(context.Background(), testChain, last+100, 10_000)
	w.must(err)
	oldest := tail[len(tail)-1].Number
	if oldest < w.position.Final-keptBlocks || oldest > w.position.Final-keptBlocks+64 {
		t.Errorf("the oldest of %d blocks is %d; final is %d", len(tail), oldest, w.position.Final)
	}
}
