package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// RotateLinkKeys makes the next key that links are signed with, when its time has come, and forgets those whose links are all expired.
func (a *App) RotateLinkKeys(ctx context.Context) error { return errNotBuilt }

// ReloadLinkKeys reads the keys that this and other processes made.
func (a *App) ReloadLinkKeys(ctx context.Context) error { return errNotBuilt }

// RotateLinkKeysNow makes every live link die.
func (a *App) RotateLinkKeysNow(ctx context.Context, operator sortie.Address, reason string) error {
	return errNotBuilt
}
