package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// testDeadlines stores when a mission ends and by when it must be published, and finds what was
// not.
func testDeadlines(t *testing.T, url string) {
	db := open(t, url, Options{})
	ends := time.Date(2026, 3, 4, 5, 6, 7, 8_000_000, time.UTC)
	fresh := drawDraft(alice, "ends")
	fresh.EndsAt = &ends
	draft, _, err := create(db, fresh, manyDrafts)
	if err != nil {
		t.Fatal(err)
	}
	other := mustCreate(t, db, alice, "endless")
	moveTo := func(draft Draft, publishBy *time.Time) Draft {
		t.Helper()
		state := mission.State{Depth: mission.DepthConfirmed, Decision: mission.DecisionNone}
		mustTx(t, db, func(tx *Tx) (err error) {
			draft, err = tx.TransitionDraft(draft, Transition{State: state, QuoteDeadline: 7, PublishBy: publishBy}, created)
			return err
		})
		return draft
	}
	later := ends.Add(time.Microsecond)
	draft, other = moveTo(draft, &ends), moveTo(other, &later)
	for _, want := range []Draft{draft, other} {
		got, err := db.DraftByDraftID(context.Background(), want.ID)
		if err != nil || !sameTime(got.EndsAt, want.EndsAt) || !sameTime(got.PublishBy, want.PublishBy) {
			t.Errorf("read an end of %v and publication by %v, %v; want %v and %v", got.EndsAt, got.PublishBy, err, want.EndsAt, want.PublishBy)
		}
	}
	wantLapsing := func(at time.Time, limit int, want ...string) {
		t.Helper()
		list, err := db.DraftsToLapse(context.Background(), at, limit)
		if err != nil || !slices.Equal(ids(list), want) {
			t.Errorf("at %s the drafts %v, %v can no longer be published; want %v", at, ids(list), err, want)
		}
	}
	wantLapsing(ends.Add(-time.Microsecond), 10)
	wantLapsing(ends, 10, draft.ID)
	wantLapsing(later, 10, draft.ID, other.ID)
	wantLapsing(later, 1, draft.ID)
	moveTo(draft, nil)
	wantLapsing(later, 10, other.ID)
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// testDeadlinesOfOlderRows checks that the migration gives older drafts the deadlines that they
// would get now.
func testDeadlinesOfOlderRows(t *testing.T, url string) {
	db := open(t, url, Options{})
	const reclaim = 1_790_000_000
	soon, late := "2026-03-04T05:06:07.890Z", sortie.FormatTime(time.Unix(reclaim, 0).Add(-mission.SettlementPeriod+time.Millisecond))
	// The creator chose the names in metadata and extra; they are no end of the mission.
	const misleading = `,"metadata":{"endsAt":"2020-01-01T00:00:00.000Z","a":"\",\"endsAt\":\"2020-01-01T00:00:00.000Z"},"other":{"x":1,"endsAt":"2020-01-01T00:00:00.000Z","nul":"\u0000"}`
	type row struct {
		draft     Draft
		published bool
	}
	var rows []row
	for i, c := range []struct {
		ends   string
		events []mission.Event
	}{
		{"", nil},
		{soon, nil},
		{"", []mission.Event{mission.FundingSeen}},
		{soon, []mission.Event{mission.FundingConfirmed}},
		{late, []mission.Event{mission.FundingConfirmed}},
		{soon, []mission.Event{mission.FundingConfirmed, mission.Approved}},
		{soon, []mission.Event{mission.FundingConfirmed, mission.Rejected}},
		{soon, []mission.Event{mission.FundingLocked, mission.Approved}},
		{soon, []mission.Event{mission.FundingLocked, mission.Approved, mission.FundingReverted, mission.FundingSeen}},
	} {
		body := `{"title":"A title with ,\"endsAt\":\"2020-01-01T00:00:00.000Z","reward":{"token":"USDC","amount":1},"targetCount":1` + misleading
		if c.ends != "" {
			body += `,"endsAt":"` + c.ends + `"`
		}
		normalized, err := mission.Normalize([]byte(body+"}"), alice)
		if err != nil {
			t.Fatal(err)
		}
		fresh := drawDraft(alice, string(rune('a'+i)))
		fresh.Mission, fresh.EndsAt = json.RawMessage(normalized.AppendJSON(nil)), normalized.EndsAt()
		draft, _, err := create(db, fresh, manyDrafts)
		if err != nil {
			t.Fatal(err)
		}
		draft = mustApply(t, db, draft, c.events...)
		if len(c.events) > 0 {
			mustTx(t, db, func(tx *Tx) error {
				return tx.AddFunding(onchain.Funding{DraftID: draft.ID, MissionKey: drawHash(), ChainID: draft.ChainID, ReclaimAfter: reclaim})
			})
		}
		published := slices.Contains(c.events, mission.FundingLocked)
		if published {
			mustTx(t, db, func(tx *Tx) error {
				return tx.PublishSlots(Slots{DraftID: draft.ID, MissionID: draft.MissionID, Target: 1, Summary: []byte("{}")})
			})
		}
		rows = append(rows, row{draft, published})
	}
	runUpdates(t, db, url, "_deadlines")
	for i, row := range rows {
		var publishBy *time.Time
		if _, err := db.FundingOf(context.Background(), row.draft.ID); err == nil && row.draft.State.AwaitsPublication() && !row.published {
			by := mission.PublishBy(row.draft.EndsAt, reclaim)
			publishBy = &by
		}
		got, err := db.DraftByDraftID(context.Background(), row.draft.ID)
		if err != nil || !sameTime(got.EndsAt, row.draft.EndsAt) || !sameTime(got.PublishBy, publishBy) {
			t.Errorf("draft %d, %+v: got an end of %v and publication by %v, %v; want %v and %v", i, row.draft.State, got.EndsAt, got.PublishBy, err, row.draft.EndsAt, publishBy)
		}
	}
}

// runUpdates clears the deadlines and runs the migration's updates of existing rows.
func runUpdates(t *testing.T, db *DB, url, suffix string) {
	t.Helper()
	engine := "postgres"
	if strings.HasPrefix(url, "sqlite") {
		engine = "sqlite"
	}
	migrations, err := loadMigrations(engine)
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{"UPDATE drafts SET mission_ends_at = NULL, publish_by = NULL"}
	for _, migration := range migrations {
		for _, statement := range migration.statements {
			if strings.HasSuffix(migration.name, suffix) && strings.Contains(statement, "UPDATE drafts") {
				statements = append(statements, statement)
			}
		}
	}
	if len(statements) != 3 {
		t.Fatalf("%d statements of the migration *%s change rows, want 2", len(statements)-1, suffix)
	}
	mustTx(t, db, func(tx *Tx) error {
		for _, statement := range statements {
			if _, err := tx.exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// testCompletion closes a mission that is over, but neither while its funding is reorganized out
// nor while the service is halted.
func testCompletion(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, func(s *Slots) { s.EndsAt = s.OpensAt })
	want := func(when string, want bool) {
		t.Helper()
		var completed bool
		mustTx(t, db, func(tx *Tx) (err error) {
			completed, err = tx.StartClosing(slots.DraftID)
			return err
		})
		if completed != want {
			t.Errorf("%s: closing began: %t, want %t", when, completed, want)
		}
	}
	listed := func(when string, want int) {
		t.Helper()
		list, err := db.SlotsToClose(context.Background(), db.clock(), 10)
		if err != nil || len(list) != want {
			t.Errorf("%s: %v, %v are listed, want %d", when, list, err, want)
		}
	}
	draft, err := db.DraftByDraftID(context.Background(), slots.DraftID)
	if err != nil {
		t.Fatal(err)
	}
	draft = mustApply(t, db, draft, mission.FundingReverted)
	mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(slots.DraftID, true) })
	listed("funding reverted", 0)
	want("funding reverted", false)
	draft = mustApply(t, db, draft, mission.FundingSeen)
	want("funding seen again", false)
	mustApply(t, db, draft, mission.FundingLocked)
	mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(slots.DraftID, false) })
	incident := Incident{ID: "incident_1", Kind: "test", Halting: true, Detail: "Stop."}
	mustTx(t, db, func(tx *Tx) error { _, err := tx.OpenIncident(incident); return err })
	want("halted", false)
	mustTx(t, db, func(tx *Tx) error { return tx.ClearIncident(incident.ID, "0x01") })
	listed("funding back", 1)
	want("funding back", true)
	want("closing began before", false)
	listed("closing began before", 0)
}

