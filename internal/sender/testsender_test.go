package sender_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/anviltest"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

const blockTime = 12 * time.Second

var quiet = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// testSender is a sender that closes missions, with its database, on a chain of anvil.
type testSender struct {
	t testing.TB
	*anviltest.Chain
	front      *proxyNode  // the node that the sender uses
	key        *sortie.Key // of the sender's account
	firstBlock uint64      // of the sender's work
	firstNonce uint64
	depth      uint64 // blocks after which one is final

	database string
	clock    *movableClock
	db       *store.DB
	nodes    *chain.Nodes
	config   sender.Config
	sender   *sender.Sender
	lease    store.Lease
}

// onBothEngines runs a test with each database.
func onBothEngines(t *testing.T, missions int, test func(t *testing.T, r *testSender)) {
	t.Helper()
	for name, database := range map[string]func(testing.TB) string{"SQLite": sqliteDatabase, "PostgreSQL": pgtest.Database} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newTestSender(t, missions, database(t)))
		})
	}
}

func sqliteDatabase(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "sortie.db") }

func newTestSender(t testing.TB, missions int, database string) *testSender {
	t.Helper()
	r := &testSender{t: t, Chain: anviltest.Start(t, missions), depth: 3, database: database, clock: &movableClock{time: time.Now()}}
	r.clock.advance(blockTime)
	r.front = newProxyNode(t, r.Client.Client())
	r.key = devnet.WalletByRole(devnet.RoleSender).Key
	r.firstNonce, r.firstBlock = r.nonce(), r.Head()+1
	r.openStore()
	r.useNodes(r.front.URL)
	r.restart()
	return r
}

// mine mines a block, and moves the clock.
func (r *testSender) mine() {
	r.t.Helper()
	r.Chain.Mine()
	r.clock.advance(blockTime)
}

