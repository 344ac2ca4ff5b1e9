package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// Receipts that the signer refuses do not delay the others.
func TestReceiptsBehindManyThatCannotBeSigned(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: makes more acceptances than one pass takes")
	}
	refused := make(map[sortie.Hash]bool)
	s := openTestMedia(t, sqliteDatabase(t), func(config *Config) {
		sign := config.Settler
		config.Settler = func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
			if refused[settlement.Payments[0].SubmissionKey] {
				return nil, errors.New("not this one")
			}
			return sign(ctx, domain, settlement)
		}
	})
	draft := s.publish("k", maxDue+2, "")
	var first string
	for i := range maxDue + 1 {
		first = s.submitQuickly(contributor(i), draft, "k")
		refused[sortie.SubmissionKey(first)] = true
	}
	s.pass(time.Second)
	last := s.submitQuickly(bob, draft, "k")
	s.pass(testHold)
	for range 2 { // only so many become final in one go
		if err := doDue(context.Background(), s.ledger); err == nil {
			t.Error("got no error, want that of the signer")
		}
	}
	s.wantReceipt(last, maxDue+1)
	clear(refused)
	s.due()
	s.wantReceipt(first, *s.stored(first).Slot)
	s.wantEverySlotPaidOnce(draft, maxDue+2)
}

// A slow signer does not delay the expiry of reservations, and several receipts are signed at once.
func TestNothingWaitsForASlowSigner(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		const receipts = 3
		var under atomic.Int64
		allUnder, release := make(chan struct{}), make(chan struct{})
		s := openTestMedia(t, database, func(config *Config) {
			sign := config.Settler
			config.Settler = func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
				if under.Add(1) == receipts {
					close(allUnder)
				}
				select {
				case <-release:
					return sign(ctx, domain, settlement)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		})
		ctx := context.Background()
		draft := s.publish("k", receipts+1, "")
		for i := range receipts {
			s.submitQuickly(contributor(i), draft, fmt.Sprint(i))
		}
		s.pass(testHold)
		s.must(s.ledger.DueByTime(ctx))
		declared, err := s.declare(bob, draft, "one", photo(1))
		s.must(err)
		signed := make(chan error, 1)
		go func() { signed <- s.ledger.SignReceipts(ctx) }()
		select {
		case <-allUnder:
		case err := <-signed:
			t.Fatalf("receipts are signed one after the other: %v", err)
		}
		s.pass(2 * ReservationTime)
		s.must(s.ledger.DueByTime(ctx))
		s.wantStatus(declared.SubmissionID, sortie.SubmissionRejected)
		close(release)
		s.must(<-signed)
		if left := s.count(`SELECT COUNT(*) FROM submissions WHERE final_at IS NOT NULL AND receipt IS NULL`); left != 0 {
			t.Errorf("%d receipts are missing, want 0", left)
		}
	})
}

// A mission is paid by the factory that it was funded in, also when the service has a new factory.
func TestReceiptsAreForTheFactoryOfTheirMission(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		draft := s.publish("k", 1, "")
		id := s.submitQuickly(bob, draft, "one")
		s.pass(testHold)
		moved := s.another(func(config *Config) { config.Domain.Factory = otherFactory })
		s.must(doDue(context.Background(), moved.Ledger))
		s.wantReceipt(id, 0)
	})
}