// testReceiptsAfterTheMoneyLeft checks that no receipt is stored for a mission whose money left the
// contract, unless a reorganization reverts that.
func testReceiptsAfterTheMoneyLeft(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, nil)
	declared, _, err := declare(db, drawSubmission(slots, contributor(1), "key"))
	if err != nil {
		t.Fatal(err)
	}
	uploaded, err := upload(db, declared, drawHash(), somePicture())
	if err != nil {
		t.Fatal(err)
	}
	accepted := mustMove(t, db, uploaded, sortie.SubmissionAccepted)
	until := accepted.HoldUntil.Add(time.Hour)
	mustTx(t, db, func(tx *Tx) error { return tx.ProlongHold(accepted, until) })
	prolonged, err := db.Submission(context.Background(), accepted.ID)
	if err != nil || !prolonged.HoldUntil.Equal(until) {
		t.Fatalf("the hold ends at %v, %v; want %s", prolonged.HoldUntil, err, until)
	}
	if _, err := takeSlot(db, prolonged); !errors.Is(err, ErrConflict) {
		t.Errorf("a slot during the hold: got %v, want %v", err, ErrConflict)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.ProlongHold(prolonged, accepted.CreatedAt) })
	if prolonged, err = db.Submission(context.Background(), accepted.ID); err != nil {
		t.Fatal(err)
	}
	final, err := takeSlot(db, prolonged)
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []bool{true, false} {
		mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(slots.DraftID, closed) })
		list, err := db.ReceiptsDue(context.Background(), ReceiptCursor{}, 10)
		if err != nil || (len(list) == 0) != closed {
			t.Errorf("receipts due, mission closed %t: got %d, error %v; want one only while it is open", closed, len(list), err)
		}
		err = db.Tx(context.Background(), func(tx *Tx) error { return tx.PutReceipt(final, json.RawMessage(`{}`), alice) })
		if errors.Is(err, ErrConflict) != closed || err != nil && !closed {
			t.Errorf("put a receipt, mission closed %t: got %v, want a conflict only when it is closed", closed, err)
		}
	}
}
