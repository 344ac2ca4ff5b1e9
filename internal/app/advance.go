package app

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// The kinds of incidents that the ledger opens.
const (
	incidentFinalityBroken  = "finality_broken"  // halting: final blocks were replaced
	incidentFundingMismatch = "funding_mismatch" // a funding names a draft and differs from its quote
	incidentFundingRepeated = "funding_repeated" // a mission was funded twice, which the contract does not allow
	incidentUnexpectedClose = "unexpected_close" // halting: a mission was closed with a settler's signature that the service did not ask for

	incidentUnexpectedPayment = "unexpected_payment" // halting: a slot was paid with a settler's signature, and not to its contributor
)

// IncidentKinds lists the kinds of incidents that the use cases open, for metrics that start at 0.
var IncidentKinds = []string{
	incidentFinalityBroken, incidentFundingMismatch, incidentFundingRepeated, incidentUnexpectedClose, incidentUnexpectedPayment, incidentOperatorLimit,
	incidentPayoutFailed, incidentPayoutCap, incidentBooksMismatch,
}

// Position returns how far a chain was followed. It fails with [store.ErrNotFound] before the first
// block.
func (l *Ledger) Position(ctx context.Context, chainID uint64) (onchain.Position, error) {
	return l.store.ChainPosition(ctx, chainID)
}

// Begin stores the first position on a chain. It fails with [store.ErrConflict] when there is one.
func (l *Ledger) Begin(ctx context.Context, chainID uint64, start onchain.Block) error {
	return l.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.StartChain(onchain.Position{ChainID: chainID, Start: start.Number, Tip: start, Head: start.Number})
	})
}

// EarliestInterest is a time before which no event concerns the service: the creation of the oldest
// draft, or now.
func (l *Ledger) EarliestInterest(ctx context.Context) (time.Time, error) {
	oldest, err := l.store.OldestDraft(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return l.now(), nil
	}
	return oldest, err
}

// Tail reads the followed blocks below a number, newest first.
func (l *Ledger) Tail(ctx context.Context, chainID, below uint64, limit int) ([]onchain.Block, error) {
	return l.store.ChainBlocks(ctx, chainID, below, limit)
}

// Factories lists the contracts whose events count.
func (l *Ledger) Factories(ctx context.Context, chainID uint64) ([]sortie.Address, error) {
	return l.store.Factories(ctx, chainID)
}

// Advance moves the position on a chain in one transaction with everything that follows from it:
// events above After are undone, newest first, then the new events are applied in order.
//
// It fails with [store.ErrConflict], and changes nothing, when the position is not the one that the
// step begins at.
func (l *Ledger) Advance(ctx context.Context, step onchain.Advance) (onchain.Position, error) {
	if err := checkAdvance(step); err != nil {
		return onchain.Position{}, err
	}
	var moved onchain.Position
	err := l.write(ctx, func(tx *writeTx) (err error) {
		moved, err = tx.advance(step)
		return err
	})
	if err != nil {
		return onchain.Position{}, fmt.Errorf("advance to block %d: %w", newTip(step).Number, err)
	}
	return moved, nil
}

func newTip(step onchain.Advance) onchain.Block {
	if len(step.Blocks) == 0 {
		return step.After
	}
	return step.Blocks[len(step.Blocks)-1]
}

// checkAdvance refuses a step that contradicts itself.
func checkAdvance(step onchain.Advance) error {
	was, after, tip := step.Was, step.After, newTip(step)
	if step.ChainID != was.ChainID || after.Number > was.Tip.Number || after.Number == was.Tip.Number && after.Hash != was.Tip.Hash {
		return fmt.Errorf("advance: block %d is not on chain %d as it was followed to block %d", after.Number, was.ChainID, was.Tip.Number)
	}
	last := after.Number
	for _, block := range step.Blocks {
		if block.Number <= last {
			return fmt.Errorf("advance: block %d comes after block %d", block.Number, last)
		}
		last = block.Number
	}
	// Only followed blocks are final here, and the final block only advances, unless final blocks
	// were replaced.
	if step.Head < tip.Number || step.Final > tip.Number || step.Final < was.Final && after.Number >= was.Final {
		return fmt.Errorf("advance: tip %d, head %d and final %d do not go together, or with final %d before", tip.Number, step.Head, step.Final, was.Final)
	}
	return checkOrder(step.Events, after.Number, tip.Number)
}

// checkOrder refuses events that are not in the blocks after one up to another, each once and in
// the order of the chain.
func checkOrder(events []onchain.Event, after, upTo uint64) error {
	for i, event := range events {
		inside := event.Block > after && event.Block <= upTo
		if inside && i > 0 {
			previous := events[i-1]
			inside = event.Block > previous.Block || event.Block == previous.Block && event.LogIndex > previous.LogIndex
		}
		if !inside {
			return fmt.Errorf("advance: event %d of block %d is not the next one of the blocks from %d to %d", event.LogIndex, event.Block, after+1, upTo)
		}
	}
	return nil
}

