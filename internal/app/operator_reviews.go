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

// IsOperator reports whether a wallet may review missions.
func (o *Operators) IsOperator(wallet sortie.Address) bool { return o.operators[wallet] }

// admit refuses wallets that are not operators.
func (o *Operators) admit(wallet sortie.Address) error {
	if o.IsOperator(wallet) {
		return nil
	}
	return sortie.NewError(sortie.CodeWalletNotAllowed, "this wallet is not an operator of the service; sign with one that is")
}

// Approve approves a mission: it is published when its funding is final. The id is a draft id or a
// mission id; the reason may be empty. The same decision by the same operator again is answered as
// the first time.
//
// It fails with wallet_not_allowed, not_found, validation_failed, wrong_state when the mission is
// not funded, was decided before or can no longer be published in time, and service_unavailable
// when it would be published while an incident halts the service.
func (o *Operators) Approve(ctx context.Context, operator sortie.Address, id, reason string) (sortie.ReviewDetail, error) {
	return o.review(ctx, operator, id, reason, mission.Approved)
}

// Reject rejects a mission. Any funding of it is refunded to the creator, who is shown the reason.
// The same decision by the same operator again is answered as the first time.
//
// It fails with wallet_not_allowed, not_found, validation_failed, and wrong_state when the mission
// was decided before.
func (o *Operators) Reject(ctx context.Context, operator sortie.Address, id, reason string) (sortie.ReviewDetail, error) {
	return o.review(ctx, operator, id, reason, mission.Rejected)
}

func (o *Operators) review(ctx context.Context, operator sortie.Address, id, reason string, verdict mission.Event) (sortie.ReviewDetail, error) {
	if err := o.admit(operator); err != nil {
		return sortie.ReviewDetail{}, err
	}
	reason, err := mission.NormalizeReason(reason, verdict == mission.Rejected)
	if err != nil {
		return sortie.ReviewDetail{}, err
	}
	if !mission.ValidDraftID(id) && !mission.ValidMissionID(id) {
		return sortie.ReviewDetail{}, errNoMission()
	}
	err = o.write(ctx, func(tx *writeTx) error {
		if err := tx.lockChain(); err != nil {
			return err
		}
		state, err := tx.load(id)
		if err != nil {
			return err
		}
		if state.draft.State.Decision != mission.DecisionNone {
			return tx.compareDecision(state, verdict, operator.String(), reason)
		}
		if err := tx.mayDecide(state, verdict); err != nil {
			return err
		}
		return tx.decide(state, verdict, operator.String(), reason)
	})
	if errors.Is(err, store.ErrNotFound) {
		return sortie.ReviewDetail{}, errNoMission()
	}
	if err != nil {
		return sortie.ReviewDetail{}, storeError(err)
	}
	return o.ReviewDetail(ctx, operator, id)
}

func errNoMission() error {
	return sortie.NewError(sortie.CodeNotFound, "no mission has this id; check it")
}

// compareDecision accepts the same decision with the same reason by the same operator: the request
// was sent again. Other requests are refused with the decision that was made.
func (tx *writeTx) compareDecision(d *draftState, verdict mission.Event, operator, reason string) error {
	made, err := tx.ReviewOf(d.draft.ID)
	if err != nil {
		return err
	}
	same := (verdict == mission.Approved) == (made.Decision == mission.DecisionApproved)
	if same && made.Operator == operator && made.Reason == reason {
		return nil
	}
	return sortie.NewError(sortie.CodeWrongState, "this mission was %s before, by %s: a decision is made once", made.Decision, made.Operator).
		Detail("reviewStatus", made.Decision).Detail("decidedBy", made.Operator).Detail("decidedAt", sortie.FormatTime(made.DecidedAt))
}

// mayDecide refuses an approval that the state alone would allow.
func (tx *writeTx) mayDecide(d *draftState, verdict mission.Event) error {
	if verdict != mission.Approved {
		return nil
	}
	if d.funding != nil && d.funding.Closed != nil {
		return sortie.NewError(sortie.CodeWrongState, "the money of this mission left the contract in transaction %s: it can no longer be approved", d.funding.Closed.Transaction).
			Detail("transactionHash", d.funding.Closed.Transaction)
	}
	if d.late(tx.Now) {
		return sortie.NewError(sortie.CodeWrongState, "this mission can no longer be approved, and its money goes back to its creator without a decision of yours. %s", d.lateness()).
			Detail("publishBy", sortie.FormatTime(*d.draft.PublishBy)).Detail("reclaimAfter", sortie.FormatTime(time.Unix(int64(d.funding.ReclaimAfter), 0)))
	}
	next, err := mission.Apply(d.draft.State, verdict)
	if err != nil || !next.View().Published {
		return err
	}
	halted, err := tx.Halted()
	if err == nil && halted {
		err = sortie.NewError(sortie.CodeServiceUnavailable, "an incident halts the service, and this approval would publish the mission: list the open incidents (sortie chain status), clear them, and approve again")
	}
	return err
}

