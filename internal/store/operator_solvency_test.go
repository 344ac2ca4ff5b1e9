package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// bookOf reads the open book of a draft as of a block.
func bookOf(t testing.TB, db *DB, draft Draft, block uint64) (Book, BookPage) {
	t.Helper()
	page, err := db.OpenBooks(context.Background(), draft.NewDraft.ChainID, block, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, book := range page.Books {
		if book.DraftID == draft.ID {
			return book, page
		}
	}
	return Book{}, page
}

// paidIn sums the payouts up that a block up to the book's paid, and those that it deferred.
func (b Book) paidIn() (paid, deferred int64) {
	for _, payouts := range b.Payouts {
		switch {
		case payouts.Counted && payouts.Credited:
			deferred += payouts.Number
		case payouts.Counted:
			paid += payouts.Number
		}
	}
	return paid, deferred
}

// A book is as of a block: what later blocks did is not in it.
func testBooksAsOfABlock(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	slots := publish(t, db, nil)
	draft, err := db.DraftByDraftID(ctx, slots.DraftID)
	if err != nil {
		t.Fatal(err)
	}
	chainID := draft.NewDraft.ChainID
	tip := onchain.Block{Number: 20, Hash: drawHash()}
	mustTx(t, db, func(tx *Tx) error {
		return tx.StartChain(onchain.Position{ChainID: chainID, Start: 1, Tip: tip, Head: 20, Final: 10})
	})
	mustTx(t, db, func(tx *Tx) error { return tx.AddFunding(drawFunding(draft, 7)) })
	var notes []PaymentNote
	for i := range 3 {
		final := finalIn(t, db, slots, contributor(i))
		notes = append(notes, PaymentNote{Slot: uint64(*final.Slot), Block: uint64(11 + i), Transaction: drawHash(), Credited: i == 1})
	}
	finalIn(t, db, slots, contributor(3))
	mustTx(t, db, func(tx *Tx) error {
		_, err := tx.NotePayments(draft.ID, notes)
		return err
	})
	refund := big.NewInt(123)
	mustTx(t, db, func(tx *Tx) error {
		return tx.SetClosing(draft.ID, &onchain.Closing{Block: 15, BlockHash: drawHash(), Transaction: drawHash(), Reason: 2, Refund: refund, RefundDeferred: true})
	})
	for _, c := range []struct {
		block          uint64
		paid, deferred int64
		closed         bool
	}{{10, 0, 0, false}, {11, 1, 0, false}, {12, 1, 1, false}, {14, 2, 1, false}, {15, 2, 1, true}, {20, 2, 1, true}} {
		book, _ := bookOf(t, db, draft, c.block)
		paid, deferred := book.paidIn()
		if paid != c.paid || deferred != c.deferred || (book.Closed != nil) != c.closed {
			t.Errorf("as of block %d: %d paid, %d deferred, closed %t; want %d, %d, %t", c.block, paid, deferred, book.Closed != nil, c.paid, c.deferred, c.closed)
		}
	}
	if book, _ := bookOf(t, db, draft, 6); book.DraftID != "" {
		t.Errorf("as of a block before its funding there is the book %+v, want none", book)
	}
	book, page := bookOf(t, db, draft, 20)
	if page.Block != tip.Hash || page.Final != 10 || book.MissionKey != sortie.MissionKey(draft.MissionID) || book.Reward.Cmp(draft.Reward) != 0 || book.Target != int64(draft.TargetCount) {
		t.Errorf("book: got %+v of block %s, final %d; want what was written", book, page.Block, page.Final)
	}
	if c := book.Closed; c.Reason != 2 || c.Refund.Cmp(refund) != 0 || !c.RefundDeferred || c.Block != 15 {
		t.Errorf("closing of the book: got %+v, want what was written", c)
	}
	if s := book.Slots; s == nil || s.Finals != 4 || s.Waiting != 1 || s.Paid != 0 || s.Target != int64(slots.Target) {
		t.Errorf("read slots %+v, want 4 finals of which 1 waits", s)
	}
	accounts, err := db.CreditedAccounts(ctx, draft.ID, sortie.Address{}, 10)
	if err != nil || !slices.Equal(accounts, []sortie.Address{contributor(1)}) {
		t.Errorf("credited accounts %v, %v; want %s", accounts, err, contributor(1))
	}
	if hash, err := db.FollowedHash(ctx, chainID, 20); err != nil || hash != tip.Hash {
		t.Errorf("block 20 is %s, %v; want %s", hash, err, tip.Hash)
	}
	if _, err := db.FollowedHash(ctx, chainID, 21); !errors.Is(err, ErrNotFound) {
		t.Errorf("block 21: %v, want %v", err, ErrNotFound)
	}
}

// Closed books are in the totals once, in no open page, and out of the totals when their mission is
// reopened.
func testClosedBooks(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	const chainID = 31337
	var books []Book
	var sums []BookSums
	for i := range 3 {
		draft := mustApply(t, db, mustCreate(t, db, alice, key(i)), mission.FundingLocked)
		mustTx(t, db, func(tx *Tx) error { return tx.AddFunding(drawFunding(draft, 7)) })
		mustTx(t, db, func(tx *Tx) error {
			return tx.SetClosing(draft.ID, &onchain.Closing{Block: 9, BlockHash: drawHash(), Transaction: drawHash(), Reason: 2, Refund: big.NewInt(3)})
		})
		book, _ := bookOf(t, db, draft, 20)
		books = append(books, book)
		sums = append(sums, BookSums{Funded: big.NewInt(10), Paid: big.NewInt(5), Deferred: big.NewInt(2), Refunded: big.NewInt(3)})
	}
	closeAll := func() (closed int) {
		t.Helper()
		mustTx(t, db, func(tx *Tx) (err error) {
			closed, err = tx.CloseBooks(chainID, books, sums)
			return err
		})
		return closed
	}
	check := func(when string, missions int64, open int) {
		t.Helper()
		totals, err := db.BookTotals(ctx, chainID)
		if err != nil || len(totals) != 1 {
			t.Fatalf("%s: totals %+v, %v; want one", when, totals, err)
		}
		got := fmt.Sprintf("%d %s %s %s %s", totals[0].Missions, totals[0].Funded, totals[0].Paid, totals[0].Deferred, totals[0].Refunded)
		if want := fmt.Sprintf("%d %d %d %d %d", missions, 10*missions, 5*missions, 2*missions, 3*missions); got != want {
			t.Errorf("%s: totals %s, want %s", when, got, want)
		}
		page, err := db.OpenBooks(ctx, chainID, 20, "", 100)
		if err != nil || len(page.Books) != open {
			t.Errorf("%s: %d open books, %v; want %d", when, len(page.Books), err, open)
		}
	}
	if closed := closeAll(); closed != 3 {
		t.Errorf("closed %d books, want 3", closed)
	}
	if closed := closeAll(); closed != 0 {
		t.Errorf("closed %d books again, want 0", closed)
	}
	check("closed", 3, 0)
	first, err := db.ClosedBooks(ctx, chainID, 20, 0, 2)
	if err != nil || len(first.Books) != 2 || first.Books[0].Rolled == nil || first.Books[0].Rolled.Paid.Int64() != 5 {
		t.Fatalf("closed books %+v, %v; want two with their sums", first.Books, err)
	}
	rest, err := db.ClosedBooks(ctx, chainID, 20, first.Books[1].Seq, 2)
	if err != nil || len(rest.Books) != 1 {
		t.Errorf("the next page has %d books, %v; want 1", len(rest.Books), err)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.SetClosing(books[0].DraftID, nil) })
	check("one reopened", 2, 1)
	mustTx(t, db, func(tx *Tx) error { return tx.RemoveFunding(books[1].DraftID) })
	check("one without its funding", 1, 1)
	if closed := closeAll(); closed != 0 {
		t.Errorf("closed %d books whose missions are open, want 0", closed)
	}
	var seen []string
	for before := int64(0); ; {
		page, err := db.NewestBooks(ctx, chainID, 20, before, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Books) == 0 {
			break
		}
		before = page.Books[0].Seq
		seen = append(seen, page.Books[0].DraftID)
	}
	want := []string{books[0].DraftID, books[2].DraftID}
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(b, a) })
	if !slices.Equal(seen, want) {
		t.Errorf("newest first: %v, want %v", seen, want)
	}
}

