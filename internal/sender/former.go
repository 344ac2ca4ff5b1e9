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

// reassignAfter is how long a transaction of a former sender may wait before another account takes
// over its intent.
const reassignAfter = 10 * time.Minute

// NewFormer returns a sender for an account whose key the service no longer has. It signs nothing:
// it follows the account's transactions until they are final, sends them again, and reassigns
// intents without a transaction, or with one that is not mined for long, to the account of the
// configured signer.
//
// The old transaction may still be mined. That costs gas and is otherwise harmless: the contract
// pays a slot once and closes a mission once.
func NewFormer(config Config, former sortie.Address) *Sender {
	successor := config.Signer.Address()
	config.Signer = noKey{former}
	s := New(config)
	s.successor = successor
	return s
}

// isFormer reports whether the sender has no key.
func (s *Sender) isFormer() bool { return !s.successor.IsZero() }

// noKey is the signer of a former sender.
type noKey struct{ address sortie.Address }

func (k noKey) Address() sortie.Address { return k.address }

func (k noKey) SignTransaction(context.Context, uint64, *types.Transaction) (*types.Transaction, error) {
	return nil, errors.New("the key of a former sender is not here")
}

// reassign moves intents that the account cannot finish to the successor, and sends the other
// transactions again.
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
