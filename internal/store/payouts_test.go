package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// payoutModel is a mission whose payouts take random steps.
type payoutModel struct {
	t      *testing.T
	db     *DB
	draft  Draft
	slots  Slots
	events map[uint32]*onchain.Event // payments on the chain, by slot
	taken  int
	block  uint64
}

// testPayoutModel takes random steps with the payouts of a mission, right and wrong ones, and after
// each compares the mission's counters with its rows, and the rows with the payments on the chain.
func testPayoutModel(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(time.Now().UnixMicro())
	db := open(t, url, Options{Clock: clock.now})
	rapid.Check(t, func(rt *rapid.T) {
		m := &payoutModel{t: t, db: db, events: make(map[uint32]*onchain.Event), block: 10}
		m.slots = publish(t, db, func(s *Slots) { s.Target, s.PerContributor = 8, 8 })
		var err error
		if m.draft, err = db.DraftByDraftID(context.Background(), m.slots.DraftID); err != nil {
			t.Fatal(err)
		}
		fund(t, db, m.draft)
		for range rapid.IntRange(10, 40).Draw(rt, "steps") {
			clock.micros.Add(time.Second.Microseconds())
			m.step(rt)
			m.compare(rt)
		}
	})
}

// fund puts a funding of a draft on the chain.
func fund(t testing.TB, db *DB, draft Draft) {
	t.Helper()
	mustTx(t, db, func(tx *Tx) error {
		return tx.AddFunding(onchain.Funding{
			DraftID: draft.ID, MissionKey: sortie.MissionKey(draft.MissionID), ChainID: draft.ChainID, Block: 1, BlockHash: drawHash(),
			Transaction: drawHash(), ReclaimAfter: 1 << 40,
		})
	})
}

// finalAcceptance takes the next slot of a mission.
func finalAcceptance(t testing.TB, db *DB, slots Slots, wallet sortie.Address, key string) Submission {
	t.Helper()
	declared, _, err := declare(db, drawSubmission(slots, wallet, key))
	if err != nil {
		t.Fatal(err)
	}
	uploaded, err := upload(db, declared, drawHash(), somePicture())
	if err != nil {
		t.Fatal(err)
	}
	final, err := takeSlot(db, mustMove(t, db, uploaded, sortie.SubmissionAccepted))
	if err != nil {
		t.Fatal(err)
	}
	return final
}

