package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// Book is the stored state of the money of one funded mission, as of a block.
type Book struct {
	Seq                            int64 // of the draft; for a closed book, its number among the closed ones
	DraftID, MissionID             string
	MissionKey                     sortie.Hash
	Creator, Factory, TokenAddress sortie.Address
	Token                          sortie.Token
	Reward                         *big.Int
	Target                         int64
	Closed                         *BookClosing // nil while the mission was open
	Slots                          *BookSlots   // nil for a mission that was never published
	Payouts                        []BookPayouts
	Rolled                         *BookSums // for a closed book: what was added to the totals
	Faults                         []string  // values that are not amounts, addresses or hashes
}

// BookClosing is how a mission ended.
type BookClosing struct {
	Block          uint64
	Reason         uint8
	Refund         *big.Int
	RefundDeferred bool
}

// BookSlots are the counters of a published mission.
type BookSlots struct {
	Token                                   sortie.Token
	Target                                  int64
	Finals, Waiting, Paid, Deferred, Failed int64
	Completed                               bool
}

// BookPayouts is a group of payouts of a mission with the same status and place.
type BookPayouts struct {
	Status   sortie.PayoutStatus
	Token    sortie.Token
	Amount   *big.Int
	Carried  bool // by a settlement
	Placed   bool // a block paid or deferred them
	Counted  bool // that block is not after the block of the book
	Credited bool // the block deferred them
	Number   int64
	LastSlot int64
}

// BookSums are the sums of missions whose money has left the contract, in base units.
type BookSums struct{ Funded, Paid, Deferred, Refunded *big.Int }

// BookPage is a page of books. Block and Final are read with them: the hash of the followed chain
// at the block of the books, zero if it has none, and the newest final block. They are zero if
// there are no books.
type BookPage struct {
	Books []Book
	Block sortie.Hash
	Final uint64
}

// BookTotal is the sum of the closed books of a vault.
type BookTotal struct {
	onchain.Vault
	Missions int64
	BookSums
}

// OpenBooks reads up to limit books that are not closed, as of a block, of the drafts after one, in
// the order of their ids. One statement reads them, so they are consistent.
func (db *DB) OpenBooks(ctx context.Context, chainID, block uint64, afterID string, limit int) (BookPage, error) {
	return db.books(ctx, selectOpenBooks, int64(chainID), int64(block), limit, afterID)
}

// ClosedBooks reads up to limit closed books, as of a block, after a number.
func (db *DB) ClosedBooks(ctx context.Context, chainID, block uint64, afterSeq int64, limit int) (BookPage, error) {
	return db.books(ctx, selectClosedBooks, int64(chainID), int64(block), limit, afterSeq)
}

// NewestBooks reads up to limit books, closed or not, as of a block, newest drafts first, before
// the draft with a number; 0: from the newest.
func (db *DB) NewestBooks(ctx context.Context, chainID, block uint64, beforeSeq int64, limit int) (BookPage, error) {
	if beforeSeq == 0 {
		return db.books(ctx, selectNewestBooks, int64(chainID), int64(block), limit)
	}
	return db.books(ctx, selectNewestBooksBefore, int64(chainID), int64(block), limit, beforeSeq)
}

func (db *DB) books(ctx context.Context, query string, args ...any) (BookPage, error) {
	return read(ctx, db, func(r reader) (page BookPage, err error) {
		err = r.each(query, args, func(row scanner) error { return page.scan(row) })
		if err != nil {
			return BookPage{}, fmt.Errorf("read books: %w", err)
		}
		return page, nil
	})
}

