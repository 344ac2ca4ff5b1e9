package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// maxNamed is how many payouts of a kind, and settlements, a diagnosis names.
const maxNamed = 5

// payoutFindings is what a diagnosis reports about the payouts of a published mission.
type payoutFindings struct {
	waits            []sortie.PayoutWait // of queued and sent payouts, without halts
	failed, deferred []store.ListedPayout
	halt             *store.PayoutHalt
}

// payoutFindings reads what the payouts of a mission wait for. The cost does not depend on how many
// there are.
func (a *App) payoutFindings(ctx context.Context, slots store.Slots) (found payoutFindings, err error) {
	scene, err := a.payoutScene(ctx, slots.DraftID, true)
	if err != nil {
		return found, err
	}
	found.halt = scene.halt
	if slots.Finals == 0 {
		return found, nil
	}
	if scene.waiting != nil {
		found.waits = append(found.waits, scene.batch())
	}
	settlements, err := a.store.OpenSettlementsOf(ctx, slots.DraftID, maxNamed)
	if err != nil {
		return found, storeError(err)
	}
	for _, settlement := range settlements {
		switch settlement.Intent {
		case store.IntentQueued:
			found.waits = append(found.waits, scene.sender(settlement.Problem))
		case store.IntentSent:
			found.waits = append(found.waits, scene.block(settlement.Transaction))
		}
	}
	for status, list := range map[sortie.PayoutStatus]*[]store.ListedPayout{sortie.PayoutFailed: &found.failed, sortie.PayoutDeferred: &found.deferred} {
		if *list, err = a.store.Payouts(ctx, store.PayoutFilter{Status: status, DraftID: slots.DraftID, Limit: maxNamed}); err != nil {
			return found, storeError(err)
		}
	}
	sent, err := a.store.Payouts(ctx, store.PayoutFilter{Status: sortie.PayoutSent, DraftID: slots.DraftID, Limit: 1})
	if err != nil {
		return found, storeError(err)
	}
	if len(sent) == 1 && sent[0].Block != 0 {
		found.waits = append(found.waits, scene.finality(sent[0].Block))
	}
	return found, nil
}

// onTheWay is how many accepted submissions are neither paid, deferred nor set aside.
func onTheWay(slots *store.Slots) int {
	return slots.Accepted - slots.Paid - slots.Deferred - slots.Failed
}

// payoutProgress reports how much of what was accepted is paid.
func (d diagnosis) payoutProgress() string {
	text := fmt.Sprintf("%d of %d accepted submissions are paid", d.slots.Paid, d.slots.Accepted)
	for _, part := range []struct {
		number int
		words  string
	}{{onTheWay(d.slots), "on the way"}, {d.slots.Deferred, "deferred"}, {d.slots.Failed, "set aside"}} {
		if part.number > 0 {
			text += fmt.Sprintf(", %d %s", part.number, part.words)
		}
	}
	return text
}

// addPayouts adds what the payouts of a published mission wait for.
func (d diagnosis) addPayouts(answer *sortie.Doctor) {
	if d.slots == nil || d.payouts == nil || d.slots.Accepted == 0 {
		return
	}
	answer.Summary += " " + d.payoutProgress() + "."
	isOver := d.place.closing() != nil
	if !isOver && onTheWay(d.slots) > 0 {
		answer.Blockers = append(answer.Blockers, d.onTheWayBlocker())
		if answer.WaitingOn == sortie.PartyNone {
			answer.WaitingOn = sortie.PartyChain
		}
	}
	if d.slots.Deferred > 0 {
		answer.Blockers = append(answer.Blockers, blocker(sortie.BlockerPayoutsDeferred,
			"Payouts that the token refused and the contract credited to their recipients: %d, %s.", d.slots.Deferred, named(d.payouts.deferred, d.slots.Deferred)))
		answer.Actions = append(answer.Actions, "Notify the recipients of the deferred credit. "+claimAdvice(d.draft.TokenAddress.String(), "RECIPIENT", d.draft.Factory))
	}
	switch {
	case d.slots.Failed > 0 && isOver:
		answer.Blockers = append(answer.Blockers, blocker(sortie.BlockerPayoutsFailed,
			"The money left the contract before %d payouts were made: %s.", d.slots.Failed, named(d.payouts.failed, d.slots.Failed)))
	case d.slots.Failed > 0:
		answer.Blockers = append(answer.Blockers, blocker(sortie.BlockerPayoutsFailed,
			"Payouts that are set aside until an operator lets them be tried again: %d, %s.", d.slots.Failed, named(d.payouts.failed, d.slots.Failed)))
		answer.Actions = append(answer.Actions, "Ask the operator to handle the failed payouts; the mission is not closed before.")
		answer.Health, answer.WaitingOn = sortie.HealthBlocked, sortie.PartyOperator
	}
	if d.payouts.halt != nil && !isOver {
		answer.WaitingOn = sortie.PartyOperator
		answer.Blockers = append([]sortie.Blocker{blocker(sortie.BlockerPayoutsHalted, "%s", haltInWords(d.payouts.halt))}, answer.Blockers...)
	}
}

func (d diagnosis) onTheWayBlocker() sortie.Blocker {
	var parts []string
	if held := d.slots.Accepted - d.slots.Finals; held > 0 {
		parts = append(parts, fmt.Sprintf("%d acceptances are not final: an operator can take them back until their hold is over.", held))
	}
	seen := make(map[string]bool)
	for _, each := range d.payouts.waits {
		if !seen[each.Message] {
			seen[each.Message] = true
			parts = append(parts, each.Message)
		}
	}
	return blocker(sortie.BlockerPayoutsOnTheWay, "%s", strings.TrimSpace(fmt.Sprintf("Payouts on the way: %d. %s", onTheWay(d.slots), strings.Join(parts, " "))))
}

// named lists the submissions of payouts, and mentions it if there are more.
func named(payouts []store.ListedPayout, total int) string {
	ids := make([]string, len(payouts))
	for i, payout := range payouts {
		ids[i] = payout.SubmissionID
	}
	if total > len(ids) {
		ids = append(ids, "...")
	}
	return strings.Join(ids, ", ")
}
