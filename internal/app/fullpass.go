package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// A block that was followed without a part of its events may hold a funding of any unfunded draft.
// A full pass finds it: it compares all of those drafts with the contract, page by page over as
// many runs as it takes. No unfunded draft is removed before the pass is complete. The pass is
// sound because
//
//   - it begins in the transaction that reports the block, which commits before the position moves
//     past the block;
//   - a page counts only when it was compared as of the block or a later one, and in the order of
//     the drafts, so that the pages of two processes leave no gap;
//   - a mission that the contract holds and that could not be adopted makes the pass flawed. The
//     pass is repeated then.
//
// A later block begins a new pass, and so does an operator who clears the incident.
type fullPass struct {
	Number int64  `json:"number"` // grows with each pass
	Block  uint64 `json:"block"`  // the newest that was set aside
	Since  int64  `json:"since"`  // time of the oldest that was set aside, in Unix seconds
	After  int64  `json:"after"`  // the draft up to which all were compared
	Flawed bool   `json:"flawed"` // a mission could not be adopted
	Done   bool   `json:"done"`
}

func passSetting(chainID uint64) string { return fmt.Sprintf("reconcile-full-pass:%d", chainID) }

// SetAside records that a block is followed without a part of its events. All unfunded drafts are
// compared with the contract soon.
func (l *Ledger) SetAside(ctx context.Context, chainID uint64, block onchain.Block, detail string) error {
	return l.write(ctx, func(tx *writeTx) error {
		if err := tx.incident(onchain.IncidentEventsSetAside, false, "%s", detail); err != nil {
			return err
		}
		return tx.beginPass(chainID, block.Number, block.Time)
	})
}

// beginPass begins a full pass for a block in place of a running one, and queues a comparison.
// Block 0 repeats the last pass.
func (tx *writeTx) beginPass(chainID, block uint64, at time.Time) error {
	err := tx.changePass(chainID, func(pass *fullPass) bool {
		since := at.Unix()
		if pass.Number > 0 && (!pass.Done || block == 0) {
			since = min(since, pass.Since)
		}
		*pass = fullPass{Number: pass.Number + 1, Block: max(block, pass.Block), Since: since}
		return true
	})
	if err != nil {
		return err
	}
	return tx.queueReconcile()
}

func (tx *writeTx) queueReconcile() error {
	if err := tx.core.queue.Reconcile(tx.Tx); err != nil && !errors.Is(err, errNoQueue) {
		return fmt.Errorf("queue a reconcile: %w", err)
	}
	return nil
}

// changePass changes the record of the full pass, unless change returns false. The row is locked
// for the transaction.
func (tx *writeTx) changePass(chainID uint64, change func(*fullPass) bool) error {
	name := passSetting(chainID)
	if err := tx.PutSetting(name+":lock", []byte("1")); err != nil { // the row stays locked until the transaction ends
		return err
	}
	stored, err := tx.Setting(name, []byte(`{"done":true}`))
	if err != nil {
		return err
	}
	var pass fullPass
	if err := json.Unmarshal(stored, &pass); err != nil {
		return fmt.Errorf("read the full pass: %w", err)
	}
	if !change(&pass) {
		return nil
	}
	encoded, err := json.Marshal(pass)
	if err != nil {
		return err
	}
	return tx.PutSetting(name, encoded)
}

// pendingPass reads the full pass that is not complete; its number is 0 when there is none.
func (c *core) pendingPass(ctx context.Context, chainID uint64) (pass fullPass, err error) {
	stored, err := c.store.LastSetting(ctx, passSetting(chainID))
	if errors.Is(err, store.ErrNotFound) {
		return fullPass{}, nil
	}
	if err == nil {
		err = json.Unmarshal(stored, &pass)
	}
	if err != nil {
		return fullPass{}, fmt.Errorf("read the full pass: %w", err)
	}
	if pass.Done {
		return fullPass{}, nil
	}
	return pass, nil
}

// PassPage lists the next drafts that a full pass compares. The page has pass 0 when no pass is
// running.
func (l *Ledger) PassPage(ctx context.Context, chainID uint64, limit int) (onchain.PassPage, error) {
	pass, err := l.pendingPass(ctx, chainID)
	if err != nil || pass.Number == 0 {
		return onchain.PassPage{}, err
	}
	quotedSince := pass.Since - int64(maxAuthorization/time.Second)
	drafts, err := l.store.FundableDrafts(ctx, chainID, quotedSince, pass.After, limit)
	if err != nil {
		return onchain.PassPage{}, fmt.Errorf("list the drafts of the full pass: %w", err)
	}
	page := onchain.PassPage{Pass: pass.Number, Block: pass.Block, After: pass.After, Last: pass.After, End: len(drafts) < limit}
	for _, draft := range drafts {
		page.Missions = append(page.Missions, onchain.Expected{Terms: draft.Terms()})
		page.Last = draft.Seq
	}
	return page, nil
}

// PassCompared records that a page of a full pass was compared as of a block that its PassPage
// allows. Settled means that every mission on it was adopted. More reports whether the next page
// can be compared at once: not when the pass is complete, must be repeated, or was advanced by
// another process.
func (l *Ledger) PassCompared(ctx context.Context, chainID uint64, page onchain.PassPage, settled bool) (more bool, err error) {
	err = l.write(ctx, func(tx *writeTx) error {
		return tx.changePass(chainID, func(pass *fullPass) bool {
			more = false
			if pass.Done || pass.Number != page.Pass || pass.After != page.After {
				return false
			}
			pass.After = page.Last
			pass.Flawed = pass.Flawed || !settled
			switch {
			case !page.End:
				more = true
			case pass.Flawed:
				pass.After, pass.Flawed = 0, false
			default:
				pass.Done = true
			}
			return true
		})
	})
	if err != nil {
		return false, fmt.Errorf("store the progress of the full pass: %w", err)
	}
	return more, nil
}

// ContinueReconcile queues the next comparison of a full pass that is not complete.
func (l *Ledger) ContinueReconcile(ctx context.Context) error {
	return l.write(ctx, func(tx *writeTx) error { return tx.queueReconcile() })
}