// scan adds a row of bookColumns: a mission with one group of its payouts.
func (page *BookPage) scan(row scanner) error {
	var r bookRow
	if err := row.Scan(r.destinations()...); err != nil {
		return err
	}
	if err := parseOptionalHash(&page.Block, r.blockHash); err != nil {
		return err
	}
	page.Final = uint64(r.final.Int64)
	last := len(page.Books) - 1
	if last < 0 || page.Books[last].DraftID != r.draftID {
		page.Books = append(page.Books, r.book())
		last++
	}
	if r.status.Valid {
		book := &page.Books[last]
		book.Payouts = append(book.Payouts, BookPayouts{
			Status: sortie.PayoutStatus(r.status.String), Token: sortie.Token(r.payoutToken.String), Amount: book.amount("a payout's amount", r.amount.String),
			Carried: r.carried.Bool, Placed: r.placed.Bool, Counted: r.counted.Bool, Credited: r.credited.Bool, Number: r.number.Int64, LastSlot: r.lastSlot.Int64,
		})
	}
	return nil
}

// bookRow holds the values of a row of bookColumns.
type bookRow struct {
	seq                                                    int64
	draftID, missionID, missionKey, creator, factory       string
	tokenAddress, token, reward                            string
	target                                                 int64
	closedBlock, closedReason                              sql.NullInt64
	refund                                                 sql.NullString
	refundDeferred                                         sql.NullBool
	slotsToken                                             sql.NullString
	slotsTarget, finals, waiting, paid, deferred, failed   sql.NullInt64
	completed                                              sql.NullBool
	rolledFunded, rolledPaid, rolledDeferred, rolledRefund sql.NullString
	status, payoutToken, amount                            sql.NullString
	carried, placed, counted, credited                     sql.NullBool
	number, lastSlot                                       sql.NullInt64
	blockHash                                              sql.NullString
	final                                                  sql.NullInt64
}

func (r *bookRow) destinations() []any {
	return []any{
		&r.seq, &r.draftID, &r.missionID, &r.missionKey, &r.creator, &r.factory, &r.tokenAddress, &r.token, &r.reward, &r.target,
		&r.closedBlock, &r.closedReason, &r.refund, &r.refundDeferred,
		&r.slotsToken, &r.slotsTarget, &r.finals, &r.waiting, &r.paid, &r.deferred, &r.failed, &r.completed,
		&r.rolledFunded, &r.rolledPaid, &r.rolledDeferred, &r.rolledRefund,
		&r.status, &r.payoutToken, &r.amount, &r.carried, &r.placed, &r.counted, &r.credited, &r.number, &r.lastSlot, &r.blockHash, &r.final,
	}
}

// book returns the mission of the row. An unreadable value is a fault of the book and does not
// prevent reading others.
func (r *bookRow) book() Book {
	book := Book{Seq: r.seq, DraftID: r.draftID, MissionID: r.missionID, Token: sortie.Token(r.token), Target: r.target}
	err := errors.Join(parse(&book.MissionKey, r.missionKey, sortie.ParseHash), parse(&book.Creator, r.creator, sortie.ParseAddress),
		parse(&book.Factory, r.factory, sortie.ParseAddress), parse(&book.TokenAddress, r.tokenAddress, sortie.ParseAddress))
	if err != nil {
		book.Faults = append(book.Faults, err.Error())
	}
	book.Reward = book.amount("the reward", r.reward)
	if r.closedBlock.Valid {
		book.Closed = &BookClosing{
			Block: uint64(r.closedBlock.Int64), Reason: uint8(r.closedReason.Int64), Refund: book.amount("the refund", r.refund.String), RefundDeferred: r.refundDeferred.Bool,
		}
	}
	if r.slotsTarget.Valid {
		book.Slots = &BookSlots{
			Token: sortie.Token(r.slotsToken.String), Target: r.slotsTarget.Int64, Finals: r.finals.Int64, Waiting: r.waiting.Int64, Paid: r.paid.Int64,
			Deferred: r.deferred.Int64, Failed: r.failed.Int64, Completed: r.completed.Bool,
		}
	}
	if r.rolledFunded.Valid {
		book.Rolled = &BookSums{
			Funded: book.amount("the closed sum of funding", r.rolledFunded.String), Paid: book.amount("the closed sum of payments", r.rolledPaid.String),
			Deferred: book.amount("the closed sum of credits", r.rolledDeferred.String), Refunded: book.amount("the closed refund", r.rolledRefund.String),
		}
	}
	return book
}

