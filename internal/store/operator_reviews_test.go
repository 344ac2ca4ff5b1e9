package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/mission"
)

// testReviewRace lets many operators decide about one draft, each in a transaction with the draft's
// transition.
func testReviewRace(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	for round := range 5 {
		draft := mustApply(t, db, mustCreate(t, db, alice, key(round)), mission.FundingLocked)
		if _, err := db.ReviewOf(ctx, draft.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("the review of an undecided draft: %v, want ErrNotFound", err)
		}
		var winner atomic.Pointer[Review]
		for _, err := range together(16, func(i int) error {
			review := Review{DraftID: draft.ID, Decision: mission.DecisionApproved, Operator: fmt.Sprint("operator ", i), Reason: "why not"}
			event := mission.Approved
			if i%2 == 1 {
				review.Decision, event = mission.DecisionRejected, mission.Rejected
			}
			err := db.Tx(ctx, func(tx *Tx) error {
				if err := tx.AddReview(review); err != nil {
					return err
				}
				state, err := mission.Apply(draft.State, event)
				if err != nil {
					return err
				}
				if err := tx.AddAudit(AuditEntry{Actor: review.Operator, Action: "review", Subject: draft.ID}); err != nil {
					return err
				}
				_, err = tx.TransitionDraft(draft, Transition{State: state, QuoteDeadline: 1}, NewEvent{Type: string(event), Data: json.RawMessage("{}")})
				return err
			})
			if err == nil && winner.Swap(&review) != nil {
				t.Error("two operators decided")
			}
			return err
		}) {
			if err != nil && !errors.Is(err, ErrConflict) {
				t.Errorf("a loser got %v, want ErrConflict", err)
			}
		}
		want := winner.Load()
		if want == nil {
			t.Fatal("race of decisions: got no winner, want one")
		}
		want.DecidedAt = clock.now().UTC().Truncate(time.Microsecond)
		mustTx(t, db, func(tx *Tx) error { // which continues after the refusal
			if err := tx.AddReview(Review{DraftID: draft.ID, Decision: mission.DecisionRejected, Reason: "second thoughts"}); !errors.Is(err, ErrConflict) {
				t.Errorf("AddReview of a decided draft: %v, want ErrConflict", err)
			}
			return nil
		})
		if got, err := db.ReviewOf(ctx, draft.ID); err != nil || got != *want {
			t.Errorf("the review is %+v, %v; want %+v", got, err, *want)
		}
		if moved, err := db.DraftByDraftID(ctx, draft.ID); err != nil || moved.State.Decision != want.Decision {
			t.Errorf("the draft is %+v, %v; want it %s", moved.State, err, want.Decision)
		}
		if trail, err := db.Audit(ctx, 0, 100); err != nil || len(trail) != round+1 || trail[0].Actor != want.Operator {
			t.Errorf("the audit is %+v, %v; want one entry for each winner, newest first", trail, err)
		}
	}
}

func testAuditPages(t *testing.T, url string) {
	clock := &fixedClock{}
	db := open(t, url, Options{Clock: clock.now})
	var want []AuditEntry
	for i := range 25 {
		clock.micros.Store(int64(1000 + i))
		entry := AuditEntry{Actor: "0x01", Action: "incident.clear", Subject: key(i), Detail: json.RawMessage(`{"reason":"it's \"fine\""}`)}
		mustTx(t, db, func(tx *Tx) error { return tx.AddAudit(entry) })
		entry.At = time.UnixMicro(int64(1000 + i)).UTC()
		want = append(want, entry)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.AddAudit(AuditEntry{Actor: "without detail"}) })
	var before int64
	for i := len(want); i >= 0; {
		page, err := db.Audit(context.Background(), before, 4)
		if err != nil || len(page) == 0 {
			t.Fatalf("page of the audit: got %d entries, error %v; want at least one and at most the limit", len(page), err)
		}
		for _, got := range page {
			switch {
			case before != 0 && got.Seq >= before:
				t.Errorf("order of entries: got %d after %d, want newest first", got.Seq, before)
			case i == len(want) && string(got.Detail) != "{}":
				t.Errorf("detail of an entry without one: got %s, want {}", got.Detail)
			case i < len(want) && (got.Subject != want[i].Subject || !got.At.Equal(want[i].At) || got.Action != want[i].Action || string(got.Detail) != string(want[i].Detail)):
				t.Errorf("entry %+v, want %+v", got, want[i])
			}
			before = got.Seq
			i--
		}
	}
}

