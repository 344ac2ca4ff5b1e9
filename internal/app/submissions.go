package app

import (
	"context"
	"errors"

	"github.com/sortie-labs/sortie"
)

var errNotBuilt = errors.New("this use case is being built")

// Submissions gives a page of a contributor's submissions, newest first.
func (a *App) Submissions(ctx context.Context, contributor sortie.Address, page Page) (sortie.SubmissionPage, error) {
	return sortie.SubmissionPage{}, errNotBuilt
}

// Submission gives one submission of the contributor.
func (a *App) Submission(ctx context.Context, contributor sortie.Address, id string) (sortie.SubmissionDetail, error) {
	return sortie.SubmissionDetail{}, errNotBuilt
}

// Withdraw takes a submission back before it is accepted.
func (a *App) Withdraw(ctx context.Context, contributor sortie.Address, id string) (sortie.SubmissionDetail, error) {
	return sortie.SubmissionDetail{}, errNotBuilt
}
