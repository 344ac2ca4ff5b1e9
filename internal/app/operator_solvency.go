package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// maxSolvencyPage is how many missions an answer compares. Each needs a call to every node.
const maxSolvencyPage = 100

// Solvency returns the last check of the books, and a page of missions, newest first, which are
// compared now.
//
// It fails with wallet_not_allowed and invalid_cursor.
func (o *Operators) Solvency(ctx context.Context, operator sortie.Address, page Page) (sortie.Solvency, error) {
	if err := o.admit(operator); err != nil {
		return sortie.Solvency{}, err
	}
	const list = "solvency"
	before, err := o.cursors.open(list, page.Cursor)
	if err != nil {
		return sortie.Solvency{}, err
	}
	answer := sortie.Solvency{OK: true, Missions: []sortie.MissionBooks{}, Summary: sortie.SolvencySummary{GeneratedAt: sortie.FormatTime(o.now())}}
	if answer.SolvencyReport, err = o.lastBooks(ctx); err != nil {
		return sortie.Solvency{}, storeError(err)
	}
	o.markStale(&answer.SolvencyReport)
	position, err := o.store.ChainPosition(ctx, o.domain.ChainID)
	if errors.Is(err, store.ErrNotFound) {
		return answer, nil
	}
	if err != nil {
		return sortie.Solvency{}, storeError(err)
	}
	limit := min(page.limit(), maxSolvencyPage)
	books, err := o.store.NewestBooks(ctx, o.domain.ChainID, position.Tip.Number, before, limit+1) // one more shows whether there is another page
	if err != nil {
		return sortie.Solvency{}, storeError(err)
	}
	if len(books.Books) > limit {
		books.Books = books.Books[:limit]
		cursor := o.cursors.seal(list, books.Books[limit-1].Seq)
		answer.Summary.NextCursor = &cursor
	}
	answer.Summary.ReturnedMissions, answer.Summary.BlockNumber = len(books.Books), &position.Tip.Number
	answer.Missions, answer.Summary.Problem = o.compareNow(ctx, position.Tip.Hash, books)
	return answer, nil
}

// markStale marks a report that is older than the interval between checks as not checked.
func (o *Operators) markStale(report *sortie.SolvencyReport) {
	if report.CheckedAt == nil || report.Status == sortie.SolvencyMismatch {
		return
	}
	at, err := time.Parse(time.RFC3339, *report.CheckedAt)
	late := 3*time.Duration(report.IntervalSeconds)*time.Second + time.Minute
	if err == nil && o.now().Sub(at) > late {
		report.Status, report.Agrees = sortie.SolvencyNotChecked, false
		report.Problem = fmt.Sprintf("no check has ended since %s; check that a process with the role worker runs, and its log", *report.CheckedAt)
	}
}

// compareNow compares a page of books with the contracts. Problem explains why it could not.
func (o *Operators) compareNow(ctx context.Context, block sortie.Hash, page store.BookPage) (shown []sortie.MissionBooks, problem string) {
	shown = make([]sortie.MissionBooks, len(page.Books))
	keys := make([]onchain.MissionRef, len(page.Books))
	for i := range page.Books {
		book := &page.Books[i]
		keys[i] = onchain.MissionRef{Factory: book.Factory, MissionKey: book.MissionKey}
		shown[i] = sortie.MissionBooks{
			MissionID: book.MissionID, DraftID: book.DraftID, Factory: book.Factory, MissionKey: book.MissionKey, Token: book.Token,
			Closed: book.Closed != nil, Database: sumsOf(book).wire(), Mismatches: []sortie.BookMismatch{},
		}
	}
	switch {
	case len(shown) == 0:
		return shown, ""
	case page.Block != block:
		return shown, "the chain was reorganized at this moment; ask again"
	case o.solvency.contract == nil:
		return shown, "this process asks no nodes"
	}
	missions, err := o.solvency.contract.MissionsAt(ctx, block, keys)
	if err != nil {
		o.log.Warn("the contract could not be asked for the books of missions", "error", err)
		return shown, "too few nodes answered, or they contradict each other; the log has the nodes"
	}
	for i := range shown {
		sums := contractSums(missions[i])
		shown[i].Chain = &sortie.ContractSums{
			FundedBaseUnits: sums.funded.String(), PaidAndDeferredBaseUnits: sums.paid.String(), RemainingBaseUnits: sums.remaining.String(), RefundedBaseUnits: sums.refunded.String(),
		}
		if found := compareBook(&page.Books[i], missions[i]); found != nil {
			shown[i].Mismatches = found
		}
		agrees := len(shown[i].Mismatches) == 0
		shown[i].Agrees = &agrees
	}
	return shown, ""
}
