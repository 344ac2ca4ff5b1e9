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

// Who decided or acted when it was no person.
const (
	actorAuto    = "auto"    // the service was told to approve everything
	actorReclaim = "reclaim" // the creator took the money back before anybody decided
	actorChain   = "chain"   // the contract says so
	actorExpiry  = "expiry"  // the mission could not be published in time
)

// maxTries is how often a transaction is run that lost a race for a draft. Whoever won is done by
// then.
const maxTries = 5

// write runs a transaction, again when somebody else changed what it had read. Whatever it changes,
// it reads in fn.
func (c *core) write(ctx context.Context, fn func(*books) error) error {
	for try := 1; ; try++ {
		var written *books
		err := c.store.Tx(ctx, func(tx *store.Tx) error {
			written = &books{core: c, tx: tx, byID: make(map[string]*account), byKey: make(map[sortie.Hash]*account)}
			if err := fn(written); err != nil {
				return err
			}
			return written.close()
		})
		var lost lostRace
		if !errors.Is(err, store.ErrConflict) || errors.As(err, &lost) || try == maxTries {
			if err == nil {
				c.outcomes.add(written.outcomes)
				c.limits.crossed.Add(written.crossed)
				c.steps.add(written.steps)
			}
			return err
		}
	}
}

// lostRace is a conflict that the caller must see, because running again would not help.
type lostRace struct{ error }

func (l lostRace) Unwrap() error { return l.error }

// books are the drafts that one transaction moves. They make sure of what every move has in common:
// it is a transition of package mission, it has one event that tells of it, a refund that becomes
// due by it has a job, and contributors are let in and kept out by it.
//
// Moves are written when the books are closed, all at once: a range of the chain moves many drafts,
// some of them repeatedly.
type books struct {
	core   *core
	tx     *store.Tx
	byID   map[string]*account      // draft ids and mission ids
	byKey  map[sortie.Hash]*account // the contract's names of missions
	order  []*account               // in which they were opened
	events []store.DraftEvent       // that tell of the moves, in their order

	outcomes []Outcome // of submissions, to be counted when they are durable
	crossed  uint64    // acceptances above an operator's limit, likewise
	steps    []PayoutStep
}

// account is a draft and its place on the chain.
type account struct {
	draft   store.Draft      // as it is after the moves
	read    store.Draft      // as it was before them
	funding *onchain.Funding // nil while none is on the canonical chain
	wasDue  bool             // a refund was due before the transaction
	wasOpen bool             // contributors were let in before it
}

