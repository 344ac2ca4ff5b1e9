package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// together runs functions concurrently and returns their errors.
func together(calls ...func() error) []error {
	failures := make([]error, len(calls))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i, call := range calls {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			failures[i] = call()
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return failures
}

// Of several processes that follow the chain, one advances it.
func TestOneOfManyFollowersWins(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		for round := range 10 {
			draft := a.create(alice, fmt.Sprint(round))
			steps := make([]onchain.Advance, 4)
			for i := range steps { // of different nodes, which saw different blocks
				steps[i] = a.step(a.position.Tip.Number, []onchain.Event{fundingOf(draft)}, nil)
			}
			moved := make([]onchain.Position, len(steps))
			var calls []func() error
			for i := range steps {
				calls = append(calls, func() (err error) {
					moved[i], err = a.ledger.Advance(context.Background(), steps[i])
					return err
				})
			}
			winner := -1
			for i, err := range together(calls...) {
				switch {
				case err == nil && winner < 0:
					winner = i
				case err == nil:
					t.Fatalf("followers %d and %d both moved the chain", winner, i)
				case !errors.Is(err, store.ErrConflict):
					t.Fatal(err)
				}
			}
			if winner < 0 {
				t.Fatal("no process moved the chain, want one")
			}
			a.follow(steps[winner], moved[winner])
			a.wantState(draft, mission.State{Depth: mission.DepthSeen, Decision: mission.DecisionNone})
			funding, err := a.db.FundingOf(context.Background(), draft.ID)
			if err != nil || funding.BlockHash != steps[winner].Blocks[0].Hash {
				t.Fatalf("the funding is %+v, %v, want %v", funding, err, steps[winner].Blocks[0].Hash)
			}
		}
		events, err := a.db.ChainEvents(context.Background(), testChain, 0, 1<<40)
		if err != nil || len(events) != 10 {
			t.Errorf("%d events of 10 fundings, %v, want 10", len(events), err)
		}
	})
}

// Operators, the chain and finality change one draft concurrently. The outcome is the same as one
// after the other.
func TestDecisionsRaceTheChain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		ctx := context.Background()
		for round := range 12 {
			draft := a.create(alice, fmt.Sprint(round))
			a.extend([]onchain.Event{fundingOf(draft)})
			draft = a.bury(draft, mission.DepthConfirmed)
			fundedIn := a.position.Tip.Number - testConfirmations + 1
			a.finalize(fundedIn) // it may be locked now, and is not yet
			list := a.pendingConfirmations()
			reorg := a.step(fundedIn - 1)
			reorg.Blocks, reorg.Head, reorg.Final = []onchain.Block{a.mine(fundedIn)}, a.position.Head, fundedIn
			var moved onchain.Position
			failures := together(
				func() error { _, err := a.operators.Approve(ctx, reviewer, draft.ID, "Yes."); return err },
				func() error { _, err := a.operators.Reject(ctx, colleague, draft.ID, "No."); return err },
				func() error { return a.ledger.Confirm(ctx, list) },
				func() (err error) { moved, err = a.ledger.Advance(ctx, reorg); return err },
				func() error { _, err := a.operators.Approve(ctx, colleague, draft.ID, "Yes, too."); return err },
			)
			for i, err := range failures {
				if err != nil && sortie.ErrorCode(err) != sortie.CodeWrongState && sortie.ErrorCode(err) != sortie.CodeServiceUnavailable {
					t.Fatalf("call %d: %v", i, err)
				}
			}
			a.must(failures[2])
			a.must(failures[3])
			a.follow(reorg, moved)
			a.checkRace(draft, failures)
			a.clearIncidents()
		}
	})
}