// Reviews returns a page of the missions in review, oldest first.
//
// It fails with wallet_not_allowed and invalid_cursor.
func (o *Operators) Reviews(ctx context.Context, operator sortie.Address, page Page) (sortie.ReviewPage, error) {
	if err := o.admit(operator); err != nil {
		return sortie.ReviewPage{}, err
	}
	const list = "reviews"
	after, err := o.cursors.open(list, page.Cursor)
	if err != nil {
		return sortie.ReviewPage{}, err
	}
	limit := page.limit()
	funded, err := o.store.DraftsInReview(ctx, after, limit+1) // one more shows whether there is another page
	if err != nil {
		return sortie.ReviewPage{}, storeError(err)
	}
	answer := sortie.ReviewPage{OK: true, Reviews: []sortie.Review{}, Summary: sortie.ReviewSummary{GeneratedAt: sortie.FormatTime(o.now())}}
	var bytes pageBytes
	for i, each := range funded {
		if i == limit || !bytes.add(len(each.Mission)) {
			funded = funded[:i]
			cursor := o.cursors.seal(list, funded[i-1].Seq)
			answer.Summary.NextCursor = &cursor
			break
		}
	}
	position, err := o.position(ctx)
	if err != nil {
		return sortie.ReviewPage{}, err
	}
	for _, each := range funded {
		review, err := o.reviewOf(each.Draft, &each.Funding, position)
		if err != nil {
			return sortie.ReviewPage{}, err
		}
		answer.Reviews = append(answer.Reviews, review)
	}
	answer.Summary.ReturnedReviews = len(answer.Reviews)
	return answer, nil
}

// ReviewDetail returns a mission of any wallet as an operator sees it, in any state.
//
// It fails with wallet_not_allowed and not_found.
func (o *Operators) ReviewDetail(ctx context.Context, operator sortie.Address, id string) (sortie.ReviewDetail, error) {
	if err := o.admit(operator); err != nil {
		return sortie.ReviewDetail{}, err
	}
	var draft store.Draft
	err := store.ErrNotFound
	switch {
	case mission.ValidDraftID(id):
		draft, err = o.store.DraftByDraftID(ctx, id)
	case mission.ValidMissionID(id):
		draft, err = o.store.DraftByMissionID(ctx, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return sortie.ReviewDetail{}, errNoMission()
	}
	if err != nil {
		return sortie.ReviewDetail{}, storeError(err)
	}
	place, err := o.factsOf(ctx, draft)
	if err != nil {
		return sortie.ReviewDetail{}, err
	}
	review, err := o.reviewOf(draft, place.funding, place.position)
	if err != nil {
		return sortie.ReviewDetail{}, err
	}
	review.Decision = wireDecision(place.review)
	return sortie.ReviewDetail{OK: true, Review: review}, nil
}

// reviewOf is a mission without the decision about it.
func (o *Operators) reviewOf(draft store.Draft, funding *onchain.Funding, position onchain.Position) (sortie.Review, error) {
	normalized, err := mission.Restore(draft.Mission)
	if err != nil {
		return sortie.Review{}, fmt.Errorf("restore the mission of draft %s: %w", draft.ID, err)
	}
	terms, err := normalized.Terms(o.tokens[draft.Token].Decimals)
	if err != nil {
		return sortie.Review{}, fmt.Errorf("terms of draft %s: %w", draft.ID, err)
	}
	shown := draft.State.View()
	return sortie.Review{
		DraftID: draft.ID, MissionID: draft.MissionID, Creator: draft.Wallet, Title: draft.Title, Status: shown.List,
		ReviewStatus: shown.Review, FundingStatus: shown.Funding, Published: shown.Published,
		TotalBudget: terms.Total(), TargetCount: draft.TargetCount, Funding: o.depthOf(draft, funding, position),
		NormalizedMission: draft.Mission, Warnings: normalized.Warnings(o.now()),
		CreatedAt: sortie.FormatTime(draft.CreatedAt), UpdatedAt: sortie.FormatTime(draft.UpdatedAt),
	}, nil
}

func wireDecision(review *store.Review) *sortie.Decision {
	if review == nil {
		return nil
	}
	return &sortie.Decision{
		ReviewStatus: sortie.ReviewStatus(review.Decision), DecidedBy: review.Operator, Reason: review.Reason,
		DecidedAt: sortie.FormatTime(review.DecidedAt),
	}
}