// amount reads an amount of the book. It returns 0 and adds a fault if the text is not an amount.
func (b *Book) amount(what, text string) *big.Int {
	value, err := parseInteger(text)
	if err != nil || value.Sign() < 0 {
		b.Faults = append(b.Faults, fmt.Sprintf("%s is %.40q", what, text))
		return new(big.Int)
	}
	return value
}

// FollowedHash reads the hash of the followed chain at a block, or fails with [ErrNotFound].
func (db *DB) FollowedHash(ctx context.Context, chainID, block uint64) (hash sortie.Hash, err error) {
	return read(ctx, db, func(r reader) (hash sortie.Hash, err error) {
		var text string
		err = r.one(selectFollowedHash, []any{int64(chainID), int64(block)}, func(row scanner) error { return row.Scan(&text) })
		if err == nil {
			err = parse(&hash, text, sortie.ParseHash)
		}
		if err != nil {
			return sortie.Hash{}, fmt.Errorf("read the hash of block %d: %w", block, err)
		}
		return hash, nil
	})
}

// CloseBooks adds books to the totals of their vaults, each once, and returns how many were added.
// A book whose mission was reopened since is left out.
func (tx *Tx) CloseBooks(chainID uint64, books []Book, sums []BookSums) (closed int, err error) {
	type key struct{ factory, token sortie.Address }
	added := make(map[key]*BookTotal)
	var order []key
	for i, book := range books {
		changed, err := tx.exec(closeBook, book.DraftID, int64(book.Closed.Block))
		if err != nil {
			return 0, fmt.Errorf("close the book of %s: %w", book.DraftID, err)
		}
		if changed == 0 {
			continue
		}
		sum := sums[i]
		_, err = tx.exec(insertClosedBook, book.DraftID, int64(chainID), hexAddress(book.Factory), string(book.Token), hexAddress(book.TokenAddress),
			sum.Funded.String(), sum.Paid.String(), sum.Deferred.String(), sum.Refunded.String(), tx.Now.UnixMicro())
		if err != nil {
			return 0, fmt.Errorf("close the book of %s: %w", book.DraftID, err)
		}
		at := key{book.Factory, book.TokenAddress}
		if added[at] == nil {
			added[at] = &BookTotal{Vault: onchain.Vault{Factory: book.Factory, TokenAddress: book.TokenAddress, Token: book.Token}, BookSums: zeroSums()}
			order = append(order, at)
		}
		added[at].Missions++
		added[at].add(sum, 1)
		closed++
	}
	for _, at := range order {
		if err := tx.addToTotal(chainID, *added[at]); err != nil {
			return 0, err
		}
	}
	return closed, nil
}

func zeroSums() BookSums {
	return BookSums{Funded: new(big.Int), Paid: new(big.Int), Deferred: new(big.Int), Refunded: new(big.Int)}
}

func (s *BookSums) add(other BookSums, sign int64) {
	for _, pair := range [][2]*big.Int{{s.Funded, other.Funded}, {s.Paid, other.Paid}, {s.Deferred, other.Deferred}, {s.Refunded, other.Refunded}} {
		pair[0].Add(pair[0], new(big.Int).Mul(pair[1], big.NewInt(sign)))
	}
}

// addToTotal adds to the total of a vault. The first statement locks the row until the transaction
// ends.
func (tx *Tx) addToTotal(chainID uint64, add BookTotal) error {
	place := []any{int64(chainID), hexAddress(add.Factory), hexAddress(add.TokenAddress)}
	if _, err := tx.exec(holdTotal, append(place, string(add.Token))...); err != nil {
		return fmt.Errorf("hold the total of %s: %w", add.Token, err)
	}
	var total BookTotal
	err := tx.one(selectTotal, place, func(row scanner) (err error) {
		total, err = scanTotal(row)
		return err
	})
	if err == nil {
		total.Missions += add.Missions
		total.add(add.BookSums, 1)
		_, err = tx.exec(updateTotal, append(place, total.Missions, total.Funded.String(), total.Paid.String(), total.Deferred.String(), total.Refunded.String())...)
	}
	if err != nil {
		return fmt.Errorf("add to the total of %s: %w", add.Token, err)
	}
	return nil
}

