package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/mission"
)

// OpenReviewMedia opens the media of a link for operators and verifiers, also of submissions that
// are not decided.
//
// It fails like [App.OpenMedia].
func (o *Operators) OpenReviewMedia(ctx context.Context, id, variant, token string) (Media, error) {
	switch variant {
	case links.VariantOriginal:
		return o.openMedia(ctx, id, variant, links.VariantReviewOriginal, token, reviewable)
	case links.VariantThumbnail:
		return o.openMedia(ctx, id, variant, links.VariantReviewThumbnail, token, reviewable)
	default:
		return Media{}, errNoMedia()
	}
}

// RotateLinkKeysNow invalidates all links: at once in this process, within a minute in the others.
//
// It fails with wallet_not_allowed, and validation_failed without a reason.
func (o *Operators) RotateLinkKeysNow(ctx context.Context, order Order, reason string) error {
	if err := o.admit(order.Operator); err != nil {
		return err
	}
	reason, err := mission.NormalizeReason(reason, true)
	if err != nil {
		return err
	}
	err = o.write(ctx, func(tx *writeTx) error {
		return tx.applyOrder(order, "link_keys.rotated", "link-keys", func() (map[string]any, error) {
			retired, err := tx.replaceLinkKeys()
			return map[string]any{"reason": reason, "retired": retired}, err
		})
	})
	if err == nil {
		err = o.reloadLinkKeys(ctx)
	}
	if err != nil {
		return storeError(fmt.Errorf("rotate link keys: %w", err))
	}
	return nil
}

// replaceLinkKeys retires all keys and makes a new one.
func (tx *writeTx) replaceLinkKeys() (retired int, err error) {
	stored, err := tx.LinkKeys()
	if err != nil {
		return 0, err
	}
	if len(stored) == 0 {
		return 0, errors.New("there are no link keys to replace")
	}
	if err := tx.RetireLinkKeys(linkKeyIDs(stored)...); err != nil {
		return 0, err
	}
	return len(stored), tx.addLinkKey(stored, tx.Now)
}
