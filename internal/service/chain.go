package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/follower"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/jobs"
	"github.com/sortie-labs/sortie/internal/leases"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

// chainWork follows the chain and sends transactions while this process holds the leases, and runs
// the jobs about the chain.
type chainWork struct {
	app          *app.App
	ledger       *app.Ledger
	store        *store.DB
	nodes        *chain.Nodes
	follower     *follower.Follower
	sender       *sender.Sender // nil: refunds and payouts are off
	senderConfig sender.Config
	account      sortie.Address // of the sender
	settler      funding.Signer
	chainID      uint64
	holder       holder
	log          *slog.Logger

	sends                        bool        // has the chain role; it may wait for the lease
	following, sending, checking atomic.Bool // while it holds the lease
}

func newChainWork(s *Service) *chainWork {
	config := s.config
	w := &chainWork{
		app: s.app, ledger: s.ledger, store: s.store, nodes: s.nodes, settler: config.Settler, chainID: config.Deployment.ChainID, log: config.Logger, sends: config.Roles.Chain,
		holder: newHolder(s.store.Stats().Engine),
		follower: follower.New(follower.Config{
			Nodes: s.nodes, Ledger: s.ledger, ChainID: config.Deployment.ChainID, Confirmations: config.Confirmations,
			Finality: config.Finality, Logger: config.Logger, OnHead: s.ledger.ObserveBlock,
		}),
	}
	if config.Refunds() {
		w.account = config.Sender.Address()
		w.senderConfig = sender.Config{
			Nodes: s.nodes, Store: s.store, Signer: funding.TransactionSigner{Signer: config.Sender}, ChainID: config.Deployment.ChainID,
			MaxFeePerGas: config.MaxFeePerGas, MinBalance: config.MinGasBalance,
			Prepare: map[string]sender.Prepare{app.IntentClose: holdable(w.prepareClose), store.IntentSettle: holdable(w.prepareSettle)},
			Halted:  s.ledger.Halted, Final: w.finalBlock, Logger: config.Logger,
		}
		w.sender = sender.New(w.senderConfig)
	}
	return w
}

// wakeSender wakes the sender of this process. Without a sender it does nothing.
func (w *chainWork) wakeSender() {
	if w.sender != nil {
		w.sender.Wake()
	}
}

const positionTimeout = time.Second

// holder is the name and the duration with which this process holds leases.
type holder struct {
	id  string
	ttl time.Duration
}

// newHolder returns a unique name and short leases, so that another process takes over within
// seconds. An SQLite database has one process, which a file lock ensures. There the name is always
// the same, so that a restart does not wait, and leases are long, because each renewal flushes the
// disk.
func newHolder(engine string) holder {
	if engine == "sqlite" {
		return holder{id: "the only process", ttl: time.Minute}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // the rest of the name is unique
	}
	return holder{id: fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()), ttl: 5 * time.Second}
}

// follow follows the chain while this process holds the lease.
func (w *chainWork) follow(ctx context.Context) error {
	return w.whileLeased(ctx, fmt.Sprintf("follower:%d", w.chainID), &w.following, func(ctx context.Context, _ store.Lease) error {
		return w.follower.Run(ctx)
	})
}

// send sends transactions while this process holds the lease.
func (w *chainWork) send(ctx context.Context) error {
	if w.sender == nil {
		return nil
	}
	return w.whileLeased(ctx, sender.LeaseName(w.chainID, w.account), &w.sending, w.sendAndReport)
}

func (w *chainWork) whileLeased(ctx context.Context, name string, held *atomic.Bool, work func(context.Context, store.Lease) error) error {
	leased := leases.Holder{Leases: w.store, Name: name, ID: w.holder.id, TTL: w.holder.ttl, Logger: w.log}
	return leased.Run(ctx, func(ctx context.Context, lease store.Lease) error {
		held.Store(true)
		defer held.Store(false)
		return work(ctx, lease)
	})
}

// finalBlock is the newest final block that was followed; 0 if it cannot be read.
func (w *chainWork) finalBlock() uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), positionTimeout)
	defer cancel()
	position, err := w.store.ChainPosition(ctx, w.chainID)
	if err != nil {
		return 0
	}
	return position.Final
}

