package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// Actors that are not a person.
const (
	actorAuto    = "auto"    // the service approves every funded mission
	actorReclaim = "reclaim" // the creator reclaimed the money before a decision
	actorChain   = "chain"   // follows from the contract's state
	actorExpiry  = "expiry"  // the mission could not be published in time
)

// maxTries is how often a transaction runs that conflicts with another one.
const maxTries = 5

// write runs fn in a transaction, and runs it again when another transaction changed what it had
// read. fn must read everything that it changes.
func (c *core) write(ctx context.Context, fn func(*writeTx) error) error {
	for try := 1; ; try++ {
		var tx *writeTx
		err := c.store.Tx(ctx, func(stored *store.Tx) error {
			tx = &writeTx{Tx: stored, core: c, byID: make(map[string]*draftState), byKey: make(map[sortie.Hash]*draftState)}
			if err := fn(tx); err != nil {
				return err
			}
			return tx.flush()
		})
		var lost lostRace
		if !errors.Is(err, store.ErrConflict) || errors.As(err, &lost) || try == maxTries {
			if err == nil {
				c.outcomes.add(tx.outcomes)
				c.limits.crossed.Add(tx.crossed)
				c.steps.add(tx.steps)
			}
			return err
		}
	}
}

// lostRace is a conflict that is returned to the caller: running the transaction again would not
// help.
type lostRace struct{ error }

func (l lostRace) Unwrap() error { return l.error }

// writeTx is a transaction that moves drafts. It keeps what every move has in common: the move is a
// transition of package mission, it adds one event, it queues a job for a refund that becomes due,
// and it opens or closes the mission to contributors.
//
// All moves are written at the end of the transaction: a range of blocks can move many drafts, and
// one draft several times.
type writeTx struct {
	*store.Tx
	core   *core
	byID   map[string]*draftState      // by draft id and by mission id
	byKey  map[sortie.Hash]*draftState // by the contract's mission key
	order  []*draftState               // of loading
	events []store.DraftEvent          // of the moves, in order

	outcomes []Outcome // of submissions, counted after the commit
	crossed  uint64    // acceptances above an operator's limit, counted after the commit
	steps    []PayoutStep
}

// draftState is a draft and its funding.
type draftState struct {
	draft   store.Draft      // after the moves
	read    store.Draft      // before the moves
	funding *onchain.Funding // nil while none is on the canonical chain
	wasDue  bool             // a refund was due before the transaction
	wasOpen bool             // the mission was open to contributors before the transaction
}

