package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// ConfirmFunding makes the follower read the chain now. It needs no transaction hash: fundings are
// found by the factory's event.
//
// It fails with not_found, also for a draft of another wallet.
func (a *App) ConfirmFunding(ctx context.Context, wallet sortie.Address, id string) (sortie.FundingCheck, error) {
	draft, err := a.draftOf(ctx, wallet, id)
	if err != nil {
		return sortie.FundingCheck{}, err
	}
	place, err := a.factsOf(ctx, draft)
	if err != nil {
		return sortie.FundingCheck{}, err
	}
	a.wake()
	shown := draft.State.View()
	return sortie.FundingCheck{
		OK: true, DraftID: draft.ID, MissionID: draft.MissionID, FundingStatus: shown.Funding, NextAction: shown.NextAction,
		Funding: a.depthOf(draft, place.funding, place.position),
	}, nil
}

// Doctor reports what blocks a mission, who must act, and until when.
//
// It fails with not_found, also for a draft of another wallet.
func (a *App) Doctor(ctx context.Context, wallet sortie.Address, id string) (sortie.Doctor, error) {
	draft, err := a.draftOf(ctx, wallet, id)
	if err != nil {
		return sortie.Doctor{}, err
	}
	place, err := a.factsOf(ctx, draft)
	if err != nil {
		return sortie.Doctor{}, err
	}
	normalized, err := mission.Restore(draft.Mission)
	if err != nil {
		return sortie.Doctor{}, fmt.Errorf("restore the mission of draft %s: %w", draft.ID, err)
	}
	terms, err := normalized.Terms(a.tokens[draft.Token].Decimals)
	if err != nil {
		return sortie.Doctor{}, fmt.Errorf("terms of draft %s: %w", draft.ID, err)
	}
	patient := diagnosis{
		draft: draft, place: place, now: a.now(), budget: terms.Total(), depth: a.depthOf(draft, place.funding, place.position),
		quoteUntil: time.Unix(int64(a.liveDeadline(draft, a.now())), 0),
	}
	if patient.halted, err = a.store.Halted(ctx); err != nil {
		return sortie.Doctor{}, storeError(err)
	}
	var money *sortie.MissionMoney
	patient.opens, patient.ends = normalized.Window(patient.now)
	if draft.State.View().Published {
		slots, err := a.store.SlotsOf(ctx, draft.ID)
		if err != nil {
			return sortie.Doctor{}, storeError(err)
		}
		patient.slots, patient.opens, patient.ends = &slots, slots.OpensAt, slots.EndsAt
		findings, err := a.payoutFindings(ctx, slots)
		if err != nil {
			return sortie.Doctor{}, err
		}
		patient.payouts = &findings
		money = a.missionMoney(draft, slots, place.closing())
	}
	answer := patient.diagnose()
	answer.Money = money
	return answer, nil
}

// draftFacts is what a diagnosis needs in addition to the draft's row.
type draftFacts struct {
	funding  *onchain.Funding // nil while none is on the canonical chain
	review   *store.Review    // nil until decided
	position onchain.Position // zero before the chain was followed
}

// closing is the closing of the mission; nil while it is open.
func (p draftFacts) closing() *onchain.Closing {
	if p.funding == nil {
		return nil
	}
	return p.funding.Closed
}

func (c *core) factsOf(ctx context.Context, draft store.Draft) (draftFacts, error) {
	var found draftFacts
	funding, err := c.store.FundingOf(ctx, draft.ID)
	switch {
	case err == nil:
		found.funding = &funding
	case !errors.Is(err, store.ErrNotFound):
		return draftFacts{}, storeError(err)
	}
	review, err := c.store.ReviewOf(ctx, draft.ID)
	switch {
	case err == nil:
		found.review = &review
	case !errors.Is(err, store.ErrNotFound):
		return draftFacts{}, storeError(err)
	}
	found.position, err = c.position(ctx)
	return found, err
}

// position is how far the chain was followed; zero before the first block.
func (c *core) position(ctx context.Context) (onchain.Position, error) {
	position, err := c.store.ChainPosition(ctx, c.domain.ChainID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return onchain.Position{}, storeError(err)
	}
	return position, nil
}

