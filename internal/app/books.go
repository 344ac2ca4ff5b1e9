package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// ContractBooks reads the state of contracts after one block. A quorum of nodes answers.
type ContractBooks interface {
	MissionsAt(ctx context.Context, block sortie.Hash, keys []onchain.MissionRef) ([]onchain.ContractMission, error)
	BalancesAt(ctx context.Context, block sortie.Hash, vaults []onchain.Vault) ([]*big.Int, error)
	CreditsAt(ctx context.Context, block sortie.Hash, holders []onchain.CreditHolder) ([]*big.Int, error)
}

const (
	bookPageSize = 100

	// Each check compares a part of the closed books again, so that its cost does not depend on how
	// many there are.
	recheckedBooks   = 500
	recheckedPayouts = 100_000

	// A node may not have the newest block yet.
	contractTries = 5
	contractWait  = 2 * time.Second

	maxRestarts      = 5   // of a check whose block a reorganization removed
	maxMismatches    = 100 // that a report lists
	maxBookIncidents = 20  // that a check opens
)

// incidentBooksMismatch halts: the sums in the database and in the contract differ.
const incidentBooksMismatch = "books_mismatch"

// solvency is the configuration of the comparison of the books.
type solvency struct {
	contract ContractBooks // nil: the books are not compared
	interval time.Duration
	retryIn  time.Duration
	page     int // missions in one call to the contract
	recheck  int // closed books that a check compares again
}

// errBlockReplaced means that a reorganization removed the block of the comparison.
var errBlockReplaced = errors.New("the block of the comparison was reorganized away")

// CheckBooks compares the money of all missions in the database with the contracts, and stores the
// outcome for [Operators.Solvency]. A mismatch opens an incident that halts.
//
// Both sides are read as of one block, the newest that was followed. Rows are read as they were
// after that block: every payment, funding and closing has its block, and the statement that reads
// the rows detects a reorganization that removes the block. The contract is asked by the block's
// hash. So the follower cannot cause a mismatch by advancing.
//
// What could not be compared because nodes do not answer or contradict each other is not a
// mismatch; the report has it as a problem.
func (l *Ledger) CheckBooks(ctx context.Context) (sortie.SolvencyReport, error) {
	var check *bookCheck
	var found mismatches
	for restarts := 0; ; restarts++ {
		position, err := l.store.ChainPosition(ctx, l.domain.ChainID)
		if err != nil {
			return sortie.SolvencyReport{}, fmt.Errorf("check the books: %w", err)
		}
		check = &bookCheck{ledger: l, block: position.Tip, tries: contractTries, found: &found, vaults: make(map[vaultKey]*vaultBooks)}
		err = check.run(ctx)
		if err == nil {
			break
		}
		if errors.Is(err, errBlockReplaced) && restarts < maxRestarts {
			continue
		}
		if ctx.Err() != nil {
			return sortie.SolvencyReport{}, fmt.Errorf("check the books: %w", err)
		}
		check.problem = err.Error()
		break
	}
	report := check.report()
	if err := l.recordBooks(ctx, &report, found.list); err != nil {
		return sortie.SolvencyReport{}, fmt.Errorf("record the check of the books: %w", err)
	}
	return report, nil
}

// mismatches counts mismatches and keeps the first ones. The same mismatch counts once, also when a
// check restarts.
type mismatches struct {
	seen map[sortie.BookMismatch]bool
	list []sortie.BookMismatch
}

func (m *mismatches) add(found ...sortie.BookMismatch) {
	for _, one := range found {
		if m.seen == nil {
			m.seen = make(map[sortie.BookMismatch]bool)
		}
		if len(m.list) < maxMismatches && !m.seen[one] {
			m.seen[one] = true
			m.list = append(m.list, one)
		}
	}
}

// bookCheck is one comparison of all books, as of one block.
type bookCheck struct {
	ledger  *Ledger
	block   onchain.Block
	tries   int // of questions to the contract that may still fail
	checked int
	found   *mismatches
	vaults  map[vaultKey]*vaultBooks
	order   []*vaultBooks
	problem string // why not everything was compared
}