// An account that may have a credit is remembered until a final block had none.
func testCreditHolders(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	const chainID = 31337
	mustTx(t, db, func(tx *Tx) error {
		return tx.StartChain(onchain.Position{ChainID: chainID, Start: 1, Tip: onchain.Block{Number: 20, Hash: drawHash()}, Head: 20, Final: 10})
	})
	holder := func(i int) onchain.CreditHolder {
		return onchain.CreditHolder{Factory: bob, TokenAddress: alice, Account: contributor(i)}
	}
	add := func() {
		mustTx(t, db, func(tx *Tx) error {
			return tx.AddCreditHolders(chainID, []onchain.CreditHolder{holder(0), holder(1), holder(2)})
		})
	}
	check := func(when string, want ...onchain.CreditHolder) {
		t.Helper()
		var got []onchain.CreditHolder
		for after := (onchain.CreditHolder{}); ; {
			page, err := db.CreditHolders(ctx, chainID, after, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			after = page[0]
			got = append(got, after)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: holders %v, want %v", when, got, want)
		}
	}
	add()
	add()
	check("added twice", holder(0), holder(1), holder(2))
	empty := holder(1)
	empty.Empty = true
	mustTx(t, db, func(tx *Tx) error { return tx.EmptyCreditHolders(chainID, 20, []onchain.CreditHolder{holder(1)}) })
	check("empty in a block that is not final", holder(0), empty, holder(2))
	mustTx(t, db, func(tx *Tx) error { return tx.FillCreditHolders(chainID, []onchain.CreditHolder{empty}) })
	check("filled again", holder(0), holder(1), holder(2))
	mustTx(t, db, func(tx *Tx) error { return tx.EmptyCreditHolders(chainID, 10, []onchain.CreditHolder{holder(1)}) })
	check("empty in a final block", holder(0), holder(2))
}

// A contributor's sums come from one index, whatever the amounts.
func testEarnings(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	slots := publish(t, db, nil)
	draft, err := db.DraftByDraftID(ctx, slots.DraftID)
	if err != nil {
		t.Fatal(err)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.AddFunding(drawFunding(draft, 7)) })
	final := finalIn(t, db, slots, contributor(0))
	for i := range 2 { // of other missions, with amounts that no integer of an engine holds
		mustTx(t, db, func(tx *Tx) error {
			_, err := tx.exec(insertPayout, fmt.Sprintf("sub_%d", i), slots.DraftID, int64(100+i), hexAddress(contributor(0)), string(sortie.TokenUSDC),
				"9223372036854775807000", int64(1000+i))
			return err
		})
	}
	earnings, err := db.EarningsOf(ctx, contributor(0))
	if err != nil || len(earnings) != 1 {
		t.Fatalf("earnings %+v, %v; want one", earnings, err)
	}
	want, _ := new(big.Int).SetString("18446744073709551614000", 10)
	want.Add(want, final.Mission.Reward)
	if e := earnings[0]; e.Number != 3 || e.Amount.Cmp(want) != 0 || e.Status != sortie.PayoutQueued || e.FirstAt.UnixMicro() != 1000 {
		t.Errorf("earnings %+v, want 3 payouts of %s since 1000", e, want)
	}
	if none, err := db.EarningsOf(ctx, bob); err != nil || len(none) != 0 {
		t.Errorf("earnings of another wallet %+v, %v; want none", none, err)
	}
}

