package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// QueueQuery selects a page of submissions for an operator, oldest first.
type QueueQuery struct {
	Status    sortie.SubmissionStatus // empty: flagged
	MissionID string                  // empty: of all missions
	Page
}

// SubmissionQueue gives a page of submissions for an operator.
func (a *App) SubmissionQueue(ctx context.Context, base string, operator sortie.Address, query QueueQuery) (sortie.ReviewedSubmissionPage, error) {
	return sortie.ReviewedSubmissionPage{}, errNotBuilt
}

// ReviewedSubmission gives anybody's submission as an operator sees it.
func (a *App) ReviewedSubmission(ctx context.Context, base string, operator sortie.Address, id string) (sortie.ReviewedSubmissionDetail, error) {
	return sortie.ReviewedSubmissionDetail{}, errNotBuilt
}

// AcceptSubmission decides that a flagged submission is right.
func (a *App) AcceptSubmission(ctx context.Context, base string, operator sortie.Address, id, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return sortie.ReviewedSubmissionDetail{}, errNotBuilt
}

// RejectSubmission decides that a submission is wrong, or revokes its acceptance before it is final.
func (a *App) RejectSubmission(ctx context.Context, base string, operator sortie.Address, id, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return sortie.ReviewedSubmissionDetail{}, errNotBuilt
}

// FlagSubmission decides that a person must look at a submission.
func (a *App) FlagSubmission(ctx context.Context, base string, operator sortie.Address, id, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return sortie.ReviewedSubmissionDetail{}, errNotBuilt
}