func (m *payoutModel) all() []Payout {
	m.t.Helper()
	var all []Payout
	_, err := read(context.Background(), m.db, func(r reader) (struct{}, error) {
		found, err := r.payouts(`SELECT `+payoutColumns+` FROM payouts WHERE draft_id = $1 ORDER BY slot`, m.slots.DraftID)
		all = found
		return struct{}{}, err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// open are the settlements of the mission that are under way.
func (m *payoutModel) open() (open []Settlement) {
	m.t.Helper()
	list, err := m.db.OpenSettlements(context.Background(), 0, 100_000)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, settlement := range list {
		if settlement.DraftID == m.slots.DraftID {
			open = append(open, settlement)
		}
	}
	return open
}

func (m *payoutModel) step(rt *rapid.T) {
	payouts, settlements := m.all(), m.open()
	step := rapid.SampledFrom([]string{"take", "take", "start", "start", "send", "pay", "pay", "remove", "finalize", "shrink", "leave out", "end", "fail", "retry"}).Draw(rt, "step")
	payout := Payout{DraftID: m.slots.DraftID, Slot: 1 << 20}
	if len(payouts) > 0 {
		payout = rapid.SampledFrom(payouts).Draw(rt, "payout")
	}
	settlement := Settlement{}
	if len(settlements) > 0 {
		settlement = rapid.SampledFrom(settlements).Draw(rt, "settlement")
	}
	err := m.db.Tx(context.Background(), func(tx *Tx) error {
		switch step {
		case "take":
			return nil // below: it takes several transactions
		case "start":
			slots, err := tx.SlotsOf(m.slots.DraftID)
			if err != nil || slots.Waiting == 0 {
				return err
			}
			return m.start(rt, tx)
		case "pay":
			return m.pay(rt, tx, payout)
		case "remove":
			event := m.events[payout.Slot]
			if event == nil {
				return nil
			}
			delete(m.events, payout.Slot)
			return tx.RemovePayment(m.draft.ChainID, event)
		case "finalize":
			_, err := tx.FinalizePayouts(m.slots.DraftID, payouts)
			return err
		case "fail":
			return tx.FailPayout(payout, "the token burns gas")
		case "retry":
			return tx.RetryPayout(payout)
		}
		if settlement.ID == 0 {
			return nil
		}
		switch step {
		case "send":
			_, err := tx.SendPayouts(settlement, drawHash())
			return err
		case "shrink":
			return tx.ShrinkSettlement(settlement, rapid.IntRange(0, 3).Draw(rt, "keep"))
		case "leave out":
			return tx.LeaveOut(settlement, map[uint32]bool{payout.Slot: true})
		default:
			return tx.EndSettlement(settlement, rapid.Bool().Draw(rt, "well"))
		}
	})
	if err != nil && !(errors.Is(err, ErrConflict) && (step == "fail" || step == "retry")) {
		rt.Fatalf("step %s: got %v, want no error", step, err)
	}
	if step == "take" && m.taken < m.slots.Target {
		finalAcceptance(m.t, m.db, m.slots, contributor(m.taken), fmt.Sprint(m.slots.DraftID, m.taken))
		m.taken++
	}
}

func (m *payoutModel) start(rt *rapid.T, tx *Tx) error {
	waiting := WaitingMission{DraftID: m.slots.DraftID}
	err := tx.one(`SELECT waiting_since FROM mission_slots WHERE draft_id = $1`, []any{m.slots.DraftID}, func(row scanner) error {
		var since int64
		err := row.Scan(&since)
		waiting.Since = microTime(since)
		return err
	})
	if err != nil {
		return err
	}
	started, chosen, err := tx.StartSettlement(waiting, sortie.TokenUSDC, rapid.IntRange(1, 4).Draw(rt, "size"))
	if err != nil {
		return err
	}
	if started.Size != len(chosen) || len(chosen) == 0 {
		rt.Fatalf("new settlement: got size %d with %d payouts, want the same number", started.Size, len(chosen))
	}
	return nil
}

func (m *payoutModel) pay(rt *rapid.T, tx *Tx, payout Payout) error {
	if m.events[payout.Slot] != nil {
		return nil // the contract pays a slot once
	}
	m.block++
	kind := onchain.EventSubmissionPaid
	if rapid.Bool().Draw(rt, "credited") {
		kind = onchain.EventPayoutDeferred
	}
	event := &onchain.Event{
		Block: m.block, BlockHash: drawHash(), Transaction: drawHash(), Factory: m.draft.Factory, Kind: kind,
		MissionKey: sortie.MissionKey(m.draft.MissionID), Payment: &onchain.Payment{Slot: uint64(payout.Slot)},
	}
	m.events[payout.Slot] = event
	_, err := tx.NotePayments(m.slots.DraftID, []PaymentNote{
		{Slot: uint64(payout.Slot), Block: event.Block, Transaction: event.Transaction, Credited: kind == onchain.EventPayoutDeferred},
	})
	return err
}

// compare checks what holds at any time.
func (m *payoutModel) compare(rt *rapid.T) {
	open := make(map[int64]bool)
	for _, settlement := range m.open() {
		open[settlement.ID] = true
	}
	var want payoutCounts
	all := m.all()
	for i, p := range all {
		want.count(&p, 1)
		event := m.events[p.Slot]
		switch {
		case int(p.Slot) != i:
			rt.Fatalf("order of payouts: got slot %d at place %d, want the order of slots", p.Slot, i)
		case event == nil != (p.Block == 0):
			rt.Fatalf("payout of slot %d: got block %d, want that of %+v", p.Slot, p.Block, event)
		case event != nil && (p.Block != event.Block || p.Transaction != event.Transaction || p.Credited != (event.Kind == onchain.EventPayoutDeferred)):
			rt.Fatalf("payout of slot %d: got %+v, want that of %+v", p.Slot, p, event)
		case event != nil && p.Status != sortie.PayoutSent && p.Status != sortie.PayoutPaid && p.Status != sortie.PayoutDeferred:
			rt.Fatalf("payout of slot %d: got %s, want it sent, paid or deferred: block %d paid it", p.Slot, p.Status, event.Block)
		case event == nil && p.Settlement != 0 && !open[p.Settlement]:
			rt.Fatalf("payout of slot %d: got %s with settlement %d, want no settlement that has ended", p.Slot, p.Status, p.Settlement)
		case event == nil && p.Status == sortie.PayoutSent && p.Settlement == 0:
			rt.Fatalf("payout of slot %d: got sent without settlement and block, want one of them", p.Slot)
		case event == nil && (p.Status == sortie.PayoutPaid || p.Status == sortie.PayoutDeferred):
			rt.Fatalf("payout of slot %d: got %s, want it open: no block paid it", p.Slot, p.Status)
		}
	}
	slots := mustSlots(m.t, m.db, m.slots.DraftID)
	got := payoutCounts{int64(slots.Waiting), int64(slots.Paid), int64(slots.Deferred), int64(slots.Failed)}
	if got != want || slots.Finals != len(all) || len(all) != m.taken {
		rt.Fatalf("the mission counts %+v of %d; the rows %+v of %d; want %d", got, slots.Finals, want, len(all), m.taken)
	}
}

// testFairness checks that missions with few payouts are settled before one with many that was just
// settled.
func testFairness(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(time.Now().UnixMicro())
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	large := publish(t, db, func(s *Slots) { s.Target, s.PerContributor, s.Token = 120, 120, "FAIR" })
	for i := range 110 {
		finalAcceptance(t, db, large, contributor(0), fmt.Sprint("large", i))
	}
	clock.micros.Add(time.Second.Microseconds())
	small := publish(t, db, func(s *Slots) { s.Token = "FAIR" })
	finalAcceptance(t, db, small, contributor(1), "small")
	due := func(since time.Time) (ids []string) {
		t.Helper()
		missions, err := db.MissionsToSettle(ctx, "FAIR", since, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range missions {
			ids = append(ids, m.DraftID)
		}
		return ids
	}
	minute := func() time.Time { return clock.now().Add(-time.Minute) }
	check := func(when string, got []string, want ...string) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v are due, want %v", when, got, want)
		}
	}
	check("a full batch at once, one payout not yet", due(minute()), large.DraftID)
	settle := func() {
		t.Helper()
		missions, err := db.MissionsToSettle(ctx, "FAIR", clock.now(), 1)
		if err != nil || len(missions) != 1 {
			t.Fatalf("missions to settle: got %v, error %v; want one", missions, err)
		}
		mustTx(t, db, func(tx *Tx) error { _, _, err := tx.StartSettlement(missions[0], "FAIR", MaxSettlement); return err })
	}
	clock.micros.Add(time.Second.Microseconds())
	settle()
	clock.micros.Add(time.Minute.Microseconds())
	check("the one payout, before the next full batch", due(minute()), small.DraftID, large.DraftID)
	settle()
	settle()
	check("ten payouts are left, and wait for others", due(minute()))
	clock.micros.Add(time.Minute.Microseconds())
	check("and go out after the interval", due(minute()), large.DraftID)
	if slots := mustSlots(t, db, large.DraftID); slots.Waiting != 10 {
		t.Errorf("%d payouts wait, want 10", slots.Waiting)
	}
}

// testSettlementRace checks that one of two processes makes a settlement.
func testSettlementRace(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, nil)
	finalAcceptance(t, db, slots, contributor(0), "key")
	missions, err := db.MissionsToSettle(context.Background(), slots.Token, db.clock().Add(time.Hour), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range missions {
		if m.DraftID != slots.DraftID {
			continue
		}
		for i, want := range []error{nil, ErrConflict} {
			err := db.Tx(context.Background(), func(tx *Tx) error { _, _, err := tx.StartSettlement(m, slots.Token, 50); return err })
			if !errors.Is(err, want) {
				t.Errorf("settlement %d of what was read once: %v, want %v", i+1, err, want)
			}
		}
		return
	}
	t.Errorf("missions to settle: %v, want %s among them", missions, slots.DraftID)
}

// testClosing closes a mission when its last payout is paid, and never before.
func testClosing(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, func(s *Slots) { s.Target = 1 })
	draft, err := db.DraftByDraftID(context.Background(), slots.DraftID)
	if err != nil {
		t.Fatal(err)
	}
	fund(t, db, draft)
	final := finalAcceptance(t, db, slots, contributor(0), "key")
	closing := func(when string, want bool) {
		t.Helper()
		list, err := db.SlotsToClose(context.Background(), db.clock(), 1000)
		listed := false
		for _, id := range list {
			listed = listed || id == slots.DraftID
		}
		if err != nil || listed != want {
			t.Errorf("%s: listed to be closed: %t, %v; want %t", when, listed, err, want)
		}
		var started bool
		mustTx(t, db, func(tx *Tx) (err error) { started, err = tx.StartClosing(slots.DraftID); return err })
		if started != want {
			t.Errorf("%s: closing: %t, want %t", when, started, want)
		}
	}
	payout, err := db.PayoutOf(context.Background(), final.ID)
	if err != nil {
		t.Fatal(err)
	}
	closing("queued", false)
	mustTx(t, db, func(tx *Tx) error { return tx.FailPayout(payout, "why") })
	closing("failed", false)
	mustTx(t, db, func(tx *Tx) error { return tx.RetryPayout(payout) })
	paid := payment(draft, final, 9)
	mustTx(t, db, func(tx *Tx) error {
		_, err := tx.NotePayments(slots.DraftID, []PaymentNote{{Slot: 0, Block: 9, Transaction: paid.Transaction}})
		return err
	})
	closing("in a block that may vanish", false)
	list, err := db.PayoutsToFinalize(context.Background(), 8, onchain.Place{}, 1000)
	if err != nil || len(list) != 0 {
		t.Errorf("payouts of final blocks: %v, %v; want none up to block 8", list, err)
	}
	if list, err = db.PayoutsToFinalize(context.Background(), 9, onchain.Place{}, 1000); err != nil || len(list) == 0 {
		t.Fatalf("payouts of final blocks: %v, %v; want one", list, err)
	}
	mustTx(t, db, func(tx *Tx) error { _, err := tx.FinalizePayouts(slots.DraftID, list); return err })
	closing("paid", true)
	closing("paid, and closing", false)
	mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(slots.DraftID, true) })
	mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(slots.DraftID, false) })
	closing("the close was taken back", true)
	if slots := mustSlots(t, db, slots.DraftID); slots.Unpaid() != 0 || slots.Paid != 1 || !slots.Closing {
		t.Errorf("the mission is %+v, want 1 paid, none unpaid, closing", slots)
	}
	if _, err := move(db, final, sortie.SubmissionRejected); !errors.Is(err, ErrConflict) {
		t.Errorf("a final acceptance was rejected: %v, want %v", err, ErrConflict)
	}
}
