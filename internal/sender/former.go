package sender

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// reassignAfter is how long a transaction of a former sender may wait to be mined before another
// account begins its intent anew.
const reassignAfter = 10 * time.Minute

// NewFormer makes a sender for an account whose key this service does not have any more. It
// signs nothing: it stays with the transactions that the account has sent until they are final,
// sends them again where they may have been dropped, and hands what has no transaction, or one that
// is not mined for long, to the account of the configured signer.
//
// Such a transaction may be mined later all the same, next to that of the new account. That costs
// gas and does no harm: the contract pays a slot once and closes a mission once.
func NewFormer(config Config, former sortie.Address) *Sender {
	successor := config.Signer.Address()
	config.Signer = noKey{former}
	s := New(config)
	s.successor = successor
	return s
}

// isFormer reports whether the sender has no key.
func (s *Sender) isFormer() bool { return !s.successor.IsZero() }

// noKey is the account of a former sender.
type noKey struct{ address sortie.Address }

func (k noKey) Address() sortie.Address { return k.address }

func (k noKey) SignTransaction(context.Context, uint64, *types.Transaction) (*types.Transaction, error) {
	return nil, errors.New("the key of a former sender is not here")
}

// reassign gives the intents to the successor that the account cannot finish, and keeps the
// transactions of the others alive.
func (s *Sender) reassign(ctx context.Context, lease store.Lease, r *tick) error {
	var given []*txIntent
	for _, p := range r.intents {
		isWaiting := p.Status == store.IntentSent && p.outcome == outcomeWaiting
		switch {
		case p.Status == store.IntentQueued, isWaiting && r.now.Sub(p.newest().SentAt) >= reassignAfter:
			given = append(given, p)
		case isWaiting && r.now.Sub(s.state.broadcast[p.newest().Hash]) >= rebroadcastAfter:
			s.broadcast(ctx, r, p)
		}
	}
	if len(given) == 0 {
		return nil
	}
	err := s.write(ctx, lease, func(tx *store.Tx) error {
		for _, p := range given {
			if err := tx.HandOver(p.Intent, s.successor); err != nil {
				return fmt.Errorf("hand %s %s over: %w", p.Kind, p.Subject, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range given {
		s.config.Logger.Info("intent of a former sender", "kind", p.Kind, "subject", p.Subject, "was", p.Status, "former", s.config.Signer.Address(), "sender", s.successor)
	}
	return nil
}