// load reads the state of a draft of any wallet, by its draft id or mission id. It fails with
// [store.ErrNotFound].
func (tx *writeTx) load(id string) (*draftState, error) {
	if known := tx.byID[id]; known != nil {
		return known, nil
	}
	find := tx.DraftByMissionID
	if mission.ValidDraftID(id) {
		find = tx.DraftByDraftID
	}
	draft, err := find(id)
	if err != nil {
		return nil, err
	}
	opened := &draftState{draft: draft, read: draft}
	funding, err := tx.FundingOf(draft.ID)
	switch {
	case err == nil:
		opened.funding = &funding
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	opened.wasDue, opened.wasOpen = opened.refundDue(), opened.isOpen()
	tx.byID[draft.ID], tx.byID[draft.MissionID], tx.byKey[sortie.MissionKey(draft.MissionID)] = opened, opened, opened
	tx.order = append(tx.order, opened)
	return opened, nil
}

// loadByKey reads the state of the draft whose funding has this mission key. It fails with
// [store.ErrNotFound].
func (tx *writeTx) loadByKey(key sortie.Hash) (*draftState, error) {
	if known := tx.byKey[key]; known != nil {
		return known, nil
	}
	funding, err := tx.FundingByKey(key)
	if err != nil {
		return nil, err
	}
	return tx.load(funding.DraftID)
}

// lockChain keeps the position of the chain until the end of the transaction. An advance changes
// fundings and closings without changing their drafts, so a decision that depends on both must take
// this lock.
func (tx *writeTx) lockChain() error { return tx.HoldChain(tx.core.domain.ChainID) }

func (d *draftState) refundDue() bool {
	return d.funding != nil && d.draft.State.RefundDue(d.funding.Closed != nil)
}

// flush writes the moves and what follows from them. Slots are written before wallets, in the same
// order as when a submission is accepted.
func (tx *writeTx) flush() error {
	if err := tx.moveSlots(); err != nil {
		return err
	}
	var moves []store.DraftMove
	for _, touched := range tx.order {
		if steps := touched.draft.Version - touched.read.Version; steps > 0 {
			to := store.Transition{
				State: touched.draft.State, QuoteDeadline: touched.draft.QuoteDeadline, PublishBy: touched.draft.PublishBy,
			}
			moves = append(moves, store.DraftMove{Draft: touched.read, To: to, Steps: steps})
		}
	}
	if err := tx.TransitionDrafts(moves, tx.events); err != nil {
		return err
	}
	return tx.queueRefunds()
}

// queueRefunds queues jobs for the refunds that became due. Only the state at the end of the
// transaction counts: a reorganization can remove a closing and add it again.
func (tx *writeTx) queueRefunds() error {
	for _, touched := range tx.order {
		if touched.refundDue() && !touched.wasDue {
			if err := tx.core.queue.Refund(tx.Tx, touched.draft.ID); err != nil {
				return fmt.Errorf("queue the refund of draft %s: %w", touched.draft.ID, err)
			}
		}
	}
	return nil
}

// move applies an event to a draft. It adds no event for a draft that does not change. It fails
// with wrong_state where the event is not allowed.
func (tx *writeTx) move(d *draftState, event mission.Event, facts eventFacts) error {
	next, err := mission.Apply(d.draft.State, event)
	if err != nil || next == d.draft.State {
		return err
	}
	facts.DraftID, facts.MissionID = d.draft.ID, d.draft.MissionID
	data, err := json.Marshal(facts)
	if err != nil {
		return fmt.Errorf("encode event %s of draft %s: %w", event, d.draft.ID, err)
	}
	if d.draft.PublishBy, err = tx.publishBy(d, next); err != nil {
		return err
	}
	d.draft.QuoteDeadline = tx.core.quoteDeadline(d.draft, next, tx.Now)
	d.draft.State, d.draft.UpdatedAt = next, tx.Now
	d.draft.Version++
	tx.events = append(tx.events, store.DraftEvent{
		Wallet: d.draft.Wallet, DraftID: d.draft.ID, NewEvent: store.NewEvent{Type: string(event.Type(next)), Data: data},
	})
	return nil
}

// quoteDeadline is the deadline that a draft's quote keeps in its next state; 0 where the quote is
// live. It is frozen once: a draft that moves between states without a live quote keeps the quote
// that its creator has seen.
func (c *core) quoteDeadline(draft store.Draft, next mission.State, now time.Time) uint64 {
	switch {
	case next.QuoteLive():
		return 0
	case draft.QuoteDeadline != 0:
		return draft.QuoteDeadline
	default:
		return c.liveDeadline(draft, now)
	}
}

// decide records a decision and moves the draft.
func (tx *writeTx) decide(d *draftState, event mission.Event, actor, reason string) error {
	facts := fundingFacts(d.funding)
	facts.Reason = reason
	if err := tx.move(d, event, facts); err != nil {
		return err
	}
	decision := d.draft.State.Decision
	review := store.Review{DraftID: d.draft.ID, Decision: decision, Operator: actor, Reason: reason}
	if err := tx.AddReview(review); err != nil {
		return err
	}
	return tx.audit(actor, "mission."+string(decision), d.draft.ID, map[string]any{"missionId": d.draft.MissionID, "reason": reason})
}

func (tx *writeTx) audit(actor, action, subject string, detail map[string]any) error {
	return tx.addAudit(store.AuditEntry{Actor: actor, Action: action, Subject: subject}, detail)
}

func (tx *writeTx) addAudit(entry store.AuditEntry, detail map[string]any) (err error) {
	if entry.Detail, err = json.Marshal(detail); err != nil {
		return fmt.Errorf("encode audit of %s: %w", entry.Action, err)
	}
	return tx.AddAudit(entry)
}

// Order is a signed request of an operator. The same order sent again changes nothing.
type Order struct {
	Operator sortie.Address
	Request  sortie.Hash // digest of the signed request
}

// applyOrder runs do and adds its detail to the audit log, unless the order was applied before.
func (tx *writeTx) applyOrder(order Order, action, subject string, do func() (detail map[string]any, err error)) error {
	done, err := tx.Audited(order.Request)
	if err != nil || done {
		return err
	}
	detail, err := do()
	if err != nil || detail == nil {
		return err
	}
	return tx.addAudit(store.AuditEntry{Actor: order.Operator.String(), Action: action, Subject: subject, Request: order.Request}, detail)
}

// incident opens an incident, unless the same incident is open.
func (tx *writeTx) incident(kind string, halting bool, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	opened, err := tx.OpenIncident(store.Incident{Kind: kind, Halting: halting, Detail: detail})
	if err == nil && opened {
		tx.core.log.Error("incident", "kind", kind, "halting", halting, "detail", detail)
	}
	return err
}

// eventFacts is the data of an event. Every event has the ids.
type eventFacts struct {
	DraftID         string       `json:"draftId"`
	MissionID       string       `json:"missionId"`
	TransactionHash *sortie.Hash `json:"transactionHash,omitempty"` // of the funding or the refund that the event is about
	BlockNumber     *uint64      `json:"blockNumber,omitempty"`
	Reason          string       `json:"reason,omitempty"`
	RefundBaseUnits string       `json:"refundBaseUnits,omitempty"`
	RefundDeferred  *bool        `json:"refundDeferred,omitempty"`
}

func fundingFacts(funding *onchain.Funding) eventFacts {
	if funding == nil {
		return eventFacts{}
	}
	return eventFacts{TransactionHash: &funding.Transaction, BlockNumber: &funding.Block}
}

func closingFacts(closing *onchain.Closing) eventFacts {
	return eventFacts{
		TransactionHash: &closing.Transaction, BlockNumber: &closing.Block,
		RefundBaseUnits: closing.Refund.String(), RefundDeferred: &closing.RefundDeferred,
	}
}
