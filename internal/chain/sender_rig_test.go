package chain_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const (
	anvilPath = "../../contracts/node_modules/.bin/anvil"
	blockTime = 12 * time.Second
	gwei      = 1_000_000_000
)

var factoryABI = missionfactory.NewMissionFactory()

// rig is a chain whose blocks the test makes, funded missions on it, a database, and a sender that
// closes them.
type rig struct {
	t          testing.TB
	anvil      *ethclient.Client // straight to the chain
	front      *meddler          // what the sender takes for its node
	deployment chain.Deployment
	settler    *funding.Settler
	key        *sortie.Key // of the sender's account
	missions   []string    // ids of funded missions that are not closed
	firstBlock uint64      // of the sender's work
	firstNonce uint64
	baseFee    int64  // of the next block
	depth      uint64 // blocks after which one is final

	database string
	clock    *movableClock
	db       *store.DB
	nodes    *chain.Nodes
	config   chain.SenderConfig
	sender   *chain.Sender
	lease    store.Lease
}

// onBothEngines runs a test on a rig with each database.
func onBothEngines(t *testing.T, missions int, test func(t *testing.T, r *rig)) {
	t.Helper()
	for name, database := range map[string]func(testing.TB) string{"SQLite": sqliteDatabase, "PostgreSQL": pgtest.Database} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t, missions, database(t)))
		})
	}
}

func sqliteDatabase(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "sortie.db") }

func newRig(t testing.TB, missions int, database string) *rig {
	t.Helper()
	r := &rig{t: t, baseFee: gwei, depth: 3, database: database, clock: &movableClock{time: time.Now()}}
	url := startAnvil(t)
	var err error
	if r.anvil, err = ethclient.Dial(url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.anvil.Close)
	r.front = newMeddler(t, r.anvil.Client())
	r.deploy()
	r.fundMissions(missions)
	r.key = devnet.WalletByRole(devnet.RoleSender).Key
	r.firstNonce, r.firstBlock = r.nonce(), r.head()+1
	r.openStore()
	r.useNodes(r.front.URL)
	r.restart()
	return r
}

func startAnvil(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat(anvilPath); err != nil {
		t.Fatalf("anvil is not installed: run `make setup` (%v)", err)
	}
	anvil := exec.Command(anvilPath, "--port", "0", "--chain-id", "31337", "--preserve-historical-states")
	anvil.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is a script around the program: both must end
	output, err := anvil.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := anvil.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-anvil.Process.Pid, syscall.SIGKILL)
		_ = anvil.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), "Listening on "); found {
			go func() { _, _ = io.Copy(io.Discard, output) }() // or anvil blocks on a full pipe
			return "http://" + address
		}
	}
	t.Fatal("anvil did not start")
	return ""
}

func signerOf(key *sortie.Key) chain.TransactionSigner {
	return devnet.NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return key.SignDigest(digest), nil
	})
}

