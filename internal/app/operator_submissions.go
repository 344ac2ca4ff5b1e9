package app

import (
	"context"
	"errors"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// QueueQuery selects a page of submissions for an operator, oldest first.
type QueueQuery struct {
	Status    sortie.SubmissionStatus // empty: flagged
	MissionID string                  // empty: of all missions
	Page
}

// queueMission returns the draft id of a published mission, given its draft id or mission id.
func (o *Operators) queueMission(ctx context.Context, id string) (draftID string, err error) {
	err = store.ErrNotFound
	switch {
	case mission.ValidMissionID(id):
		var slots store.OpenSlots
		slots, err = o.store.SlotsByMission(ctx, id)
		draftID = slots.DraftID
	case mission.ValidDraftID(id):
		_, err = o.store.SlotsOf(ctx, id)
		draftID = id
	}
	if errors.Is(err, store.ErrNotFound) {
		return "", sortie.NewError(sortie.CodeNotFound, "no published mission has this id, so it has no submissions; check it")
	}
	if err != nil {
		return "", storeError(err)
	}
	return draftID, nil
}

// SubmissionQueue returns a page of the submissions in a status.
//
// It fails with wallet_not_allowed, not_found for a mission that is not published, and
// invalid_cursor.
func (o *Operators) SubmissionQueue(ctx context.Context, build LinkBuilder, operator sortie.Address, query QueueQuery) (sortie.ReviewedSubmissionPage, error) {
	if err := o.admit(operator); err != nil {
		return sortie.ReviewedSubmissionPage{}, err
	}
	limit := query.limit()
	filter := store.QueueFilter{Status: query.Status, Limit: limit + 1} // one more shows whether there is another page
	if filter.Status == "" {
		filter.Status = sortie.SubmissionFlagged
	}
	if query.MissionID != "" {
		var err error
		if filter.DraftID, err = o.queueMission(ctx, query.MissionID); err != nil {
			return sortie.ReviewedSubmissionPage{}, err
		}
	}
	list := "submission-queue\n" + string(filter.Status) + "\n" + filter.DraftID
	var err error
	if filter.AfterSeq, err = o.cursors.open(list, query.Cursor); err != nil {
		return sortie.ReviewedSubmissionPage{}, err
	}
	stored, err := o.store.SubmissionsInQueue(ctx, filter)
	if err != nil {
		return sortie.ReviewedSubmissionPage{}, storeError(err)
	}
	answer := sortie.ReviewedSubmissionPage{OK: true, Submissions: []sortie.ReviewedSubmission{}}
	stored, answer.Summary = o.submissionSummary(list, stored, limit)
	for _, submission := range stored {
		shown, err := o.reviewed(build, submission)
		if err != nil {
			return sortie.ReviewedSubmissionPage{}, err
		}
		answer.Submissions = append(answer.Submissions, shown)
	}
	return answer, nil
}

// ReviewedSubmission returns a submission of any wallet as an operator sees it.
func (o *Operators) ReviewedSubmission(ctx context.Context, build LinkBuilder, operator sortie.Address, id string) (sortie.ReviewedSubmissionDetail, error) {
	if err := o.admit(operator); err != nil {
		return sortie.ReviewedSubmissionDetail{}, err
	}
	err := store.ErrNotFound
	var submission store.Submission
	if mission.ValidSubmissionID(id) {
		submission, err = o.store.Submission(ctx, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return sortie.ReviewedSubmissionDetail{}, errNoSubmission()
	}
	if err != nil {
		return sortie.ReviewedSubmissionDetail{}, storeError(err)
	}
	shown, err := o.reviewed(build, submission)
	if err != nil {
		return sortie.ReviewedSubmissionDetail{}, err
	}
	return sortie.ReviewedSubmissionDetail{OK: true, Submission: shown}, nil
}

func errNoSubmission() error {
	return sortie.NewError(sortie.CodeNotFound, "no submission has this id; check it")
}

// AcceptSubmission accepts a flagged submission. The reason may be empty; creators see it. The same
// decision by the same operator again changes nothing; here and below.
//
// It fails with wallet_not_allowed, not_found, validation_failed, wrong_state, mission_closed when
// the mission's money has left the contract, own_submission when the operator submitted it, and
// second_operator_required above the operator's hourly limit.
func (o *Operators) AcceptSubmission(ctx context.Context, build LinkBuilder, order Order, id, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return o.decideSubmission(ctx, build, order, id, reason, mission.OperatorAccepted)
}

// RejectSubmission rejects a submission, or revokes its acceptance before it is final. Its
// contributor, and after a revocation the creator, is shown the reason.
//
// It fails with wallet_not_allowed, not_found, validation_failed, and wrong_state.
func (o *Operators) RejectSubmission(ctx context.Context, build LinkBuilder, order Order, id, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return o.decideSubmission(ctx, build, order, id, reason, mission.OperatorRejected)
}

// FlagSubmission flags a submission for a decision by an operator, which revokes an acceptance that
// is not final.
//
// It fails with wallet_not_allowed, not_found, validation_failed, and wrong_state.
func (o *Operators) FlagSubmission(ctx context.Context, build LinkBuilder, order Order, id, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return o.decideSubmission(ctx, build, order, id, reason, mission.OperatorFlagged)
}

// acceptedByPerson is the reason of an acceptance without a given reason.
const acceptedByPerson = "An operator accepted it."

// curations maps what operators decide to the resulting status and the name in the audit log.
var curations = map[mission.SubmissionEvent]struct {
	status sortie.SubmissionStatus
	action string
}{
	mission.OperatorAccepted: {sortie.SubmissionCurationAccepted, "submission.accepted"},
	mission.OperatorRejected: {sortie.SubmissionRejected, "submission.rejected"},
	mission.OperatorFlagged:  {sortie.SubmissionFlagged, "submission.flagged"},
}

func (o *Operators) decideSubmission(ctx context.Context, build LinkBuilder, order Order, id, reason string, event mission.SubmissionEvent) (sortie.ReviewedSubmissionDetail, error) {
	if err := o.admit(order.Operator); err != nil {
		return sortie.ReviewedSubmissionDetail{}, err
	}
	reason, err := mission.NormalizeReason(reason, event != mission.OperatorAccepted)
	if err != nil {
		return sortie.ReviewedSubmissionDetail{}, err
	}
	if reason == "" {
		reason = acceptedByPerson
	}
	if !mission.ValidSubmissionID(id) {
		return sortie.ReviewedSubmissionDetail{}, errNoSubmission()
	}
	err = o.write(ctx, func(tx *writeTx) error { return tx.decideSubmission(order, id, reason, event) })
	if errors.Is(err, store.ErrNotFound) {
		return sortie.ReviewedSubmissionDetail{}, errNoSubmission()
	}
	if err != nil {
		return sortie.ReviewedSubmissionDetail{}, storeError(err)
	}
	decided, err := o.ReviewedSubmission(ctx, build, order.Operator, id)
	if err == nil && event == mission.OperatorAccepted {
		err = o.endorsedOnly(order.Operator, decided.Submission)
	}
	return decided, err
}

func (tx *writeTx) decideSubmission(order Order, id, reason string, event mission.SubmissionEvent) error {
	decision, operator := curations[event], order.Operator.String()
	return tx.applyOrder(order, decision.action, id, func() (map[string]any, error) {
		submission, err := tx.Submission(id)
		if err != nil {
			return nil, err
		}
		if submission.Status == decision.status && submission.DecidedBy == operator && submission.Reason == reason {
			return nil, nil // the same decision, signed again
		}
		if event == mission.OperatorAccepted {
			if err := tx.mayAccept(order.Operator, submission); err != nil {
				return nil, err
			}
			alone, err := tx.countAcceptance(order.Operator, submission)
			if err != nil {
				return nil, err
			}
			if !alone {
				return nil, tx.endorse(order, submission)
			}
		}
		if _, err := tx.moveSubmission(submission, event, store.SubmissionMove{Reason: reason, DecidedBy: operator}); err != nil {
			return nil, err
		}
		detail := map[string]any{
			"missionId": submission.Mission.MissionID, "contributor": submission.Contributor, "was": submission.Status, "reason": reason,
		}
		if submission.EndorsedBy != "" {
			detail["endorsedBy"] = submission.EndorsedBy
		}
		return detail, nil
	})
}

// mayAccept refuses an acceptance that the state alone would allow.
func (tx *writeTx) mayAccept(operator sortie.Address, submission store.Submission) error {
	if operator == submission.Contributor && operator != submission.Mission.Creator {
		return sortie.NewError(sortie.CodeOwnSubmission, "you submitted this yourself, and the mission is not yours; another operator must decide about it")
	}
	if submission.Status == sortie.SubmissionFlagged && submission.Media == nil {
		return sortie.NewError(sortie.CodeWrongState, "the file of this submission could not be checked, so it cannot be delivered; reject it, or wait until it was checked").
			Detail("status", submission.Status)
	}
	slots, err := tx.SlotsOf(submission.DraftID)
	if err != nil {
		return err
	}
	if slots.ClosedAt != nil {
		return sortie.NewError(sortie.CodeMissionClosed, "the money of this mission has left the contract, so the contributor would not be paid; reject the submission")
	}
	return nil
}

// reviewed is a submission as operators see it.
func (o *Operators) reviewed(build LinkBuilder, submission store.Submission) (sortie.ReviewedSubmission, error) {
	shown, err := wireSubmission(submission)
	if err != nil {
		return sortie.ReviewedSubmission{}, err
	}
	review := sortie.ReviewedSubmission{
		Submission: shown, Contributor: submission.Contributor, Title: submission.Mission.Title, Location: submission.Declaration.Location,
		CapturedAt: sortie.FormatTime(submission.Declaration.CapturedAt), Policy: submission.Policy, DecidedBy: submission.DecidedBy,
	}
	if submission.DuplicateOf != "" {
		review.DuplicateOf = &submission.DuplicateOf
	}
	if submission.EndorsedBy != "" {
		review.EndorsedBy = &submission.EndorsedBy
	}
	if mission.HoldsSlot(submission.Status) {
		review.FinalAt = optionalTime(submission.HoldUntil)
		if submission.FinalAt != nil {
			review.FinalAt = optionalTime(submission.FinalAt)
		}
	}
	if submission.Media == nil || !reviewable(submission.Status) {
		return review, nil
	}
	shownMedia := wireMedia(submission.Media)
	expiresAt := o.now().Add(DefaultLinkTTL).Truncate(time.Second)
	mediaURL, thumbnailURL := o.reviewLinks(build, submission, expiresAt)
	review.Media, review.MediaURL, review.MediaURLExpiresAt = &shownMedia, &mediaURL, optionalTime(&expiresAt)
	if thumbnailURL != "" {
		review.ThumbnailURL = &thumbnailURL
	}
	return review, nil
}

// reviewable reports whether operators and verifiers may see the media of a submission: the media
// of others is removed.
func reviewable(status sortie.SubmissionStatus) bool {
	return mission.HoldsReservation(status) || mission.HoldsSlot(status)
}

// reviewLinks returns the links for operators and verifiers to the media of a submission. The
// second is empty where there is no thumbnail.
func (c *core) reviewLinks(build LinkBuilder, submission store.Submission, expiresAt time.Time) (mediaURL, thumbnailURL string) {
	exp := expiresAt.Unix()
	mediaURL = c.link(build, submission.ID, links.VariantReviewOriginal, exp)
	if submission.Media != nil && submission.Media.ThumbnailHash != (sortie.Hash{}) {
		thumbnailURL = c.link(build, submission.ID, links.VariantReviewThumbnail, exp)
	}
	return mediaURL, thumbnailURL
}

func optionalTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := sortie.FormatTime(*t)
	return &text
}