// What a check, an answer for contributors and a ledger cost does not depend on how many missions
// and payouts there ever were.
func TestPlansOfBooks(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	for _, c := range []struct {
		name, query string
		args        []any
		ways        []string
	}{
		{"open books", selectOpenBooks, []any{1, 2, 3, ""}, []string{"fundings USING INDEX fundings_open_books (chain_id=? AND draft_id>?)", "payouts USING INDEX sqlite_autoindex_payouts_2 (draft_id=?)"}},
		{"closed books", selectClosedBooks, []any{1, 2, 3, 4}, []string{"closed_books USING INTEGER PRIMARY KEY (rowid>?)", "payouts USING INDEX sqlite_autoindex_payouts_2 (draft_id=?)"}},
		{"earnings", selectEarnings, []any{""}, []string{"payouts USING COVERING INDEX payouts_of_recipient (recipient=?)"}},
		{"payments", selectPaymentsOf, []any{"", 1, 2}, []string{"payouts USING INDEX sqlite_autoindex_payouts_2 (draft_id=? AND slot>?)"}},
		{"credited accounts", selectCredited, []any{"", "", 1}, []string{"payouts USING INDEX payouts_credited (draft_id=? AND recipient>?)"}},
	} {
		var steps []string
		err := query(db, "EXPLAIN QUERY PLAN "+c.query, c.args, func(row scanner) error {
			var id, parent, unused int
			var step string
			err := row.Scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		})
		if err != nil {
			t.Fatalf("plan of %s: %v", c.name, err)
		}
		plan := strings.Join(steps, "\n")
		for _, way := range c.ways {
			if !strings.Contains(plan, way) {
				t.Errorf("plan of %s: want %q in it, got\n%s", c.name, way, plan)
			}
		}
		for _, step := range steps {
			if strings.HasPrefix(step, "SCAN") && !strings.HasPrefix(step, "SCAN page") && !strings.HasPrefix(step, "SCAN most") {
				t.Errorf("plan of %s: got step %s, want no scan of a table", c.name, step)
			}
		}
	}
}