func (r *rig) deploy() {
	r.t.Helper()
	d, err := devnet.Deploy(r.t.Context(), r.anvil, signerOf(devnet.WalletByRole(devnet.RoleDeployer).Key), devnet.DeployParams{
		Authorizer: devnet.WalletByRole(devnet.RoleAuthorizer).Address, Settler: devnet.WalletByRole(devnet.RoleSettler).Address,
		WithTestTokens: true,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.deployment = chain.Deployment{ChainID: d.ChainID, Factory: d.Factory, USDC: d.USDC, ServiceToken: d.ServiceToken}
	if r.settler, err = funding.NewSettler(r.domain(), r.developmentKey(devnet.RoleSettler)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) domain() sortie.Domain {
	return sortie.Domain{ChainID: r.deployment.ChainID, Factory: r.deployment.Factory}
}

func (r *rig) developmentKey(role devnet.Role) funding.Signer {
	r.t.Helper()
	secret, err := devnet.Key(devnet.DefaultChainID, int(devnet.WalletByRole(role).Index))
	if err != nil {
		r.t.Fatal(err)
	}
	signer, err := funding.NewKeySigner(secret)
	if err != nil {
		r.t.Fatal(err)
	}
	return signer
}

// fundMissions creates missions of the deployer, who owns all service tokens, and turns automatic
// mining off.
func (r *rig) fundMissions(missions int) {
	r.t.Helper()
	ctx := r.t.Context()
	creator := devnet.WalletByRole(devnet.RoleDeployer).Key
	account, err := chain.OpenAccount(ctx, r.anvil, signerOf(creator), r.deployment.ChainID)
	if err != nil {
		r.t.Fatal(err)
	}
	maxAllowance := new(big.Int).Lsh(big.NewInt(1), 255)
	approval := servicetoken.NewServiceToken().PackApprove(common.Address(r.deployment.Factory), maxAllowance)
	if _, err := account.Send(ctx, 100_000, &r.deployment.ServiceToken, approval); err != nil {
		r.t.Fatal(err)
	}
	r.rpc(nil, "evm_setAutomine", false)
	issuer, err := funding.NewIssuer(r.domain(), r.developmentKey(devnet.RoleAuthorizer), funding.DefaultTTL)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range missions {
		terms := sortie.MissionAuthorization{
			MissionID: fmt.Sprintf("mission-%d", i), Token: r.deployment.ServiceToken, RewardPerSubmission: big.NewInt(1000),
			TargetCount: 3, Creator: creator.Address(),
		}
		_, _ = rand.Read(terms.Nonce[:])
		quote, err := issuer.Quote(ctx, terms, time.Now())
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := account.Send(ctx, 400_000, &r.deployment.Factory, quote.Calldata); err != nil {
			r.t.Fatal(err)
		}
		r.missions = append(r.missions, terms.MissionID)
	}
	r.mine()
	for _, id := range r.missions {
		if r.mission(id).Creator != common.Address(creator.Address()) {
			r.t.Fatalf("%s was not funded", id)
		}
	}
}

func (r *rig) rpc(result any, method string, args ...any) {
	r.t.Helper()
	if err := r.anvil.Client().CallContext(context.Background(), result, method, args...); err != nil {
		r.t.Fatalf("%s: %v", method, err)
	}
}

// mine makes a block, and lets the time of one pass.
func (r *rig) mine() {
	r.t.Helper()
	r.rpc(nil, "anvil_setNextBlockBaseFeePerGas", fmt.Sprintf("0x%x", r.baseFee))
	r.rpc(nil, "evm_mine")
	r.clock.advance(blockTime)
}

func (r *rig) head() uint64 {
	r.t.Helper()
	number, err := r.anvil.BlockNumber(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return number
}

func (r *rig) nonce() uint64 {
	r.t.Helper()
	nonce, err := r.anvil.NonceAt(context.Background(), common.Address(r.key.Address()), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return nonce
}

func (r *rig) final() uint64 { return r.head() - min(r.head(), r.depth) }

func (r *rig) mission(id string) missionfactory.IMissionFactoryMission {
	r.t.Helper()
	to := common.Address(r.deployment.Factory)
	answer, err := r.anvil.CallContract(context.Background(), ethereum.CallMsg{To: &to, Data: factoryABI.PackMissions(sortie.MissionKey(id))}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	mission, err := factoryABI.UnpackMissions(answer)
	if err != nil {
		r.t.Fatal(err)
	}
	return mission
}

// openStore opens the database, once more after a death.
func (r *rig) openStore() {
	r.t.Helper()
	var err error
	if r.db, err = store.Open(context.Background(), r.database, store.Options{Clock: r.clock.now, Logger: quiet}); err != nil {
		r.t.Fatal(err)
	}
	db := r.db
	r.t.Cleanup(func() { _ = db.Close() })
}

func (r *rig) useNodes(urls ...string) {
	r.t.Helper()
	nodes, err := chain.OpenNodes(context.Background(), urls, r.deployment, quiet)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(nodes.Close)
	r.nodes = nodes
}

// restart gives the lease to a new sender, as after a crash: nothing remains of the old one but
// what is stored.
func (r *rig) restart() {
	r.t.Helper()
	r.clock.advance(time.Hour) // the old lease expires
	lease, err := r.db.AcquireLease(context.Background(), chain.SenderLease(r.deployment.ChainID, r.key.Address()), rand.Text(), time.Minute)
	if err != nil {
		r.t.Fatal(err)
	}
	config := r.config
	config.Nodes, config.Store, config.ChainID = r.nodes, r.db, r.deployment.ChainID
	config.Final, config.Clock, config.Logger = r.final, r.clock.now, quiet
	if config.Signer == nil {
		config.Signer = signerOf(r.key)
	}
	if config.Prepare == nil {
		config.Prepare = map[string]chain.Prepare{"close": r.prepareClose}
	}
	r.lease, r.sender = lease, chain.NewSender(config)
}

func (r *rig) prepareClose(ctx context.Context, intent store.Intent) (sortie.Address, []byte, error) {
	mission := r.mission(intent.Subject)
	if mission.Closed != 0 {
		return sortie.Address{}, nil, chain.ErrAlreadyDone
	}
	end := sortie.Close{MissionKey: sortie.MissionKey(intent.Subject), PaidCount: mission.PaidCount.Uint64()}
	signature, err := r.settler.SignClose(ctx, end)
	if err != nil {
		return sortie.Address{}, nil, err
	}
	return r.deployment.Factory, end.Calldata(signature), nil
}

// want asks for missions to be closed.
func (r *rig) want(missions ...string) {
	r.t.Helper()
	err := r.db.Tx(context.Background(), func(tx *store.Tx) error {
		for _, id := range missions {
			if _, _, err := tx.AddIntent("close", id, r.deployment.ChainID, r.key.Address()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) step() {
	r.t.Helper()
	if err := r.sender.Step(context.Background(), r.lease); err != nil {
		r.t.Fatalf("step: %v", err)
	}
}

// drain makes blocks until no intent is left, and says how many it took.
func (r *rig) drain(limit int) int {
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
	r.t.Fatalf("not done after %d blocks; status %+v", limit, r.sender.Status())
	return limit
}

func (r *rig) intents(statuses ...store.IntentStatus) []store.Intent {
	r.t.Helper()
	intents, err := r.db.Intents(context.Background(), r.deployment.ChainID, r.key.Address(), statuses...)
	if err != nil {
		r.t.Fatal(err)
	}
	return intents
}

func (r *rig) intent(mission string) store.Intent {
	r.t.Helper()
	intent, err := r.db.IntentOf(context.Background(), "close", mission)
	if err != nil {
		r.t.Fatal(err)
	}
	return intent
}

func (r *rig) wantAlarm(kind string, present bool) {
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

// checkExactlyOnce counts on the chain: every mission that was wanted closed once, by as many
// transactions of the account as there were closes and others (of strangers, or in vain), and
// nothing of it left in the pool.
func (r *rig) checkExactlyOnce(closed []string, others int) {
	r.t.Helper()
	ctx := context.Background()
	logs, err := r.anvil.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(r.firstBlock), Addresses: []common.Address{common.Address(r.deployment.Factory)},
		Topics: [][]common.Hash{{factoryABI.GetABI().Events["MissionClosed"].ID}},
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
			r.t.Errorf("%s was closed %d times", id, n)
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
	r.rpc(&pool, "txpool_status")
	if pool.Pending != "0x0" || pool.Queued != "0x0" {
		r.t.Errorf("the pool still holds transactions: %+v", pool)
	}
}

// minedTransactions are those of the account since the rig was made.
func (r *rig) minedTransactions() (mined []*types.Transaction) {
	r.t.Helper()
	rules := types.LatestSignerForChainID(new(big.Int).SetUint64(r.deployment.ChainID))
	for number := r.firstBlock; number <= r.head(); number++ {
		block, err := r.anvil.BlockByNumber(context.Background(), new(big.Int).SetUint64(number))
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

// movableClock stands until it is moved.
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

// otherKey is of an account that has ether and no part in the service.
var otherKey = devnet.WalletByRole(devnet.RoleContributor3).Key