func (c *bookCheck) run(ctx context.Context) error {
	for _, part := range []func(context.Context) error{c.compareOpen, c.compareClosed, c.addTotals, c.compareVaults, c.notice} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compareOpen compares the missions whose money is in the contract, and closes the books of those
// whose money left it in a final block.
func (c *bookCheck) compareOpen(ctx context.Context) error {
	for after := ""; ; {
		page, err := c.ledger.store.OpenBooks(ctx, c.ledger.domain.ChainID, c.block.Number, after, c.ledger.solvency.page)
		if err != nil {
			return err
		}
		differing, err := c.compare(ctx, page)
		if err != nil {
			return err
		}
		var ended []store.Book
		var sums []store.BookSums
		for i := range page.Books {
			book := &page.Books[i]
			if !differing[book.DraftID] && hasEnded(book, page.Final) {
				ended = append(ended, *book)
				sums = append(sums, sumsOf(book).stored())
				continue
			}
			vault := c.vault(onchain.Vault{Factory: book.Factory, TokenAddress: book.TokenAddress, Token: book.Token})
			vault.open++
			vault.sums.add(sumsOf(book))
		}
		if err := c.keep(ctx, page.Books, ended, sums); err != nil {
			return err
		}
		if len(page.Books) < c.ledger.solvency.page {
			return nil
		}
		after = page.Books[len(page.Books)-1].DraftID
	}
}

// hasEnded reports whether a mission's money cannot change any more.
func hasEnded(book *store.Book, final uint64) bool {
	if book.Closed == nil || book.Closed.Block > final || book.Slots != nil && !book.Slots.Completed {
		return false
	}
	for _, payouts := range book.Payouts {
		if payouts.Status == sortie.PayoutQueued || payouts.Status == sortie.PayoutSent {
			return false
		}
	}
	return true
}

// compare compares a page of books with the contracts, and returns the drafts that differ.
func (c *bookCheck) compare(ctx context.Context, page store.BookPage) (differing map[string]bool, err error) {
	if len(page.Books) == 0 {
		return nil, nil
	}
	if page.Block != c.block.Hash {
		return nil, errBlockReplaced
	}
	keys := make([]onchain.MissionRef, len(page.Books))
	for i, book := range page.Books {
		keys[i] = onchain.MissionRef{Factory: book.Factory, MissionKey: book.MissionKey}
	}
	var missions []onchain.ContractMission
	err = c.ask(ctx, func() (err error) {
		missions, err = c.ledger.solvency.contract.MissionsAt(ctx, c.block.Hash, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	differing = make(map[string]bool)
	for i := range page.Books {
		found := compareBook(&page.Books[i], missions[i])
		differing[page.Books[i].DraftID] = len(found) > 0
		c.found.add(found...)
	}
	c.checked += len(page.Books)
	return differing, nil
}

// ask calls the contract, and retries while it fails. A reorganization may remove the block
// meanwhile.
func (c *bookCheck) ask(ctx context.Context, question func() error) error {
	for {
		err := question()
		if err == nil {
			return nil
		}
		if c.tries--; c.tries <= 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.ledger.solvency.retryIn):
		}
		if hash, readErr := c.ledger.store.FollowedHash(ctx, c.ledger.domain.ChainID, c.block.Number); errors.Is(readErr, store.ErrNotFound) || readErr == nil && hash != c.block.Hash {
			return errBlockReplaced
		}
	}
}

// keep stores which accounts may have a deferred credit because of missions, and closes the books
// of missions that have ended.
func (c *bookCheck) keep(ctx context.Context, books, ended []store.Book, sums []store.BookSums) error {
	var holders []onchain.CreditHolder
	for i := range books {
		of, err := c.creditsOf(ctx, &books[i])
		if err != nil {
			return err
		}
		holders = append(holders, of...)
	}
	if len(holders) == 0 && len(ended) == 0 {
		return nil
	}
	return c.ledger.store.Tx(ctx, func(tx *store.Tx) error {
		if err := tx.AddCreditHolders(c.ledger.domain.ChainID, holders); err != nil {
			return err
		}
		_, err := tx.CloseBooks(c.ledger.domain.ChainID, ended, sums)
		return err
	})
}

// creditsOf lists the accounts of a mission's deferred payouts and of its deferred refund.
func (c *bookCheck) creditsOf(ctx context.Context, book *store.Book) (holders []onchain.CreditHolder, err error) {
	holder := func(account sortie.Address) onchain.CreditHolder {
		return onchain.CreditHolder{Factory: book.Factory, TokenAddress: book.TokenAddress, Account: account}
	}
	if book.Closed != nil && book.Closed.RefundDeferred {
		holders = append(holders, holder(book.Creator))
	}
	credited := false
	for _, payouts := range book.Payouts {
		credited = credited || payouts.Credited
	}
	const limit = 1000
	for after := (sortie.Address{}); credited; {
		accounts, err := c.ledger.store.CreditedAccounts(ctx, book.DraftID, after, limit)
		if err != nil {
			return nil, err
		}
		for _, account := range accounts {
			holders = append(holders, holder(account))
			after = account
		}
		credited = len(accounts) == limit
	}
	return holders, nil
}

func closedPlace(chainID uint64) string { return fmt.Sprintf("solvency-closed-after:%d", chainID) }

// compareClosed compares a part of the closed books again. It begins where the last check ended,
// and at the first book after the last one.
func (c *bookCheck) compareClosed(ctx context.Context) error {
	name := closedPlace(c.ledger.domain.ChainID)
	begin := int64(0)
	stored, err := c.ledger.store.LastSetting(ctx, name)
	if err == nil {
		begin, err = strconv.ParseInt(string(stored), 10, 64)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	after, payouts, wrapped := begin, int64(0), false
	for books := 0; books < c.ledger.solvency.recheck && payouts < recheckedPayouts; {
		page, err := c.ledger.store.ClosedBooks(ctx, c.ledger.domain.ChainID, c.block.Number, after, c.ledger.solvency.page)
		if err != nil {
			return err
		}
		if _, err := c.compare(ctx, page); err != nil {
			return err
		}
		for _, book := range page.Books {
			after = book.Seq
			payouts += book.Target
		}
		books += len(page.Books)
		switch isLast := len(page.Books) < c.ledger.solvency.page; {
		case isLast && (wrapped || begin == 0):
			after, books = 0, c.ledger.solvency.recheck
		case isLast:
			after, wrapped = 0, true
		case wrapped && after >= begin:
			books = c.ledger.solvency.recheck // all of them
		}
	}
	if after == begin {
		return nil
	}
	return c.ledger.store.Tx(ctx, func(tx *store.Tx) error { return tx.PutSetting(name, strconv.AppendInt(nil, after, 10)) })
}

// notice reports why the books may be incomplete: a block that was followed without a part of its
// events may have funded missions that are not in the database. Unfunded drafts are being compared
// then; see [fullPass].
func (c *bookCheck) notice(ctx context.Context) error {
	pass, err := c.ledger.pendingPass(ctx, c.ledger.domain.ChainID)
	if err == nil && pass.Number > 0 {
		c.problem = fmt.Sprintf("events of block %d, or of one before it, were set aside, and not all drafts were compared with the contract since; see sortie chain status", pass.Block)
	}
	return err
}

func (c *bookCheck) report() sortie.SolvencyReport {
	report := sortie.SolvencyReport{
		Status: sortie.SolvencyAgrees, Problem: c.problem, BlockNumber: &c.block.Number, BlockHash: &c.block.Hash,
		IntervalSeconds: int64(c.ledger.solvency.interval / time.Second), MissionsChecked: c.checked, MismatchCount: len(c.found.list),
		Mismatches: c.found.list, Tokens: []sortie.TokenBooks{},
	}
	switch {
	case len(c.found.list) > 0:
		report.Status = sortie.SolvencyMismatch
	case c.problem != "":
		report.Status = sortie.SolvencyNotChecked
	}
	report.Agrees = report.Status == sortie.SolvencyAgrees
	if report.Mismatches == nil {
		report.Mismatches = []sortie.BookMismatch{}
	}
	for _, vault := range c.order {
		report.Tokens = append(report.Tokens, vault.wire(c.ledger.tokens[vault.Token].Decimals))
	}
	return report
}

func solvencySetting(chainID uint64) string { return fmt.Sprintf("solvency-report:%d", chainID) }

// recordBooks stores the outcome of a check, and opens an incident for each mismatch. Only an
// operator clears those.
func (l *Ledger) recordBooks(ctx context.Context, report *sortie.SolvencyReport, found []sortie.BookMismatch) error {
	before, err := l.lastBooks(ctx)
	if err != nil {
		return err
	}
	return l.write(ctx, func(tx *writeTx) error {
		at := sortie.FormatTime(tx.Now)
		report.CheckedAt, report.CompletedAt = &at, before.CompletedAt
		if report.Problem == "" {
			report.CompletedAt = &at
		}
		encoded, err := json.Marshal(report)
		if err != nil {
			return err
		}
		if err := tx.PutSetting(solvencySetting(l.domain.ChainID), encoded); err != nil {
			return err
		}
		for _, same := range aboutOne(found, maxBookIncidents) {
			if err := tx.incident(incidentBooksMismatch, true, "%s", mismatchInWords(same)); err != nil {
				return err
			}
		}
		if len(found) > 0 {
			return tx.queueReconcile() // it adopts events that were missed
		}
		return nil
	})
}

// aboutOne groups mismatches by mission or token, up to a number of groups.
func aboutOne(found []sortie.BookMismatch, most int) (groups [][]sortie.BookMismatch) {
	places := make(map[[3]string]int)
	for _, one := range found {
		subject := [3]string{one.DraftID, one.Factory.String(), string(one.Token)}
		at, known := places[subject]
		if !known {
			if at = len(groups); at == most {
				continue
			}
			places[subject] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], one)
	}
	return groups
}

// mismatchInWords describes the mismatches of one mission or token. The same mismatches give the
// same text, so that they are one incident.
func mismatchInWords(same []sortie.BookMismatch) string {
	one := same[0]
	subject := fmt.Sprintf("factory %s", one.Factory)
	if one.MissionID != "" {
		subject = fmt.Sprintf("mission %s (draft %s)", one.MissionID, one.DraftID)
	}
	what := make([]string, len(same))
	for i, each := range same {
		what[i] = fmt.Sprintf("%s: expected %s, found %s", each.What, each.Expected, each.Found)
	}
	return fmt.Sprintf("The books of %s in %s do not agree with the chain: %s. "+
		"Find out which side is wrong (sortie solvency), correct it, and only then clear this incident.", subject, one.Token, strings.Join(what, "; "))
}

// lastBooks reads the outcome of the last check. Before the first check it returns a report with
// the status not_checked.
func (c *core) lastBooks(ctx context.Context) (report sortie.SolvencyReport, err error) {
	stored, err := c.store.LastSetting(ctx, solvencySetting(c.domain.ChainID))
	if errors.Is(err, store.ErrNotFound) {
		return sortie.SolvencyReport{
			Status: sortie.SolvencyNotChecked, Problem: "the books were not compared with the chain yet", IntervalSeconds: int64(c.solvency.interval / time.Second),
			Mismatches: []sortie.BookMismatch{}, Tokens: []sortie.TokenBooks{},
		}, nil
	}
	if err == nil {
		err = json.Unmarshal(stored, &report)
	}
	if err != nil {
		return sortie.SolvencyReport{}, fmt.Errorf("read the last check of the books: %w", err)
	}
	return report, nil
}

// LastBooks returns the outcome of the last check of the books.
func (l *Ledger) LastBooks(ctx context.Context) (sortie.SolvencyReport, error) {
	return l.lastBooks(ctx)
}