// reopenBook removes a closed book from the totals: a reorganization of final blocks reverted the
// closing of its mission.
func (tx *Tx) reopenBook(draftID string) error {
	var total BookTotal
	var chainID int64
	err := tx.one(selectClosedBook, []any{draftID}, func(row scanner) (err error) {
		total, err = scanTotal(joined{row: row, more: []any{&chainID}})
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		_, err = tx.exec(deleteClosedBook, draftID)
	}
	if err == nil {
		_, err = tx.exec(reopenBook, draftID)
	}
	if err != nil {
		return fmt.Errorf("reopen the book of %s: %w", draftID, err)
	}
	sum := zeroSums()
	sum.add(total.BookSums, -1)
	total.Missions, total.BookSums = -1, sum
	return tx.addToTotal(uint64(chainID), total)
}

// BookTotals reads the sums of the closed books of a chain.
func (db *DB) BookTotals(ctx context.Context, chainID uint64) ([]BookTotal, error) {
	return read(ctx, db, func(r reader) (totals []BookTotal, err error) {
		err = r.each(selectTotals, []any{int64(chainID)}, func(row scanner) error {
			total, err := scanTotal(row)
			totals = append(totals, total)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the totals of closed books: %w", err)
		}
		return totals, nil
	})
}

// scanTotal reads a row of totalColumns.
func scanTotal(row scanner) (total BookTotal, err error) {
	var factory, address, funded, paid, deferred, refunded string
	err = row.Scan(&factory, (*string)(&total.Token), &address, &total.Missions, &funded, &paid, &deferred, &refunded)
	if err != nil {
		return BookTotal{}, err
	}
	err = errors.Join(parse(&total.Factory, factory, sortie.ParseAddress), parse(&total.TokenAddress, address, sortie.ParseAddress),
		parse(&total.Funded, funded, parseInteger), parse(&total.Paid, paid, parseInteger),
		parse(&total.Deferred, deferred, parseInteger), parse(&total.Refunded, refunded, parseInteger))
	if err != nil {
		return BookTotal{}, fmt.Errorf("total of %s: %w", total.Token, err)
	}
	return total, nil
}

// The books are a list of drafts, the page, joined with everything that is known about
// their money. The groups of payouts come from the same statement, so the counters of a mission and
// its payouts are of the same moment. CROSS JOIN keeps SQLite from reading all payouts.
const (
	bookColumns = `page.place, drafts.draft_id, drafts.mission_id, fundings.mission_key, drafts.wallet, drafts.factory_address, drafts.token_address,
	drafts.token, drafts.reward, drafts.target_count,
	CASE WHEN closed_block <= $2 THEN closed_block END, closed_reason, refund, refund_deferred,
	mission_slots.token, mission_slots.target_count, finals, waiting, mission_slots.paid, mission_slots.deferred, failed, completed_at IS NOT NULL,
	closed_books.funded, closed_books.paid, closed_books.deferred, closed_books.refunded,
	alike.status, alike.token, alike.amount, alike.carried, alike.placed, alike.counted, alike.credited, alike.number, alike.last_slot,
	(SELECT hash FROM chain_blocks WHERE chain_blocks.chain_id = $1 AND chain_blocks.number = $2),
	(SELECT final FROM chain_position WHERE chain_position.chain_id = $1)`

	bookTables = ` FROM page JOIN fundings ON fundings.draft_id = page.draft_id JOIN drafts ON drafts.draft_id = page.draft_id
LEFT JOIN mission_slots ON mission_slots.draft_id = page.draft_id LEFT JOIN closed_books ON closed_books.draft_id = page.draft_id
LEFT JOIN (SELECT payouts.draft_id, status, token, amount, settlement_id IS NOT NULL AS carried, block_number IS NOT NULL AS placed,
		block_number IS NOT NULL AND block_number <= $2 AS counted, credited, COUNT(*) AS number, MAX(slot) AS last_slot
	FROM page CROSS JOIN payouts WHERE payouts.draft_id = page.draft_id
	GROUP BY payouts.draft_id, status, token, amount, settlement_id IS NOT NULL, block_number IS NOT NULL,
		block_number IS NOT NULL AND block_number <= $2, credited) AS alike ON alike.draft_id = page.draft_id
ORDER BY `

	// PostgreSQL must know for every parameter that a page is small: otherwise it reads all
	// payouts. No page is larger than this.
	pageBegin = `WITH page AS MATERIALIZED (SELECT draft_id, place FROM (SELECT `
	pageEnd   = ` LIMIT 128) AS most LIMIT $3 + 0)
SELECT ` + bookColumns + bookTables

	// A funding that is not final may be forged by one node, and would appear as a mismatch: the
	// books leave it out.
	isLocked          = `EXISTS (SELECT 1 FROM drafts WHERE drafts.draft_id = fundings.draft_id AND depth = 'locked')`
	selectNewestBooks = pageBegin + `draft_id, (SELECT seq FROM drafts WHERE drafts.draft_id = fundings.draft_id) AS place FROM fundings
	WHERE chain_id = $1 AND block_number <= $2 AND ` + isLocked + ` ORDER BY draft_id DESC` + pageEnd + `page.draft_id DESC`
	selectNewestBooksBefore = pageBegin + `draft_id, (SELECT seq FROM drafts WHERE drafts.draft_id = fundings.draft_id) AS place FROM fundings
	WHERE chain_id = $1 AND block_number <= $2 AND draft_id < (SELECT draft_id FROM drafts WHERE chain_id = $1 AND seq = $4)
	AND ` + isLocked + ` ORDER BY draft_id DESC` + pageEnd + `page.draft_id DESC`

	selectFollowedHash = `SELECT hash FROM chain_blocks WHERE chain_id = $1 AND number = $2`

	closeBook        = `UPDATE fundings SET books_closed = TRUE WHERE draft_id = $1 AND closed_block = $2 AND NOT books_closed`
	reopenBook       = `UPDATE fundings SET books_closed = FALSE WHERE draft_id = $1`
	insertClosedBook = `INSERT INTO closed_books (draft_id, chain_id, factory, token, token_address, funded, paid, deferred, refunded, closed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	deleteClosedBook = `DELETE FROM closed_books WHERE draft_id = $1`
	selectClosedBook = `SELECT factory, token, token_address, 1, funded, paid, deferred, refunded, chain_id FROM closed_books WHERE draft_id = $1`

	totalColumns = `factory, token, token_address, missions, funded, paid, deferred, refunded`
	holdTotal    = `INSERT INTO book_totals (chain_id, factory, token_address, token, missions, funded, paid, deferred, refunded)
VALUES ($1, $2, $3, $4, 0, '0', '0', '0', '0')
ON CONFLICT (chain_id, factory, token_address) DO UPDATE SET missions = book_totals.missions`
	selectTotal = `SELECT ` + totalColumns + ` FROM book_totals WHERE chain_id = $1 AND factory = $2 AND token_address = $3`
	updateTotal = `UPDATE book_totals SET missions = $4, funded = $5, paid = $6, deferred = $7, refunded = $8
WHERE chain_id = $1 AND factory = $2 AND token_address = $3`
	selectTotals = `SELECT ` + totalColumns + ` FROM book_totals WHERE chain_id = $1 ORDER BY factory, token_address`
)

var (
	selectOpenBooks = preparedRead(pageBegin + `draft_id, 0 AS place FROM fundings
	WHERE chain_id = $1 AND NOT books_closed AND draft_id > $4 AND block_number <= $2 AND ` + isLocked + ` ORDER BY draft_id` + pageEnd + `page.draft_id`)
	selectClosedBooks = preparedRead(pageBegin + `draft_id, seq AS place FROM closed_books
	WHERE chain_id = $1 AND seq > $4 ORDER BY seq` + pageEnd + `page.place`)
)
