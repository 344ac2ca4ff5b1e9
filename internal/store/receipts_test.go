package store

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
)

// finalIn is a final acceptance to a mission, read again.
func finalIn(t testing.TB, db *DB, slots Slots, wallet sortie.Address) Submission {
	t.Helper()
	accepted := mustMove(t, db, mustUpload(t, db, mustDeclare(t, db, slots, wallet, "key")), sortie.SubmissionAccepted)
	final, err := takeSlot(db, accepted)
	if err != nil {
		t.Fatal(err)
	}
	return final
}

// payment is the event that pays the slot of a submission.
func payment(draft Draft, of Submission, block uint64) *onchain.Event {
	return &onchain.Event{
		Block: block, BlockHash: drawHash(), Transaction: drawHash(), Factory: draft.Factory, Kind: onchain.EventSubmissionPaid,
		MissionKey: sortie.MissionKey(draft.MissionID),
		Payment: &onchain.Payment{
			SubmissionKey: sortie.SubmissionKey(of.ID), Recipient: of.Contributor, Slot: uint64(*of.Slot), Amount: big.NewInt(5),
		},
	}
}

func testOpenReceipts(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	slots := publish(t, db, nil)
	draft, err := db.DraftByDraftID(ctx, slots.DraftID)
	if err != nil {
		t.Fatal(err)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.AddFunding(drawFunding(draft, 7)) })
	var all []Submission
	for i := range 3 {
		final := finalIn(t, db, slots, contributor(i))
		mustTx(t, db, func(tx *Tx) error { return tx.PutReceipt(final, json.RawMessage(`{}`), alice) })
		if final, err = db.Submission(ctx, final.ID); err != nil {
			t.Fatal(err)
		}
		if final.Signer != alice || final.Mission.Reclaim == nil || final.Mission.Reclaim.Unix() != 1_790_000_000 {
			t.Errorf("read signer %s and reclaim %v, want %s and 1790000000", final.Signer, final.Mission.Reclaim, alice)
		}
		all = append(all, final)
	}
	slices.SortFunc(all, func(a, b Submission) int { return strings.Compare(a.ID, b.ID) })
	check := func(signer sortie.Address, after string, want ...Submission) {
		t.Helper()
		got, err := db.OpenReceipts(ctx, signer, after, 100)
		if err != nil || !slices.Equal(submissionIDs(got), submissionIDs(want)) {
			t.Errorf("open receipts of %s after %q: %v, %v; want %v", signer, after, submissionIDs(got), err, submissionIDs(want))
		}
	}
	check(alice, "", all...)
	check(alice, all[0].ID, all[1:]...)
	check(bob, "")

	paid := payment(draft, all[0], 9)
	note := func(draftID string) {
		t.Helper()
		mustTx(t, db, func(tx *Tx) error {
			_, err := tx.NotePayments(draftID, []PaymentNote{{Slot: paid.Payment.Slot, Block: paid.Block, Transaction: paid.Transaction}})
			return err
		})
	}
	note("draft_other")
	check(alice, "", all...) // another mission's slot
	note(draft.ID)
	check(alice, "", all[1:]...)
	renew := func(was Submission) error {
		return db.Tx(ctx, func(tx *Tx) error { return tx.RenewReceipt(was, json.RawMessage(`{"signature":"0x01"}`), bob) })
	}
	if err := renew(all[0]); !errors.Is(err, ErrConflict) {
		t.Errorf("renew the receipt of a paid slot: %v, want %v", err, ErrConflict)
	}
	again := payment(draft, all[0], 8)
	mustTx(t, db, func(tx *Tx) error { return tx.RemovePayment(draft.ChainID, again) })
	check(alice, "", all[1:]...) // block 8 was removed, and block 9 still pays
	elsewhere := *paid
	elsewhere.Factory = bob
	mustTx(t, db, func(tx *Tx) error { return tx.RemovePayment(draft.ChainID, &elsewhere) })
	check(alice, "", all[1:]...) // another contract's slot
	mustTx(t, db, func(tx *Tx) error { return tx.RemovePayment(draft.ChainID, paid) })
	check(alice, "", all...)

	if err := renew(all[1]); err != nil {
		t.Errorf("renew: %v", err)
	}
	if err := renew(all[1]); !errors.Is(err, ErrConflict) {
		t.Errorf("renew what was renewed since: %v, want %v", err, ErrConflict)
	}
	check(alice, "", all[0], all[2])
	renewed, err := db.Submission(ctx, all[1].ID)
	if err != nil || renewed.Signer != bob || string(renewed.Receipt) != `{"signature":"0x01"}` {
		t.Errorf("renewed: signer %s, receipt %s, %v; want %s", renewed.Signer, renewed.Receipt, err, bob)
	}
}