// depthOf returns the depth of a draft's funding.
func (c *core) depthOf(draft store.Draft, funding *onchain.Funding, position onchain.Position) sortie.FundingDepth {
	depth := sortie.FundingDepth{Required: c.confirmations, Locked: draft.State.Depth == mission.DepthLocked}
	if funding != nil {
		depth.Seen, depth.TransactionHash, depth.BlockNumber = true, &funding.Transaction, &funding.Block
		depth.Confirmations = max(1, confirmationsAt(position, funding.Block)) // its own block counts
	}
	return depth
}

// staleAfter is the age of the newest followed block from which answers warn that they may be out
// of date.
const staleAfter = 5 * time.Minute

// diagnosis is everything that the answer follows from.
type diagnosis struct {
	draft       store.Draft
	place       draftFacts
	depth       sortie.FundingDepth
	budget      sortie.Budget
	quoteUntil  time.Time       // the deadline of a quote issued now
	opens, ends time.Time       // when it takes submissions; as if published now, before it is published
	slots       *store.Slots    // nil until it is published
	payouts     *payoutFindings // nil until it is published
	halted      bool
	now         time.Time
}

// diagnose reports what blocks the mission. Each row of the protocol's table of states has one
// function; what can happen in several rows is added to it.
func (d diagnosis) diagnose() sortie.Doctor {
	var answer sortie.Doctor
	switch shown := d.draft.State.View(); {
	case shown.Funding == sortie.FundingRefunded:
		answer = d.refunded()
	case shown.Review == sortie.ReviewRejected && shown.Funding == sortie.FundingFunded:
		answer = d.awaitingRefund()
	case shown.Review == sortie.ReviewRejected:
		answer = d.unwanted()
	case shown.Published:
		answer = d.published()
		d.addPayouts(&answer)
	case shown.Review == sortie.ReviewApproved:
		answer = d.awaitingLock()
	case shown.Review == sortie.ReviewInReview:
		answer = d.inReview()
	case d.draft.State.Depth == mission.DepthSeen:
		answer = d.unconfirmed()
	default:
		answer = d.unfunded()
	}
	answer.OK, answer.Funding = true, d.depth
	d.addHalt(&answer)
	d.addStaleness(&answer)
	if answer.Blockers == nil {
		answer.Blockers = []sortie.Blocker{}
	}
	if answer.Actions == nil {
		answer.Actions = []string{}
	}
	return answer
}