func (r *testSender) nonce() uint64 {
	r.t.Helper()
	nonce, err := r.Client.NonceAt(context.Background(), common.Address(r.key.Address()), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return nonce
}

func (r *testSender) final() uint64 { return r.Head() - min(r.Head(), r.depth) }

// openStore opens the database, also again after a crash.
func (r *testSender) openStore() {
	r.t.Helper()
	var err error
	if r.db, err = store.Open(context.Background(), r.database, store.Options{Clock: r.clock.now, Logger: quiet}); err != nil {
		r.t.Fatal(err)
	}
	db := r.db
	r.t.Cleanup(func() { _ = db.Close() })
}

func (r *testSender) useNodes(urls ...string) {
	r.t.Helper()
	nodes, err := chain.OpenNodes(context.Background(), urls, r.Deployment, quiet)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(nodes.Close)
	r.nodes = nodes
}

// restart gives the lease to a new sender, as after a crash: only what is stored remains.
func (r *testSender) restart() {
	r.t.Helper()
	r.clock.advance(time.Hour) // the old lease expires
	lease, err := r.db.AcquireLease(context.Background(), sender.LeaseName(r.Deployment.ChainID, r.key.Address()), rand.Text(), time.Minute)
	if err != nil {
		r.t.Fatal(err)
	}
	config := r.config
	config.Nodes, config.Store, config.ChainID = r.nodes, r.db, r.Deployment.ChainID
	config.Final, config.Clock, config.Logger = r.final, r.clock.now, quiet
	if config.Signer == nil {
		config.Signer = anviltest.SignerOf(r.key)
	}
	if config.Prepare == nil {
		config.Prepare = map[string]sender.Prepare{"close": r.prepareClose}
	}
	r.lease, r.sender = lease, sender.New(config)
}

func (r *testSender) prepareClose(ctx context.Context, intent store.Intent) (sortie.Address, []byte, error) {
	mission := r.Mission(intent.Subject)
	if mission.Closed != 0 {
		return sortie.Address{}, nil, sender.ErrAlreadyDone
	}
	end := sortie.Close{MissionKey: sortie.MissionKey(intent.Subject), PaidCount: mission.PaidCount.Uint64()}
	signature, err := r.Settler.SignClose(ctx, end)
	if err != nil {
		return sortie.Address{}, nil, err
	}
	return r.Deployment.Factory, end.Calldata(signature), nil
}

// want queues intents to close missions.
func (r *testSender) want(missions ...string) {
	r.t.Helper()
	err := r.db.Tx(context.Background(), func(tx *store.Tx) error {
		for _, id := range missions {
			if _, _, err := tx.AddIntent("close", id, r.Deployment.ChainID, r.key.Address()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *testSender) step() {
	r.t.Helper()
	if err := r.sender.Step(context.Background(), r.lease); err != nil {
		r.t.Fatalf("step: got error %v, want none", err)
	}
}

// drain mines until no intent is active, and returns the number of blocks.
func (r *testSender) drain(limit int) int {
	r.t.Helper()
	for blocks := range limit {
		r.step()
		if len(r.intents(store.IntentQueued, store.IntentSent, store.IntentMined)) == 0 {
			return blocks
		}
		r.mine()
	}
	for _, intent := range r.intents(store.IntentQueued, store.IntentSent, store.IntentMined) {
		r.t.Logf("%s %s is %s, problem %q, %d attempts", intent.Kind, intent.Subject, intent.Status, intent.Problem, len(intent.Attempts))
	}
	r.t.Fatalf("active intents after %d blocks: status %+v, want none", limit, r.sender.Status())
	return limit
}

func (r *testSender) intents(statuses ...store.IntentStatus) []store.Intent {
	r.t.Helper()
	intents, err := r.db.Intents(context.Background(), r.Deployment.ChainID, r.key.Address(), statuses...)
	if err != nil {
		r.t.Fatal(err)
	}
	return intents
}

func (r *testSender) intent(mission string) store.Intent {
	r.t.Helper()
	intent, err := r.db.IntentOf(context.Background(), "close", mission)
	if err != nil {
		r.t.Fatal(err)
	}
	return intent
}

func (r *testSender) wantAlarm(kind string, present bool) {
	r.t.Helper()
	alarms := r.sender.Status().Alarms
	found := false
	for _, alarm := range alarms {
		found = found || alarm.Kind == kind
	}
	if found != present {
		r.t.Errorf("alarm %s: %t, want %t; the alarms are %v", kind, found, present, alarms)
	}
}

// checkExactlyOnce checks the chain: every mission was closed once, by as many transactions of the
// account as there were closes and others (foreign, or without effect), and the pool is empty.
func (r *testSender) checkExactlyOnce(closed []string, others int) {
	r.t.Helper()
	ctx := context.Background()
	logs, err := r.Client.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(r.firstBlock), Addresses: []common.Address{common.Address(r.Deployment.Factory)},
		Topics: [][]common.Hash{{anviltest.Factory.GetABI().Events["MissionClosed"].ID}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	times := map[common.Hash]int{}
	for _, log := range logs {
		times[log.Topics[1]]++
	}
	for _, id := range closed {
		if n := times[common.Hash(sortie.MissionKey(id))]; n != 1 {
			r.t.Errorf("%s was closed %d times, want once", id, n)
		}
	}
	if len(times) != len(closed) {
		r.t.Errorf("%d missions were closed, want %d", len(times), len(closed))
	}
	mined := r.minedTransactions()
	if want := len(closed) + others; len(mined) != want || r.nonce()-r.firstNonce != uint64(len(mined)) {
		r.t.Errorf("%d transactions were mined and the nonce rose by %d, want %d", len(mined), r.nonce()-r.firstNonce, want)
	}
	var pool struct{ Pending, Queued string }
	r.RPC(&pool, "txpool_status")
	if pool.Pending != "0x0" || pool.Queued != "0x0" {
		r.t.Errorf("got transactions %+v in the pool, want none", pool)
	}
}

// minedTransactions returns those of the account since the start.
func (r *testSender) minedTransactions() (mined []*types.Transaction) {
	r.t.Helper()
	rules := types.LatestSignerForChainID(new(big.Int).SetUint64(r.Deployment.ChainID))
	for number := r.firstBlock; number <= r.Head(); number++ {
		block, err := r.Client.BlockByNumber(context.Background(), new(big.Int).SetUint64(number))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, tx := range block.Transactions() {
			if from, err := types.Sender(rules, tx); err == nil && from == common.Address(r.key.Address()) {
				mined = append(mined, tx)
			}
		}
	}
	return mined
}

// movableClock is a clock that the test moves.
type movableClock struct {
	mutex sync.Mutex
	time  time.Time
}

func (c *movableClock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.time
}

func (c *movableClock) advance(by time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.time = c.time.Add(by)
}

// otherKey is the key of an account with ether that is not part of the service.
var otherKey = devnet.WalletByRole(devnet.RoleContributor3).Key
