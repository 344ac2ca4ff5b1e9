package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/leases"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

// adoptInterval is the interval of the search for intents of former senders.
const adoptInterval = 5 * time.Second

// adopt finishes the intents of former senders. It needs their leases, which a process that still
// has the key keeps until none of its transactions is open.
func (w *chainWork) adopt(ctx context.Context) error {
	if w.sender == nil {
		return nil
	}
	var running sync.WaitGroup
	defer running.Wait()
	adopted := make(map[sortie.Address]chan struct{}) // closed when the account is finished
	ticker := time.NewTicker(adoptInterval)
	defer ticker.Stop()
	for {
		others, err := w.store.OtherSenders(ctx, w.chainID, w.account)
		if err != nil && ctx.Err() == nil {
			w.log.Warn("could not read the intents of former senders; retrying", "error", err)
		}
		for account := range others {
			if done, found := adopted[account]; found && !isClosed(done) {
				continue
			}
			done := make(chan struct{})
			adopted[account] = done
			running.Go(func() {
				defer close(done)
				w.finish(ctx, account)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func isClosed(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// finish waits for the lease of a former sender and works under it until the account has no open
// intent.
func (w *chainWork) finish(ctx context.Context, account sortie.Address) {
	former := sender.NewFormer(w.senderConfig, account)
	leased := leases.Holder{Leases: w.store, Name: sender.LeaseName(w.chainID, account), ID: w.holder.id, TTL: w.holder.ttl, Logger: w.log}
	err := leased.Run(ctx, func(ctx context.Context, lease store.Lease) error {
		w.log.Warn("finishing the transactions of a former sender; its unsent intents are sent by the current sender", "former", account.String(), "sender", w.account.String())
		err := former.Run(ctx, lease)
		if err == nil && ctx.Err() == nil {
			w.log.Info("the former sender is finished", "former", account.String())
		}
		w.sender.Wake()
		return err
	})
	if err != nil && !errors.Is(err, leases.ErrLost) {
		w.log.Warn("finishing a former sender failed; retrying", "former", account.String(), "error", err)
	}
}