func blocker(code sortie.BlockerCode, format string, args ...any) sortie.Blocker {
	return sortie.Blocker{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (d diagnosis) ended() bool { return !d.now.Before(d.ends) }

func (d diagnosis) unfunded() sortie.Doctor {
	if d.ended() {
		return sortie.Doctor{
			Health: sortie.HealthBlocked, WaitingOn: sortie.PartyCreator,
			Summary:  "The mission's time is over, and it was never funded.",
			Blockers: []sortie.Blocker{d.endedBlocker(), d.missingBlocker()},
			Actions:  []string{"Do not fund this draft.", "Create a new draft with a later endsAt."},
		}
	}
	return sortie.Doctor{
		Health: sortie.HealthWaiting, WaitingOn: sortie.PartyCreator,
		Summary:  "The mission waits for its creator's funding transaction.",
		Blockers: []sortie.Blocker{d.missingBlocker()},
		Actions: []string{
			fmt.Sprintf("Allow the factory %s to take %s %s (%s base units).", d.draft.Factory, d.budget.Amount, d.budget.Token, d.budget.BaseUnits),
			fmt.Sprintf("Send the quote's transaction from %s before %s; after that, read the mission again for a fresh quote.", d.draft.Wallet, sortie.FormatTime(d.quoteUntil)),
			"If you have sent it already, wait for its block, or ask for confirm-funding.",
		},
	}
}

func (d diagnosis) missingBlocker() sortie.Blocker {
	return blocker(sortie.BlockerFundingMissing, "No funding of %s %s for this mission is on chain %d.", d.budget.Amount, d.budget.Token, d.draft.ChainID)
}

func (d diagnosis) endedBlocker() sortie.Blocker {
	return blocker(sortie.BlockerMissionEnded, "The mission ended at %s.", sortie.FormatTime(d.ends))
}

func (d diagnosis) unconfirmed() sortie.Doctor {
	return sortie.Doctor{
		Health: sortie.HealthWaiting, WaitingOn: sortie.PartyChain,
		Summary: "The funding is in a block and needs more confirmations.",
		Blockers: []sortie.Blocker{blocker(sortie.BlockerFundingUnconfirmed, "The funding has %d of %d confirmations.",
			min(d.depth.Confirmations, d.depth.Required), d.depth.Required)},
		Actions: []string{"Wait: the review begins when the funding is confirmed."},
	}
}

func (d diagnosis) inReview() sortie.Doctor {
	pending := blocker(sortie.BlockerReviewPending, "An operator has not decided about the mission yet.")
	switch closing := d.place.closing(); {
	case closing != nil:
		return sortie.Doctor{
			Health: sortie.HealthBlocked, WaitingOn: sortie.PartyChain,
			Summary:  "The mission's money left the contract before it was approved: it will not be published.",
			Blockers: []sortie.Blocker{closedBlocker(closing)},
			Actions:  []string{"Wait until the refund is final.", "Create a new draft if you still want the mission."},
		}
	case tooLate(d.draft, d.now):
		return d.lapsing()
	}
	action := "Wait for the operator's decision."
	if publishBy := d.draft.PublishBy; publishBy != nil { // older versions did not set it
		action = fmt.Sprintf("Wait for the operator's decision; without an approval before %s the money comes back.", sortie.FormatTime(*publishBy))
	}
	return sortie.Doctor{
		Health: sortie.HealthWaiting, WaitingOn: sortie.PartyOperator,
		Summary:  "The mission is funded and waits for review.",
		Blockers: []sortie.Blocker{pending},
		Actions:  []string{action},
	}
}

// lapsing is a funded mission that can no longer be published. [Ledger.lapseMissions] will reject
// it.
func (d diagnosis) lapsing() sortie.Doctor {
	late := draftState{draft: d.draft, funding: d.place.funding}
	code := sortie.BlockerReclaimTooClose
	if d.ended() {
		code = sortie.BlockerMissionEnded
	}
	return sortie.Doctor{
		Health: sortie.HealthBlocked, WaitingOn: sortie.PartyChain,
		Summary:  "The mission can no longer be published: it is rejected, and its money comes back.",
		Blockers: []sortie.Blocker{blocker(code, "%s", late.lateness())},
		Actions:  []string{"Wait for the refund.", "Create a new draft if you still want the mission."},
	}
}

func (d diagnosis) awaitingLock() sortie.Doctor {
	if closing := d.place.closing(); closing != nil {
		return sortie.Doctor{
			Health: sortie.HealthBlocked, WaitingOn: sortie.PartyNone,
			Summary:  "The mission was approved, but its money left the contract: it will not be published.",
			Blockers: []sortie.Blocker{closedBlocker(closing)},
			Actions:  []string{"Create a new draft if you still want the mission."},
		}
	}
	if tooLate(d.draft, d.now) {
		return d.lapsing()
	}
	return sortie.Doctor{
		Health: sortie.HealthWaiting, WaitingOn: sortie.PartyChain,
		Summary:  "The mission is approved and is published as soon as its funding is final.",
		Blockers: []sortie.Blocker{blocker(sortie.BlockerFundingNotFinal, "The block of the funding, %d, is not final yet; the newest final block is %d.", *d.depth.BlockNumber, d.place.position.Final)},
		Actions:  []string{"Wait: nothing can hurry the chain."},
	}
}

func (d diagnosis) published() sortie.Doctor {
	answer := sortie.Doctor{Health: sortie.HealthReady, WaitingOn: sortie.PartyContributors, Actions: []string{"Fetch deliverables."}}
	switch closing := d.place.closing(); {
	case closing != nil:
		answer.WaitingOn, answer.Summary = sortie.PartyNone, "The mission is over, and what was left of its money went back."
		if d.slots.CompletedAt != nil {
			answer.Summary = "The mission is complete, and what was left of its money went back."
		}
		answer.Blockers = []sortie.Blocker{closedBlocker(closing)}
		d.addDeferredRefund(&answer)
	case d.slots.Closing:
		answer.WaitingOn, answer.Summary = sortie.PartyChain, "Everything accepted is paid, and the service closes the mission: the rest of its money is on its way back."
		answer.Blockers = []sortie.Blocker{blocker(sortie.BlockerClosing, "The transaction that closes the mission is not in a block that the service has followed.")}
	case d.slots.Accepted == d.slots.Target:
		answer.WaitingOn, answer.Summary = sortie.PartyNone, fmt.Sprintf("All submissions that the mission asks for are here: %s.", d.progress())
	case d.ended():
		d.addEnd(&answer)
	case d.now.Before(d.opens):
		answer.Summary = fmt.Sprintf("The mission is published and takes submissions from %s until %s.", sortie.FormatTime(d.opens), sortie.FormatTime(d.ends))
	case d.slots.Left() == 0:
		answer.Summary = fmt.Sprintf("All slots of the mission are taken: %s.", d.progress())
	default:
		answer.Summary = fmt.Sprintf("The mission is published and takes submissions until %s: %s.", sortie.FormatTime(d.ends), d.progress())
	}
	return answer
}

// addEnd adds what a mission that has ended still waits for, apart from its payouts.
func (d diagnosis) addEnd(answer *sortie.Doctor) {
	answer.WaitingOn, answer.Summary = sortie.PartyNone, fmt.Sprintf("The mission ended at %s.", sortie.FormatTime(d.ends))
	answer.Blockers = []sortie.Blocker{d.endedBlocker()}
	if d.slots.Reserved > 0 {
		answer.WaitingOn = sortie.PartyOperator
		answer.Blockers = append(answer.Blockers, blocker(sortie.BlockerUndecided,
			"Submissions that are in and not decided: %d. The mission is closed when they are decided and what is accepted is paid.", d.slots.Reserved))
	}
}

// progress reports how much of the target was accepted.
func (d diagnosis) progress() string {
	text := fmt.Sprintf("%d of %d submissions are accepted", d.slots.Accepted, d.slots.Target)
	if d.slots.Reserved > 0 {
		text += fmt.Sprintf(", %d are on their way", d.slots.Reserved)
	}
	return text
}

func (d diagnosis) unwanted() sortie.Doctor {
	answer := sortie.Doctor{
		Health: sortie.HealthRejected, WaitingOn: sortie.PartyNone,
		Summary:  "The mission was rejected.",
		Blockers: []sortie.Blocker{d.rejectedBlocker()},
		Actions:  []string{"Do not fund this draft: the money would only come back.", "Create a new draft that answers the reason."},
	}
	if d.depth.Seen {
		answer.WaitingOn = sortie.PartyChain
		answer.Summary = "The mission was rejected; its funding is sent back once it is confirmed."
		answer.Blockers = append(answer.Blockers, blocker(sortie.BlockerFundingUnconfirmed, "The funding has %d of %d confirmations.",
			min(d.depth.Confirmations, d.depth.Required), d.depth.Required))
		answer.Actions = []string{"Wait for the refund.", "Create a new draft that answers the reason."}
	}
	return answer
}

func (d diagnosis) rejectedBlocker() sortie.Blocker {
	if d.place.review == nil || d.place.review.Reason == "" {
		return blocker(sortie.BlockerMissionRejected, "The mission was rejected.")
	}
	return blocker(sortie.BlockerMissionRejected, "The mission was rejected: %s", d.place.review.Reason)
}

func (d diagnosis) awaitingRefund() sortie.Doctor {
	pending := blocker(sortie.BlockerRefundPending, "The service is sending the transaction that returns %s %s.", d.budget.Amount, d.budget.Token)
	if closing := d.place.closing(); closing != nil {
		pending = blocker(sortie.BlockerRefundPending, "Transaction %s returns the money; its block, %d, is not final yet.", closing.Transaction, closing.Block)
	}
	return sortie.Doctor{
		Health: sortie.HealthRejected, WaitingOn: sortie.PartyChain,
		Summary:  "The mission was rejected, and its money is on its way back.",
		Blockers: []sortie.Blocker{d.rejectedBlocker(), pending},
		Actions:  []string{"Wait for the refund.", "Create a new draft that answers the reason."},
	}
}

func (d diagnosis) refunded() sortie.Doctor {
	answer := sortie.Doctor{
		Health: sortie.HealthRejected, WaitingOn: sortie.PartyNone,
		Summary:  "The mission was rejected, and its money is back with its creator.",
		Blockers: []sortie.Blocker{d.rejectedBlocker()},
		Actions:  []string{"Create a new draft that answers the reason."},
	}
	if d.addDeferredRefund(&answer) {
		answer.Summary = "The mission was rejected; the token refused the refund, which waits in the contract for its creator."
	}
	return answer
}

// addDeferredRefund adds that the token refused the refund, and reports whether it did.
func (d diagnosis) addDeferredRefund(answer *sortie.Doctor) bool {
	closing := d.place.closing()
	if closing == nil || !closing.RefundDeferred {
		return false
	}
	answer.WaitingOn = sortie.PartyCreator
	answer.Blockers = append(answer.Blockers, blocker(sortie.BlockerRefundDeferred, "%s base units of %s are held for %s by the factory.", closing.Refund, d.budget.Token, d.draft.Wallet))
	claim := "The refund is a deferred credit. " + claimAdvice(d.draft.TokenAddress.String(), d.draft.Wallet.String(), d.draft.Factory)
	answer.Actions = append([]string{claim}, answer.Actions...)
	return true
}

func closedBlocker(closing *onchain.Closing) sortie.Blocker {
	if closing.Reason == closedByCreator {
		return blocker(sortie.BlockerMissionClosed, "The creator took the money back in transaction %s.", closing.Transaction)
	}
	return blocker(sortie.BlockerMissionClosed, "The mission was closed in transaction %s.", closing.Transaction)
}

// addHalt adds that nothing is published, paid or refunded while an incident is open.
func (d diagnosis) addHalt(answer *sortie.Doctor) {
	shown := d.draft.State.View()
	held := shown.NextAction == sortie.ActionWaitForPublication || shown.NextAction == sortie.ActionWaitForRefund || shown.NextAction == sortie.ActionWaitForReview || shown.Published
	if !d.halted || !held {
		return
	}
	if answer.Health != sortie.HealthRejected {
		answer.Health = sortie.HealthBlocked
	}
	answer.WaitingOn = sortie.PartyOperator
	answer.Summary += " An incident halts the service until an operator clears it."
	answer.Blockers = append([]sortie.Blocker{blocker(sortie.BlockerServiceHalted, "Publication, payouts and refunds stand still until an operator has cleared an incident.")}, answer.Blockers...)
}

// addStaleness adds that the chain may hold more than the service knows.
func (d diagnosis) addStaleness(answer *sortie.Doctor) {
	newest := d.place.position.Tip.Time
	if d.now.Sub(newest) <= staleAfter || answer.WaitingOn != sortie.PartyChain && answer.WaitingOn != sortie.PartyCreator {
		return
	}
	message := "The service has not followed the chain yet."
	if !newest.IsZero() {
		message = fmt.Sprintf("The newest block that the service has seen is of %s. Either it lags, or the chain adds no blocks.", sortie.FormatTime(newest))
	}
	answer.Blockers = append(answer.Blockers, blocker(sortie.BlockerChainBehind, "%s", message))
}

// mayHideFundings reports whether the contract may hold a funding that is not in the database:
// events were set aside, and either no operator has cleared the incident or not all drafts were
// compared since.
func (a *App) mayHideFundings(ctx context.Context, chainID uint64) (bool, error) {
	open, err := a.store.IncidentOpen(ctx, onchain.IncidentEventsSetAside)
	if err != nil || open {
		return open, err
	}
	pass, err := a.pendingPass(ctx, chainID)
	return pass.Number > 0, err
}