func (tx *writeTx) advance(step onchain.Advance) (onchain.Position, error) {
	moved, err := tx.MoveChain(step.Was, newTip(step), step.Head, step.Final)
	if err != nil {
		return onchain.Position{}, lostRace{err} // another process follows the chain
	}
	if step.After.Number < step.Was.Tip.Number {
		if err := tx.takeBack(step); err != nil {
			return onchain.Position{}, err
		}
	}
	if err := tx.AddBlocks(step.ChainID, step.Blocks); err != nil {
		return onchain.Position{}, err
	}
	if err := tx.AddEvents(step.ChainID, step.Events); err != nil {
		return onchain.Position{}, err
	}
	for i := range step.Events {
		if err := tx.apply(step.ChainID, &step.Events[i]); err != nil {
			return onchain.Position{}, err
		}
	}
	if err := tx.applyPayments(step.ChainID, step.Events); err != nil {
		return onchain.Position{}, err
	}
	if step.Final > step.Was.Final && step.Final > onchain.KeptBlocks {
		err = tx.PruneBlocks(step.ChainID, step.Final-onchain.KeptBlocks)
	}
	return moved, err
}

// takeBack undoes the events above the common ancestor of the old chain and the new one.
func (tx *writeTx) takeBack(step onchain.Advance) error {
	if step.After.Number < step.Was.Final {
		err := tx.incident(incidentFinalityBroken, true,
			"The chain was reorganized from block %d down to block %d (%s), although block %d was final.",
			step.Was.Tip.Number, step.After.Number, step.After.Hash, step.Was.Final)
		if err != nil {
			return err
		}
	}
	removed, err := tx.RemoveBlocksAbove(step.ChainID, step.After.Number)
	if err != nil {
		return err
	}
	for i := range removed {
		if err := tx.undo(step.ChainID, &removed[i]); err != nil {
			return err
		}
	}
	return nil
}

// apply applies an event of the canonical chain.
func (tx *writeTx) apply(chainID uint64, event *onchain.Event) error {
	switch event.Kind {
	case onchain.EventMissionFunded:
		return tx.applyFunding(chainID, event)
	case onchain.EventMissionClosed:
		return tx.applyClosing(chainID, event)
	default: // other events move no draft; applyPayments applies payments
		return nil
	}
}

// applyFunding records a funding if it is the one that the draft's quote is for.
func (tx *writeTx) applyFunding(chainID uint64, event *onchain.Event) error {
	err := store.ErrNotFound
	var state *draftState
	if mission.ValidMissionID(event.Funded.MissionID) { // the text comes from the chain
		state, err = tx.load(event.Funded.MissionID)
	}
	if errors.Is(err, store.ErrNotFound) {
		tx.core.log.Warn("a mission was funded that is not in the database", "missionKey", event.MissionKey, "transaction", event.Transaction)
		return nil
	}
	if err != nil {
		return err
	}
	if differences := promised(state.draft).Differences(paidIn(chainID, event)); len(differences) > 0 {
		return tx.incident(incidentFundingMismatch, false,
			"Transaction %s funds mission %s of draft %s with another %s than the draft: it does not count.",
			event.Transaction, state.draft.MissionID, state.draft.ID, strings.Join(differences, ", "))
	}
	if state.funding != nil {
		return tx.incident(incidentFundingRepeated, false,
			"Transaction %s funds mission %s of draft %s, which transaction %s funded before: it does not count. The contract does not allow that; check the node.",
			event.Transaction, state.draft.MissionID, state.draft.ID, state.funding.Transaction)
	}
	funding := onchain.Funding{
		DraftID: state.draft.ID, MissionKey: event.MissionKey, ChainID: chainID, Block: event.Block, BlockHash: event.BlockHash,
		Transaction: event.Transaction, LogIndex: event.LogIndex, ReclaimAfter: event.Funded.ReclaimAfter,
	}
	if err := tx.AddFunding(funding); err != nil {
		return err
	}
	state.funding = &funding
	return tx.move(state, mission.FundingSeen, fundingFacts(&funding))
}

// promised is the escrow that a draft's quote is for.
func promised(draft store.Draft) mission.Escrow {
	return mission.Escrow{
		ChainID: draft.ChainID, Factory: draft.Factory, MissionKey: sortie.MissionKey(draft.MissionID), MissionID: draft.MissionID,
		Creator: draft.Wallet, Token: draft.TokenAddress, Reward: draft.Reward, TargetCount: big.NewInt(int64(draft.TargetCount)),
		Nonce: draft.Nonce,
	}
}

// paidIn is the escrow that a funding made.
func paidIn(chainID uint64, event *onchain.Event) mission.Escrow {
	funded := event.Funded
	return mission.Escrow{
		ChainID: chainID, Factory: event.Factory, MissionKey: event.MissionKey, MissionID: funded.MissionID, Creator: funded.Creator,
		Token: funded.Token, Reward: funded.Reward, TargetCount: funded.TargetCount, Nonce: funded.Nonce,
	}
}

