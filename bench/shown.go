package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
)

const (
	shownMissions = 24
	shownTimeout  = time.Minute
	// devInterval is how often the follower looks at the chain of `sortie dev`: four times for each
	// of its blocks, of which one comes every second.
	devInterval = 250 * time.Millisecond
)

// sighting is what a creator saw of a funding.
type sighting struct {
	seen, reviewed time.Duration // after the node had the block that it takes
}

// measureShown funds missions one after the other and measures how long after the node has a block
// a creator sees what it means. The service finds the block by itself.
func (b *bench) measureShown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shownTimeout)
	defer cancel()
	creator := devnet.WalletByRole(devnet.RoleCreator)
	client, err := sortie.NewClient(b.dev.BaseURL, creator.Key)
	if err != nil {
		return err
	}
	node, err := chain.Dial(ctx, b.dev.RPCURL)
	if err != nil {
		return err
	}
	defer node.Close()
	account, err := b.openBudget(ctx, node, creator)
	if err != nil {
		return err
	}
	watched, stop := context.WithCancel(ctx)
	defer stop()
	heads := arrivals{at: make(map[uint64]time.Time)}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return heads.watch(watched, node) })

	sightings := make([]sighting, shownMissions)
	var watchers errgroup.Group
	for i := range sightings {
		draft, tx, err := fundOne(ctx, client, account, i)
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
		watchers.Go(func() (err error) {
			sightings[i], err = watchOne(ctx, client, account, draft, tx, &heads)
			return err
		})
		// Not in step with the follower, which would see all of them equally late.
		time.Sleep(rand.N(2 * devInterval))
	}
	err = watchers.Wait()
	stop()
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	b.reportShown("the funding is shown", sightings, func(s sighting) time.Duration { return s.seen })
	b.reportShown("the review begins, one block later", sightings, func(s sighting) time.Duration { return s.reviewed })
	return nil
}

func (b *bench) reportShown(name string, sightings []sighting, of func(sighting) time.Duration) {
	times := make([]time.Duration, len(sightings))
	for i, s := range sightings {
		times[i] = of(s)
	}
	slices.Sort(times)
	middle, late := times[len(times)/2], times[(len(times)*95+99)/100-1]
	section := fmt.Sprintf("from mined to shown, of %d missions", len(times))
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	b.report.add(section, result{Name: name + ": median", Value: milliseconds(middle), Unit: "ms"})
	b.report.add(section, result{Name: name + ": 95th of 100", Value: milliseconds(late), Unit: "ms"})
	b.report.add(section, result{Name: name + ": median, in looks of the follower", Product: fmt.Sprintf("%.0f ms", milliseconds(middle)),
		Limit: fmt.Sprintf("%.0f ms", milliseconds(devInterval)), Value: quotient(middle, devInterval)})
}

// arrivals are when a node first had its blocks.
type arrivals struct {
	mutex sync.Mutex
	at    map[uint64]time.Time
}

// watch asks for the newest block again and again.
func (a *arrivals) watch(ctx context.Context, node *chain.Node) error {
	for newest := uint64(0); ; {
		number, err := node.BlockNumber(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		a.mutex.Lock()
		for now := time.Now(); newest < number; newest++ {
			a.at[newest+1] = now
		}
		a.mutex.Unlock()
		time.Sleep(pollInterval)
	}
}

func (a *arrivals) of(number uint64) time.Time {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.at[number]
}

// openBudget lets the factory take what all missions cost.
func (b *bench) openBudget(ctx context.Context, node *chain.Node, creator devnet.Wallet) (*chain.Account, error) {
	secret, err := devnet.Key(b.dev.ChainID, int(creator.Index))
	if err != nil {
		return nil, err
	}
	signer, err := funding.NewKeySigner(secret)
	if err != nil {
		return nil, err
	}
	account, err := chain.OpenAccount(ctx, node, transactionSigner{signer}, b.dev.ChainID)
	if err != nil {
		return nil, err
	}
	draft, err := b.sampleDraft(creator.Address)
	if err != nil {
		return nil, err
	}
	budget := new(big.Int).Mul(draft.Reward, big.NewInt(int64(draft.TargetCount*shownMissions)))
	_, err = chain.ApproveExactly(ctx, account, draft.TokenAddress, draft.Factory, budget)
	return account, err
}

type transactionSigner struct{ funding.Signer }

func (s transactionSigner) SignTransaction(ctx context.Context, chainID uint64, tx *types.Transaction) (*types.Transaction, error) {
	return funding.SignTransaction(ctx, s.Signer, chainID, tx)
}

// fundOne creates a draft and sends what its quote says.
func fundOne(ctx context.Context, client *sortie.Client, account *chain.Account, number int) (draftID string, tx *types.Transaction, err error) {
	draft, err := client.CreateDraftJSON(ctx, json.RawMessage(missionBody), fmt.Sprintf("shown-%d", number))
	if err != nil {
		return "", nil, err
	}
	quote := draft.FundingQuote
	gas, err := account.Estimate(ctx, &quote.FactoryAddress, quote.Calldata)
	if err != nil {
		return "", nil, err
	}
	tx, err = account.Send(ctx, gas, &quote.FactoryAddress, quote.Calldata)
	return draft.DraftID, tx, err
}

// watchOne asks for a mission's status until its review begins.
func watchOne(ctx context.Context, client *sortie.Client, account *chain.Account, draftID string, tx *types.Transaction, heads *arrivals) (sighting, error) {
	var seen, reviewed time.Time
	for reviewed.IsZero() {
		status, err := client.Mission(ctx, draftID)
		if err != nil {
			return sighting{}, err
		}
		now := time.Now()
		if seen.IsZero() && status.NextAction != sortie.ActionSendTransaction {
			seen = now
		}
		if status.ReviewStatus == sortie.ReviewInReview {
			reviewed = now
		}
		time.Sleep(2 * pollInterval)
	}
	receipt, err := account.Mined(ctx, tx)
	if err != nil {
		return sighting{}, err
	}
	number := receipt.BlockNumber.Uint64()
	return sighting{seen.Sub(heads.of(number)), reviewed.Sub(heads.of(number + 1))}, nil
}