// A database from before payments were noted learns of them from the events that it kept.
func testPaymentsBeforeTheMigration(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, nil)
	draft, err := db.DraftByDraftID(context.Background(), slots.DraftID)
	if err != nil {
		t.Fatal(err)
	}
	paid, unpaid := finalIn(t, db, slots, contributor(1)), finalIn(t, db, slots, contributor(2))
	mustTx(t, db, func(tx *Tx) error {
		if err := tx.AddFunding(drawFunding(draft, 7)); err != nil {
			return err
		}
		return tx.AddEvents(draft.ChainID, []onchain.Event{*payment(draft, paid, 9)})
	})
	migrations, err := loadMigrations(db.Stats().Engine)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(migrations, func(m migration) bool { return strings.HasSuffix(m.name, "_receipts") })
	ran := 0
	for _, statement := range migrations[at].statements {
		if strings.HasPrefix(statement, "UPDATE submissions SET paid_block") {
			mustTx(t, db, func(tx *Tx) error { _, err := tx.exec(statement); return err })
			ran++
		}
	}
	if ran != 1 {
		t.Fatalf("%d statements of %s fill paid_block, want 1", ran, migrations[at].name)
	}
	for _, want := range []struct {
		of    Submission
		block int64
	}{{paid, 9}, {unpaid, 0}} {
		if got := count(t, db, "SELECT COALESCE(paid_block, 0) FROM submissions WHERE submission_id = $1", want.of.ID); got != want.block {
			t.Errorf("slot %d was paid in block %d, want %d", *want.of.Slot, got, want.block)
		}
	}
}

// A database from before there were payouts gets one for each slot that was taken. A mission that
// was reclaimed before all of it was paid is completed again, so that what is left is set aside.
func testPayoutsBeforeTheMigration(t *testing.T, url string) {
	db := open(t, url, Options{})
	type mission struct {
		slots          Slots
		paid, deferred Submission
	}
	logs := uint64(0)
	prepare := func(closed, unpaid bool) (m mission) {
		m.slots = publish(t, db, nil)
		draft, err := db.DraftByDraftID(context.Background(), m.slots.DraftID)
		if err != nil {
			t.Fatal(err)
		}
		final := func(i int) Submission { return finalAcceptance(t, db, m.slots, contributor(i), "key-"+m.slots.DraftID) }
		m.paid, m.deferred = final(1), final(2)
		if unpaid {
			final(3)
		}
		fund(t, db, draft)
		pay, put := payment(draft, m.paid, 9), payment(draft, m.deferred, 9)
		pay.LogIndex, put.LogIndex, put.Kind = logs, logs+1, onchain.EventPayoutDeferred
		logs += 2
		mustTx(t, db, func(tx *Tx) error { return tx.AddEvents(draft.ChainID, []onchain.Event{*pay, *put}) })
		for _, statement := range []string{
			`UPDATE submissions SET paid_block = 9 WHERE slot < 2 AND draft_id = $1`, `DELETE FROM payouts WHERE draft_id = $1`,
			`UPDATE mission_slots SET waiting = 0, waiting_since = NULL, token = '', completed_at = 5 WHERE draft_id = $1`,
		} {
			mustTx(t, db, func(tx *Tx) error { _, err := tx.exec(statement, m.slots.DraftID); return err })
		}
		if closed {
			mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(m.slots.DraftID, true) })
		}
		return m
	}
	open, reclaimed, over := prepare(false, true), prepare(true, true), prepare(true, false)
	migrations, err := loadMigrations(db.Stats().Engine)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(migrations, func(m migration) bool { return strings.HasSuffix(m.name, "_payouts") })
	ran := 0
	for _, statement := range migrations[at].statements {
		if strings.Contains(statement, "INSERT INTO payouts") || strings.Contains(statement, "UPDATE payouts") || strings.Contains(statement, "UPDATE mission_slots") {
			mustTx(t, db, func(tx *Tx) error { _, err := tx.exec(statement); return err })
			ran++
		}
	}
	if ran != 5 {
		t.Fatalf("%d statements of %s change rows, want 5", ran, migrations[at].name)
	}
	for name, want := range map[string]struct {
		mission
		waiting  int
		complete bool
	}{"open": {open, 1, false}, "reclaimed": {reclaimed, 1, false}, "over": {over, 0, true}} {
		slots, err := db.SlotsOf(context.Background(), want.slots.DraftID)
		if err != nil || slots.Waiting != want.waiting || (slots.CompletedAt != nil) != want.complete || slots.Token != want.paid.Mission.Token {
			t.Errorf("%s: %d payouts wait, complete %v, token %q, %v; want %d, %t, %q", name, slots.Waiting, slots.CompletedAt, slots.Token, err,
				want.waiting, want.complete, want.paid.Mission.Token)
		}
		for _, of := range []Submission{want.paid, want.deferred} {
			payout, err := db.PayoutOf(context.Background(), of.ID)
			if isPut := of.ID == want.deferred.ID; err != nil || payout.Status != sortie.PayoutSent || payout.Block != 9 || payout.Credited != isPut ||
				payout.Transaction == (sortie.Hash{}) || payout.Recipient != of.Contributor {
				t.Errorf("%s: slot %d is %+v, %v; want it in block 9, credited %t", name, *of.Slot, payout, err, isPut)
			}
		}
	}
}