// open reads the account of a draft, by its draft id or mission id, of any wallet. It fails with
// [store.ErrNotFound].
func (b *books) open(id string) (*account, error) {
	if known := b.byID[id]; known != nil {
		return known, nil
	}
	find := b.tx.DraftByMissionID
	if mission.ValidDraftID(id) {
		find = b.tx.DraftByDraftID
	}
	draft, err := find(id)
	if err != nil {
		return nil, err
	}
	opened := &account{draft: draft, read: draft}
	funding, err := b.tx.FundingOf(draft.ID)
	switch {
	case err == nil:
		opened.funding = &funding
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	opened.wasDue, opened.wasOpen = opened.due(), opened.open()
	b.byID[draft.ID], b.byID[draft.MissionID], b.byKey[sortie.MissionKey(draft.MissionID)] = opened, opened, opened
	b.order = append(b.order, opened)
	return opened, nil
}

// openByKey reads the account whose funding the contract knows by this key, or fails with
// [store.ErrNotFound].
func (b *books) openByKey(key sortie.Hash) (*account, error) {
	if known := b.byKey[key]; known != nil {
		return known, nil
	}
	funding, err := b.tx.FundingByKey(key)
	if err != nil {
		return nil, err
	}
	return b.open(funding.DraftID)
}

// hold keeps the chain from moving until the end of the transaction. A move changes fundings and
// closings without touching their drafts; whoever decides by both must not see one before it and
// the other after it.
func (b *books) hold() error { return b.tx.HoldChain(b.core.domain.ChainID) }

func (c *account) due() bool {
	return c.funding != nil && c.draft.State.RefundDue(c.funding.Closed != nil)
}

// close writes the moves, and what follows from them. Slots come before wallets, as everywhere:
// whoever accepts a submission takes them in that order, too.
func (b *books) close() error {
	if err := b.moveSlots(); err != nil {
		return err
	}
	var moves []store.DraftMove
	for _, touched := range b.order {
		if steps := touched.draft.Version - touched.read.Version; steps > 0 {
			to := store.Transition{
				State: touched.draft.State, QuoteDeadline: touched.draft.QuoteDeadline, PublishBy: touched.draft.PublishBy,
			}
			moves = append(moves, store.DraftMove{Draft: touched.read, To: to, Steps: steps})
		}
	}
	if err := b.tx.TransitionDrafts(moves, b.events); err != nil {
		return err
	}
	return b.queueRefunds()
}

// queueRefunds makes the jobs for the refunds that became due. Only the end of the transaction
// counts: within a reorganization a close may go and come back.
func (b *books) queueRefunds() error {
	for _, touched := range b.order {
		if touched.due() && !touched.wasDue {
			if err := b.core.queue.Refund(b.tx, touched.draft.ID); err != nil {
				return fmt.Errorf("queue the refund of draft %s: %w", touched.draft.ID, err)
			}
		}
	}
	return nil
}

// move applies an event to a draft. An event that changes nothing is not told. It fails with
// wrong_state where the event is not allowed.
func (b *books) move(c *account, event mission.Event, facts eventFacts) error {
	next, err := mission.Apply(c.draft.State, event)
	if err != nil || next == c.draft.State {
		return err
	}
	facts.DraftID, facts.MissionID = c.draft.ID, c.draft.MissionID
	data, err := json.Marshal(facts)
	if err != nil {
		return fmt.Errorf("encode event %s of draft %s: %w", event, c.draft.ID, err)
	}
	if c.draft.PublishBy, err = b.publishBy(c, next); err != nil {
		return err
	}
	c.draft.QuoteDeadline = b.core.quoteDeadline(c.draft, next, b.tx.Now)
	c.draft.State, c.draft.UpdatedAt = next, b.tx.Now
	c.draft.Version++
	b.events = append(b.events, store.DraftEvent{
		Wallet: c.draft.Wallet, DraftID: c.draft.ID, NewEvent: store.NewEvent{Type: string(event.Type(next)), Data: data},
	})
	return nil
}

// quoteDeadline is the deadline that a draft's quote keeps in its next state; 0 where it is live.
// It is frozen once: a draft that goes from one state without a live quote to another keeps the
// quote that its creator has seen.
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

// decide records a decision and moves the draft by it.
func (b *books) decide(c *account, event mission.Event, actor, reason string) error {
	facts := fundingFacts(c.funding)
	facts.Reason = reason
	if err := b.move(c, event, facts); err != nil {
		return err
	}
	decision := c.draft.State.Decision
	review := store.Review{DraftID: c.draft.ID, Decision: decision, Operator: actor, Reason: reason}
	if err := b.tx.AddReview(review); err != nil {
		return err
	}
	return b.audit(actor, "mission."+string(decision), c.draft.ID, map[string]any{"missionId": c.draft.MissionID, "reason": reason})
}

func (b *books) audit(actor, action, subject string, detail map[string]any) error {
	return b.note(store.AuditEntry{Actor: actor, Action: action, Subject: subject}, detail)
}

func (b *books) note(entry store.AuditEntry, detail map[string]any) (err error) {
	if entry.Detail, err = json.Marshal(detail); err != nil {
		return fmt.Errorf("encode audit of %s: %w", entry.Action, err)
	}
	return b.tx.AddAudit(entry)
}

// Order is a signed request of an operator. Whoever recorded it and sends it again changes nothing
// by it.
type Order struct {
	Operator sortie.Address
	Request  sortie.Hash // what was signed
}

// carryOut does what an order says and notes it, unless it was done before.
func (b *books) carryOut(order Order, action, subject string, do func() (detail map[string]any, err error)) error {
	done, err := b.tx.Audited(order.Request)
	if err != nil || done {
		return err
	}
	detail, err := do()
	if err != nil || detail == nil {
		return err
	}
	return b.note(store.AuditEntry{Actor: order.Operator.String(), Action: action, Subject: subject, Request: order.Request}, detail)
}

// incident opens an incident, unless the same one is open.
func (b *books) incident(kind string, halting bool, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	opened, err := b.tx.OpenIncident(store.Incident{Kind: kind, Halting: halting, Detail: detail})
	if err == nil && opened {
		b.core.log.Error("incident", "kind", kind, "halting", halting, "detail", detail)
	}
	return err
}

// eventFacts is the data of an event. Every event has the ids; the rest as far as it knows.
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
