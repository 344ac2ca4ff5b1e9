package devnet

import (
	"context"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/core"
)

// clockWarning is a lead over the wall clock, beyond the allowed one, that only a clock set back
// can cause.
const clockWarning = 5 * time.Second

// producer makes the blocks: one goroutine, for as long as the chain runs.
type producer struct {
	ledger ledger
	pace   pace
	now    func() time.Time
	log    *slog.Logger

	sealedAt     time.Time
	waitingSince time.Time
}

// run makes blocks until ctx ends or one cannot be made.
func (p *producer) run(ctx context.Context) error {
	arrivals := make(chan core.NewTxsEvent, 256)
	subscription := p.ledger.node.pool.SubscribeTransactions(arrivals, true)
	defer subscription.Unsubscribe()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		head := p.ledger.head().Time
		wait := p.pace.due(head, p.sealedAt, p.waitingSince).Sub(p.now())
		if wait <= 0 {
			if err := p.step(); err != nil {
				return err
			}
			continue
		}
		if lead := ahead(head, p.now()); lead > p.pace.lead+clockWarning {
			p.log.WarnContext(ctx, "no block until the machine's clock catches up with the chain's: was it set back?", "lead", lead)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-arrivals:
			if p.waitingSince.IsZero() {
				p.waitingSince = p.now()
			}
		case <-timer.C:
		}
	}
	return nil
}

// step seals a block, unless it was due only for transactions that an earlier block has taken
// meanwhile.
func (p *producer) step() error {
	now := p.now()
	head := p.ledger.head()
	idleDue := p.pace.due(head.Time, p.sealedAt, time.Time{})
	if now.Before(idleDue) && !p.ledger.mineable() {
		p.waitingSince = time.Time{}
		return nil
	}
	block, err := p.ledger.seal(p.pace.timestamp(head.Time, now))
	if err != nil {
		return err
	}
	p.sealedAt, p.waitingSince = p.now(), time.Time{}
	if len(block.Transactions()) > 0 && p.ledger.mineable() { // the block was full; an empty one proves nothing will fit
		p.waitingSince = p.sealedAt
	}
	return nil
}