func testSettlers(t *testing.T, url string) {
	clock := new(fixedClock)
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	for _, address := range []sortie.Address{bob, alice, bob} {
		mustTx(t, db, func(tx *Tx) error { return tx.AddSettler(address) })
		clock.micros.Add(1_000_000)
	}
	settlers, err := db.Settlers(context.Background())
	want := []Settler{{bob, time.Unix(1_790_000_000, 0).UTC()}, {alice, time.Unix(1_790_000_001, 0).UTC()}}
	if err != nil || !slices.Equal(settlers, want) {
		t.Errorf("settlers %v, %v; want %v", settlers, err, want)
	}
}

// What an operator accepts is summed over an hour, by token, exactly, also for concurrent requests.
func testOperatorHours(t *testing.T, url string) {
	clock := new(fixedClock)
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	large, _ := new(big.Int).SetString("1000000000000000000000000", 10) // a million tokens of 18 decimals
	add := func(token sortie.Token, amount *big.Int) (sum *big.Int, err error) {
		err = db.Tx(context.Background(), func(tx *Tx) error {
			hour, err := tx.HoldOperatorHour(alice, token)
			if err != nil {
				return err
			}
			sum = hour.Sum()
			return tx.AddAccepted(hour, amount)
		})
		return sum, err
	}
	check := func(name string, token sortie.Token, want *big.Int) {
		t.Helper()
		sum, err := add(token, new(big.Int))
		if err != nil || sum.Cmp(want) != 0 {
			t.Errorf("%s: the sum is %s, %v; want %s", name, sum, err, want)
		}
	}
	const callers = 20
	mustAll(t, together(callers, func(int) error { _, err := add(sortie.TokenService, large); return err }))
	half := new(big.Int).Mul(large, big.NewInt(callers))
	check("together", sortie.TokenService, half)
	check("another token", sortie.TokenUSDC, new(big.Int))
	clock.micros.Add((30 * time.Minute).Microseconds())
	mustAll(t, together(callers, func(int) error { _, err := add(sortie.TokenService, large); return err }))
	check("half an hour later", sortie.TokenService, new(big.Int).Add(half, half))
	clock.micros.Add((30 * time.Minute).Microseconds())
	check("an hour after the first", sortie.TokenService, half)
	clock.micros.Add((30 * time.Minute).Microseconds())
	check("an hour after the last", sortie.TokenService, new(big.Int))
	if size := count(t, db, "SELECT MAX(LENGTH(minutes)) FROM operator_hours"); size > 4096 {
		t.Errorf("the row has %d characters, want a bounded number", size)
	}
}

// An endorsement ends with every move, and only what waits for a person can be endorsed.
func testEndorsement(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	slots := publish(t, db, nil)
	flagged := mustMove(t, db, mustUpload(t, db, mustDeclare(t, db, slots, bob, "key")), sortie.SubmissionFlagged)
	endorse := func(was Submission) error {
		return db.Tx(ctx, func(tx *Tx) error { return tx.Endorse(was, alice.String()) })
	}
	if err := endorse(flagged); err != nil {
		t.Fatal(err)
	}
	if err := endorse(flagged); !errors.Is(err, ErrConflict) {
		t.Errorf("endorse another version: %v, want %v", err, ErrConflict)
	}
	endorsed, err := db.Submission(ctx, flagged.ID)
	if err != nil || endorsed.EndorsedBy != alice.String() {
		t.Fatalf("endorsed by %q, %v; want %s", endorsed.EndorsedBy, err, alice)
	}
	accepted := mustMove(t, db, endorsed, sortie.SubmissionCurationAccepted)
	checkStored(t, db, accepted)
	if accepted.EndorsedBy != "" || !mission.HoldsSlot(accepted.Status) {
		t.Errorf("after the move: endorsed by %q, %s; want an acceptance without an endorsement", accepted.EndorsedBy, accepted.Status)
	}
	if err := endorse(accepted); !errors.Is(err, ErrConflict) {
		t.Errorf("endorse an acceptance: %v, want %v", err, ErrConflict)
	}
}