func testIncidents(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	openOne := func(incident Incident) (opened bool, err error) {
		err = db.Tx(ctx, func(tx *Tx) error {
			opened, err = tx.OpenIncident(incident)
			return err
		})
		return opened, err
	}
	checkHalted := func(want bool) {
		t.Helper()
		mustTx(t, db, func(tx *Tx) error {
			inside, err := tx.Halted()
			outside, err2 := db.Halted(ctx)
			if inside != want || outside != want {
				t.Errorf("halted: %t inside the transaction, %t outside; want %t", inside, outside, want)
			}
			return errors.Join(err, err2)
		})
	}

	long := Incident{Kind: "funding_mismatch", Detail: strings.Repeat("a very long story ", 10_000)}
	for range 2 { // the second time after the first was cleared
		var opens atomic.Int64
		mustAll(t, together(16, func(int) error {
			opened, err := openOne(long)
			if opened {
				opens.Add(1)
			}
			return err
		}))
		incidents, err := db.OpenIncidents(ctx)
		if err != nil || opens.Load() != 1 || len(incidents) != 1 || incidents[0].Detail != long.Detail || !incidents[0].ClearedAt.IsZero() ||
			!incidents[0].OpenedAt.Equal(clock.now().Truncate(time.Microsecond)) {
			t.Fatalf("race to open an incident: got %d that opened it and %d rows, error %v; want 1 and 1", opens.Load(), len(incidents), err)
		}
		checkHalted(false)
		id := incidents[0].ID
		var clears atomic.Int64
		for _, err := range together(16, func(i int) error {
			return db.Tx(ctx, func(tx *Tx) error { return tx.ClearIncident(id, fmt.Sprint("operator ", i)) })
		}) {
			if err == nil {
				clears.Add(1)
			} else if !errors.Is(err, ErrConflict) {
				t.Errorf("a loser got %v, want ErrConflict", err)
			}
		}
		mustTx(t, db, func(tx *Tx) error {
			cleared, err := tx.Incident(id)
			if clears.Load() != 1 || cleared.ClearedAt.IsZero() || !strings.HasPrefix(cleared.ClearedBy, "operator ") {
				t.Errorf("race to clear an incident: got %d winners, cleared by %s; want 1 winner", clears.Load(), cleared.ClearedBy)
			}
			return err
		})
	}
	if err := db.Tx(ctx, func(tx *Tx) error { return tx.ClearIncident("incident_unknown", "x") }); !errors.Is(err, ErrNotFound) {
		t.Errorf("clearing what is not there: %v, want ErrNotFound", err)
	}

	mild, severe := Incident{ID: "chosen", Kind: "finality_broken", Detail: "x"}, Incident{Kind: "finality_broken", Detail: "x", Halting: true}
	for _, step := range []struct {
		incident       Incident
		opened, halted bool
	}{{mild, true, false}, {mild, false, false}, {severe, true, true}, {severe, false, true}, {mild, false, true}, {Incident{Kind: "other", Detail: "x"}, true, true}} {
		if opened, err := openOne(step.incident); err != nil || opened != step.opened {
			t.Errorf("opening %+v: opened %t, %v; want %t", step.incident, opened, err, step.opened)
		}
		checkHalted(step.halted)
	}
	incidents, err := db.OpenIncidents(ctx)
	if err != nil || len(incidents) != 2 || incidents[0].ID != "chosen" || !incidents[0].Halting || incidents[1].Halting {
		t.Errorf("the open incidents are %+v, %v; want the halting one first", incidents, err)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.ClearIncident("chosen", "operator") })
	checkHalted(false)
}