// jobs returns the jobs about the chain that this process can run.
func (w *chainWork) jobs() jobs.Work {
	work := jobs.Work{Reconcile: w.reconcile}
	if w.sender != nil {
		work.Refund = func(ctx context.Context, draftID string) error {
			if err := w.ledger.StartRefund(ctx, draftID); err != nil {
				return err
			}
			w.wakeSender()
			return nil
		}
	}
	return work
}

// reconcile compares the contract with the database and stores the report.
func (w *chainWork) reconcile(ctx context.Context) error {
	report, err := w.follower.Reconcile(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil // no block was followed yet
	}
	if err != nil {
		return err
	}
	if w.sender != nil {
		if _, err := w.ledger.RetryRefunds(ctx); err != nil {
			return err
		}
	}
	if report.More {
		if err := w.ledger.ContinueReconcile(ctx); err != nil {
			return err
		}
	}
	return w.ledger.RecordReconcile(ctx, sortie.ReconcileReport{Checked: report.Checked, Repaired: report.Repaired, Alarms: report.Alarms})
}

// prepareClose makes the transaction that closes a mission and refunds its remaining money. It
// reads the database and, from enough nodes, the contract, and has the settler sign.
func (w *chainWork) prepareClose(ctx context.Context, intent store.Intent) (to sortie.Address, data []byte, err error) {
	call, needed, err := w.ledger.CloseCall(ctx, intent.Subject)
	if err != nil {
		return to, nil, err
	}
	if !needed {
		return to, nil, sender.ErrAlreadyDone
	}
	escrow, err := w.nodes.Escrow(ctx, call.Domain.Factory, call.MissionKey)
	switch {
	case err != nil:
		return to, nil, err
	case escrow.Closed:
		return to, nil, sender.ErrAlreadyDone
	case !escrow.Funded: // a reorganization that was not followed yet
		return to, nil, fmt.Errorf("the contract does not have the mission of draft %s now", intent.Subject)
	}
	if call.Paid != nil && escrow.PaidCount != *call.Paid {
		return to, nil, fmt.Errorf("draft %s took %d slots and the contract has paid %d of them; compare with sortie solvency", intent.Subject, *call.Paid, escrow.PaidCount)
	}
	if call.Refund.Sign() > 0 {
		if err := w.tokenMoves(ctx, call.Token, call.Domain.Factory, call.Refund); err != nil {
			return to, nil, err
		}
	}
	settler, err := funding.NewSettler(call.Domain, w.settler)
	if err != nil {
		return to, nil, err
	}
	end := sortie.Close{MissionKey: call.MissionKey, PaidCount: escrow.PaidCount}
	signature, err := settler.SignClose(ctx, end)
	if err != nil {
		return to, nil, err
	}
	return call.Domain.Factory, end.Calldata(signature), nil
}

// senderStatus is the status of the sender; nil while this process does not send.
func (w *chainWork) senderStatus() *sortie.SenderStatus {
	if !w.sending.Load() {
		return nil
	}
	status := w.sender.Status()
	shown := &sortie.SenderStatus{Account: w.account, DaysLeft: status.DaysLeft, Alarms: []sortie.SenderAlarm{}}
	if status.Balance != nil {
		text := status.Balance.String()
		shown.BalanceWei = &text
	}
	for _, alarm := range status.Alarms {
		shown.Alarms = append(shown.Alarms, sortie.SenderAlarm{Kind: alarm.Kind, Detail: alarm.Detail})
	}
	return shown
}

// followerStatus is the status of the follower; nil while another process follows the chain.
func (w *chainWork) followerStatus() *sortie.FollowerStatus {
	if !w.following.Load() {
		return nil
	}
	status := w.follower.Status()
	shown := &sortie.FollowerStatus{Node: status.Node, Lag: status.Lag, Reorgs: status.Reorgs, Alarms: []sortie.ChainAlarm{}}
	if !status.LastProgress.IsZero() {
		text := sortie.FormatTime(status.LastProgress)
		shown.LastProgress = &text
	}
	for _, alarm := range status.Alarms {
		shown.Alarms = append(shown.Alarms, sortie.ChainAlarm{Kind: alarm.Kind, Detail: alarm.Detail, Since: sortie.FormatTime(alarm.Since), Count: uint64(alarm.Count)})
	}
	return shown
}