func TestPostgresPlansOfBooks(t *testing.T) {
	t.Parallel()
	run := postgresConsole(t)
	for _, statement := range usedDatabase {
		run(statement)
	}
	run(`UPDATE fundings SET books_closed = TRUE WHERE block_number % 100 > 1`)
	run(`INSERT INTO closed_books (draft_id, chain_id, factory, token, token_address, funded, paid, deferred, refunded, closed_at)
SELECT draft_id, 1, '', '', '', '1', '1', '0', '0', 0 FROM fundings WHERE books_closed`)
	for _, table := range []string{"fundings", "closed_books", "payouts", "drafts", "mission_slots"} {
		run("ANALYZE " + table)
	}
	for i, q := range []struct{ name, query, args string }{
		{"open books", selectOpenBooks, "1, 90000, 100, 'draft_1'"},
		{"closed books", selectClosedBooks, "1, 90000, 100, 7"},
		{"newest books", selectNewestBooks, "1, 90000, 101"},
		{"newest books before one", selectNewestBooksBefore, "1, 90000, 101, 7"},
		{"earnings", selectEarnings, "'by7'"},
		{"payments", selectPaymentsOf, "'draft_7', 1, 100"},
	} {
		run(fmt.Sprintf("PREPARE books%d AS %s", i, q.query))
		run("SET plan_cache_mode = force_generic_plan") // one for these values rightly reads all of tables as small as these
		plan := strings.Join(run(fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE books%d (%s)", i, q.args)), "; ")
		for _, table := range []string{"payouts", "drafts", "mission_slots", "fundings", "closed_books"} {
			if strings.Contains(plan, "Seq Scan on "+table) {
				t.Errorf("plan of %s: want no scan of %s, got %s", q.name, table, plan)
			}
		}
	}
}
