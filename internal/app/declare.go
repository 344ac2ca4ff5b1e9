package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// Declare reserves a slot of a mission for a file that the contributor is about to upload.
func (a *App) Declare(ctx context.Context, base string, contributor sortie.Address, missionID, key string, body []byte) (answer sortie.SubmissionDeclared, created bool, err error) {
	return sortie.SubmissionDeclared{}, false, errNotBuilt
}
