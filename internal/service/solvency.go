package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	// solvencyRetry is the interval after a check that could not be completed.
	solvencyRetry = 15 * time.Second
	// solvencyTimeout is longer than a check of very many missions takes.
	solvencyTimeout = 30 * time.Minute
)

// checkBooks compares the books with the chain at each interval, while this process holds the
// lease.
func (w *chainWork) checkBooks(ctx context.Context, interval time.Duration) error {
	return w.whileLeased(ctx, fmt.Sprintf("solvency:%d", w.chainID), &w.checking, func(ctx context.Context, _ store.Lease) error {
		wait := w.untilNextCheck(ctx, interval)
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
			wait = w.checkBooksOnce(ctx, interval)
		}
	})
}

// untilNextCheck returns the time until the next check: another process may have checked recently.
func (w *chainWork) untilNextCheck(ctx context.Context, interval time.Duration) time.Duration {
	last, err := w.ledger.LastBooks(ctx)
	if err != nil || last.CheckedAt == nil || !last.Agrees {
		return 0
	}
	at, err := time.Parse(time.RFC3339, *last.CheckedAt)
	if err != nil {
		return 0
	}
	return min(max(time.Until(at.Add(interval)), 0), interval)
}

// checkBooksOnce compares the books once and returns the time until the next check.
func (w *chainWork) checkBooksOnce(ctx context.Context, interval time.Duration) time.Duration {
	checking, cancel := context.WithTimeout(ctx, solvencyTimeout)
	defer cancel()
	report, err := w.ledger.CheckBooks(checking)
	switch {
	case errors.Is(err, store.ErrNotFound): // no block was followed yet
		return min(interval, time.Second)
	case err != nil && ctx.Err() == nil:
		w.log.Warn("the books could not be compared with the chain; retrying", "error", err)
		return min(interval, solvencyRetry)
	case report.Problem != "":
		w.log.Warn("not all books could be compared with the chain; retrying", "problem", report.Problem)
		return min(interval, solvencyRetry)
	case report.Status == sortie.SolvencyMismatch:
		w.log.Error("the books do not agree with the chain", "mismatches", report.MismatchCount)
	}
	return interval
}