// applyClosing records that a mission's money left the contract. The draft moves when the closing
// is final: see [Ledger.Confirm].
func (tx *writeTx) applyClosing(chainID uint64, event *onchain.Event) error {
	state, err := tx.loadByKey(event.MissionKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil // its funding was not recorded
	}
	if err != nil {
		return err
	}
	if !state.fundedIn(chainID, event.Factory) || state.funding.Closed != nil {
		tx.core.log.Warn("a close does not fit the mission's funding", "missionKey", event.MissionKey, "transaction", event.Transaction)
		return nil
	}
	if err := tx.expectClosing(state, event); err != nil {
		return err
	}
	return tx.setClosing(state, &onchain.Closing{
		Block: event.Block, BlockHash: event.BlockHash, Transaction: event.Transaction,
		Reason: event.Closed.Reason, Refund: event.Closed.Refund, RefundDeferred: event.Closed.RefundDeferred,
	})
}

// expectClosing opens a halting incident when a mission was closed with a settler's signature that
// the service did not ask for: its key was stolen, or there is a bug. A reclaim needs no signature,
// and anyone may send the signed closing of a rejected mission once it is public.
func (tx *writeTx) expectClosing(d *draftState, event *onchain.Event) error {
	if event.Closed.Reason == closedByCreator || d.draft.State.Decision == mission.DecisionRejected {
		return nil
	}
	wanted, err := tx.HasIntent(IntentClose, d.draft.ID)
	if err != nil || wanted {
		return err
	}
	return tx.incident(incidentUnexpectedClose, true,
		"Transaction %s closes mission %s of draft %s, whose review status is %s, and the service did not ask for that. "+
			"The settler's key signed it: pause the contract, replace the key, and find out who used it.",
		event.Transaction, d.draft.MissionID, d.draft.ID, d.draft.State.View().Review)
}

// closedByCreator is the contract's reason for a mission that its creator reclaimed.
const closedByCreator = 2

func (tx *writeTx) setClosing(d *draftState, closing *onchain.Closing) error {
	if err := tx.SetClosing(d.draft.ID, closing); err != nil {
		return err
	}
	d.funding.Closed = closing
	return nil
}

// undo reverts an event that is no longer on the canonical chain. An event that was not recorded is
// ignored.
func (tx *writeTx) undo(chainID uint64, event *onchain.Event) error {
	switch event.Kind {
	case onchain.EventMissionFunded, onchain.EventMissionClosed:
	case onchain.EventSubmissionPaid, onchain.EventPayoutDeferred:
		return tx.RemovePayment(chainID, event)
	default:
		return nil
	}
	state, err := tx.loadByKey(event.MissionKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	switch {
	case err != nil:
		return err
	case event.Kind == onchain.EventMissionClosed && isClosing(chainID, state, event):
		return tx.undoClosing(state)
	case event.Kind == onchain.EventMissionFunded && isFunding(chainID, state, event):
		return tx.undoFunding(state)
	default:
		return nil
	}
}

// fundedIn reports whether the draft's funding is in a contract of a chain.
func (d *draftState) fundedIn(chainID uint64, factory sortie.Address) bool {
	return d.funding != nil && d.funding.ChainID == chainID && d.draft.Factory == factory
}

func isFunding(chainID uint64, d *draftState, event *onchain.Event) bool {
	return d.fundedIn(chainID, event.Factory) && d.funding.Block == event.Block && d.funding.BlockHash == event.BlockHash &&
		d.funding.LogIndex == event.LogIndex && d.funding.Transaction == event.Transaction
}

func isClosing(chainID uint64, d *draftState, event *onchain.Event) bool {
	if !d.fundedIn(chainID, event.Factory) || d.funding.Closed == nil {
		return false
	}
	closing := d.funding.Closed
	return closing.Block == event.Block && closing.BlockHash == event.BlockHash && closing.Transaction == event.Transaction
}

func (tx *writeTx) undoClosing(d *draftState) error {
	if d.draft.State.Refunded { // it was final
		err := tx.incident(incidentFinalityBroken, true,
			"The refund of mission %s (draft %s) in transaction %s was final and is no longer on the chain.",
			d.draft.MissionID, d.draft.ID, d.funding.Closed.Transaction)
		if err != nil {
			return err
		}
	}
	facts := closingFacts(d.funding.Closed)
	if err := tx.setClosing(d, nil); err != nil {
		return err
	}
	return tx.move(d, mission.RefundReverted, facts)
}

func (tx *writeTx) undoFunding(d *draftState) error {
	if mission.BreaksFinality(d.draft.State, mission.FundingReverted) {
		err := tx.incident(incidentFinalityBroken, true,
			"The funding of mission %s (draft %s) in transaction %s was final and is no longer on the chain.",
			d.draft.MissionID, d.draft.ID, d.funding.Transaction)
		if err != nil {
			return err
		}
	}
	facts := fundingFacts(d.funding)
	if err := tx.RemoveFunding(d.draft.ID); err != nil {
		return err
	}
	d.funding = nil
	return tx.move(d, mission.FundingReverted, facts)
}