// checkRace checks a draft after its funding was removed and operators tried to decide.
func (a *testApp) checkRace(draft store.Draft, failures []error) {
	a.t.Helper()
	after := a.checkDraft(draft.ID)
	won := 0
	for _, i := range []int{0, 1, 4} {
		if failures[i] == nil {
			won++
		}
	}
	rejected := failures[1] == nil
	review, err := a.db.ReviewOf(context.Background(), draft.ID)
	switch {
	case won > 1:
		a.t.Fatalf("got %d decisions, want 1 at most", won)
	case won == 0 && !errors.Is(err, store.ErrNotFound):
		a.t.Fatalf("no decision succeeded: got review %+v, error %v, want %v", review, err, store.ErrNotFound)
	case won == 1 && (err != nil || review.Decision != after.State.Decision):
		a.t.Fatalf("the draft is %+v, its review %+v, %v", after.State, review, err)
	case rejected != (after.State.Decision == mission.DecisionRejected):
		a.t.Fatalf("rejected is %t, the draft %+v", rejected, after.State)
	}
	if after.State.Depth != mission.DepthNone || after.State.Refunded {
		a.t.Fatalf("the funding is gone, the draft %+v", after.State)
	}
	if jobs := a.refundJobs(draft); jobs > 1 || jobs == 1 && !rejected {
		a.t.Fatalf("%d refund jobs; rejected is %t", jobs, rejected)
	}
	waiting := a.count(`SELECT COUNT(*) FROM drafts WHERE list_status = 'pending_funding'`) // all of them are hers
	if counted := a.unfundedDrafts(alice); counted != waiting {
		a.t.Fatalf("%d drafts wait for funding, %d are counted, want %v", waiting, counted, waiting)
	}
	if entries := a.count(`SELECT COUNT(*) FROM audit WHERE subject = $1`, draft.ID); entries != won {
		a.t.Fatalf("%d audit entries for %d decisions, want %v", entries, won, won)
	}
}

// Drafts and the chain change the count of unfunded drafts concurrently.
func TestTheCountOfUnfundedDraftsSurvivesRaces(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		ctx := context.Background()
		var drafts []store.Draft
		var fundings []onchain.Event
		for i := range 8 {
			drafts = append(drafts, a.create(alice, fmt.Sprint(i)))
			fundings = append(fundings, fundingOf(drafts[i]))
		}
		a.extend(fundings, nil, nil)
		list := a.pendingConfirmations()
		calls := []func() error{func() error { return a.ledger.Confirm(ctx, list) }}
		for _, draft := range drafts[:4] {
			calls = append(calls, func() error { _, err := a.operators.Reject(ctx, reviewer, draft.ID, "No."); return err })
		}
		for _, err := range together(calls...) {
			a.must(err)
		}
		for _, draft := range drafts {
			if after := a.checkDraft(draft.ID); after.State.Depth != mission.DepthConfirmed {
				t.Errorf("draft is %+v, want %v", after.State, mission.DepthConfirmed)
			}
		}
		for i, draft := range drafts {
			if jobs, want := a.refundJobs(draft), min(1, max(0, 4-i)); jobs != want {
				t.Errorf("draft %d has %d refund jobs, want %d", i, jobs, want)
			}
		}
		if counted := a.unfundedDrafts(alice); counted != 0 {
			t.Errorf("%d unfunded drafts are counted, want 0", counted)
		}
	})
}

// A reorganization removes a closing while the mission is rejected. The refund must be queued.
func TestNoRefundIsLostBetweenADecisionAndTheChain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		ctx := context.Background()
		for round := range 25 {
			draft := a.fund(alice, fmt.Sprint(round), mission.DepthConfirmed)
			a.extend([]onchain.Event{closingOf(draft, 2)})
			reorg := a.step(a.position.Tip.Number-1, nil)
			var moved onchain.Position
			for _, err := range together(
				func() (err error) { moved, err = a.ledger.Advance(ctx, reorg); return err },
				func() error { _, err := a.operators.Reject(ctx, reviewer, draft.ID, "No."); return err },
			) {
				a.must(err)
			}
			a.follow(reorg, moved)
			a.wantState(draft, mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionRejected})
			if jobs := a.refundJobs(draft); jobs != 1 {
				t.Fatalf("round %d: %d refund jobs, want 1", round, jobs)
			}
		}
	})
}

// A reorganization removes a closing while its refund is confirmed. The refund must not stay
// confirmed.
func TestNoRefundIsConfirmedThatVanishes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestApp(t, database, testAppOptions{})
		ctx := context.Background()
		for round := range 25 {
			draft := a.fund(alice, fmt.Sprint(round), mission.DepthConfirmed)
			a.reject(draft)
			a.extend([]onchain.Event{closingOf(draft, 1)})
			a.finalize(a.position.Tip.Number)
			list := a.pendingConfirmations()
			reorg := a.step(a.position.Tip.Number-1, nil)
			var moved onchain.Position
			for _, err := range together(
				func() (err error) { moved, err = a.ledger.Advance(ctx, reorg); return err },
				func() error { return a.ledger.Confirm(ctx, list) },
			) {
				a.must(err)
			}
			a.follow(reorg, moved)
			if after := a.checkDraft(draft.ID); after.State.Refunded {
				t.Fatalf("round %d: the draft is %+v, and the refund is gone", round, after.State)
			}
			a.clearIncidents()
		}
	})
}
