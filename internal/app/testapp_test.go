package app

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ingest.ChildArgument { // the child process that reads files
		os.Exit(ingest.ChildMain())
	}
	os.Exit(pgtest.Main(m))
}

// engines runs a test with an empty database of each engine.
func engines(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, sqliteDatabase(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.Database(t))
	})
}

func sqliteDatabase(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "sortie.db") }

var (
	alice        = sortie.MustAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
	bob          = sortie.MustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
	reviewer     = sortie.MustAddress("0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65")
	colleague    = sortie.MustAddress("0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc")
	gasPayer     = sortie.MustAddress("0x976EA74026E726554dB657fA54763abd0C3a0aa9")
	factory      = sortie.MustAddress("0x1111111111111111111111111111111111111111")
	otherFactory = sortie.MustAddress("0x2222222222222222222222222222222222222222")
	usdc         = sortie.MustAddress("0x036CbD53842c5426634e7929541eC2318f3dCF7e")
)

const (
	testChain         = 31337
	testConfirmations = 3
	testStart         = 100 // the block after which following begins

	testReclaimDelay = 180 * 24 * time.Hour // as in the contract
)

// testApp is the use cases on a real database, with a chain that a test makes block by block and a
// clock that it sets.
type testApp struct {
	t         rapid.TB
	db        *store.DB
	config    Config
	service   *Service
	app       *App
	ledger    *Ledger
	operators *Operators
	queue     *tableQueue
	wakes     int

	mu  sync.Mutex
	now time.Time

	position onchain.Position
	blocks   map[uint64]onchain.Block // the canonical chain as far as it was followed
	forks    uint64                   // distinguishes blocks of one number
	onStep   func(onchain.Advance)    // called before every step; may be nil
}

type testAppOptions struct {
	autoApprove bool
	configure   func(*Config) // changes what the use cases work with
}

// newTestApp opens the database, which close closes.
func newTestApp(t rapid.TB, database string, options testAppOptions) *testApp {
	t.Helper()
	ctx := context.Background()
	a := &testApp{t: t, queue: &tableQueue{}, now: time.UnixMilli(1_770_000_000_000), blocks: make(map[uint64]onchain.Block)}
	logger := slog.New(slog.DiscardHandler)
	var err error
	a.db, err = store.Open(ctx, database, store.Options{Clock: a.clock, Logger: logger})
	a.must(err)
	a.must(a.db.Tx(ctx, a.queue.prepare))
	signer, err := funding.NewKeySigner([32]byte{31: 7})
	a.must(err)
	domain := sortie.Domain{ChainID: testChain, Factory: factory}
	issuer, err := funding.NewIssuer(domain, signer, funding.DefaultTTL)
	a.must(err)
	a.config = Config{
		Store: a.db, Issuer: issuer, Domain: domain, Now: a.clock, Logger: logger,
		Tokens: map[sortie.Token]Token{sortie.TokenUSDC: {Address: usdc, Decimals: 6}},
		Queue:  a.queue, Operators: []sortie.Address{reviewer, colleague}, AutoApprove: options.autoApprove,
		Confirmations: testConfirmations, Sender: gasPayer, Wake: func() { a.wakes++ },
	}
	if options.configure != nil {
		options.configure(&a.config)
	}
	opened, err := New(ctx, a.config)
	a.must(err)
	a.use(opened)
	start := a.mine(testStart)
	a.must(a.ledger.Begin(ctx, testChain, start))
	a.blocks[testStart] = start
	a.position, err = a.ledger.Position(ctx, testChain)
	a.must(err)
	return a
}

func openTestApp(t testing.TB, database string, options testAppOptions) *testApp {
	t.Helper()
	a := newTestApp(t, database, options)
	t.Cleanup(a.close)
	return a
}

// use replaces the use cases, as a restart of the process does.
func (a *testApp) use(service *Service) {
	a.service, a.app, a.ledger, a.operators = service, service.App, service.Ledger, service.Operators
}

func (a *testApp) close() { a.must(a.db.Close()) }

func (a *testApp) clock() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

func (a *testApp) pass(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = a.now.Add(d)
}

func (a *testApp) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// create makes a draft.
func (a *testApp) create(wallet sortie.Address, key string) store.Draft {
	a.t.Helper()
	return a.createAs(wallet, key, `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4}`)
}

func (a *testApp) createAs(wallet sortie.Address, key, body string) store.Draft {
	a.t.Helper()
	view, _, err := a.app.CreateDraft(context.Background(), wallet, key, []byte(body))
	a.must(err)
	return a.read(view.DraftID)
}

func (a *testApp) read(draftID string) store.Draft {
	a.t.Helper()
	draft, err := a.db.DraftByDraftID(context.Background(), draftID)
	a.must(err)
	return draft
}

// mine makes a unique block.
func (a *testApp) mine(number uint64) onchain.Block {
	a.forks++
	return onchain.Block{Number: number, Hash: testHash('b', number, a.forks), Time: a.clock().UTC().Truncate(time.Second)}
}

func testHash(kind byte, values ...uint64) (hash sortie.Hash) {
	encoded := []byte{kind}
	for _, value := range values {
		encoded = binary.BigEndian.AppendUint64(encoded, value)
	}
	copy(hash[:], encoded)
	return hash
}

// fundingOf is the funding event of a draft's quote, in no block yet.
func fundingOf(draft store.Draft) onchain.Event {
	return onchain.Event{
		Factory: draft.Factory, Kind: onchain.EventMissionFunded, MissionKey: sortie.MissionKey(draft.MissionID),
		Funded: &onchain.MissionFunded{
			MissionID: draft.MissionID, Creator: draft.Wallet, Token: draft.TokenAddress, Reward: draft.Reward,
			TargetCount: big.NewInt(int64(draft.TargetCount)), Nonce: draft.Nonce, ReclaimAfter: uint64(draft.CreatedAt.Add(testReclaimDelay).Unix()),
		},
	}
}

// closingOf is the event of a close (1) or a reclaim (2), in no block yet.
func closingOf(draft store.Draft, reason uint8) onchain.Event {
	return onchain.Event{
		Factory: draft.Factory, Kind: onchain.EventMissionClosed, MissionKey: sortie.MissionKey(draft.MissionID),
		Closed: &onchain.MissionClosed{Refund: new(big.Int).Mul(draft.Reward, big.NewInt(int64(draft.TargetCount))), Reason: reason},
	}
}

// step prepares the advance to a chain with one block for each list of events after the block with
// the number after. A test may change Head and Final.
func (a *testApp) step(after uint64, contents ...[]onchain.Event) onchain.Advance {
	step := onchain.Advance{ChainID: testChain, Was: a.position, After: a.blocks[after], Final: a.position.Final}
	for i, events := range contents {
		block := a.mine(after + uint64(i) + 1)
		step.Blocks = append(step.Blocks, block)
		for index, event := range events {
			event.Block, event.BlockHash, event.LogIndex = block.Number, block.Hash, uint64(index)
			event.Transaction = testHash('t', block.Number, a.forks, uint64(index))
			step.Events = append(step.Events, event)
		}
	}
	step.Head = max(newTip(step).Number, step.Final)
	return step
}

// advance runs a step.
func (a *testApp) advance(step onchain.Advance) {
	a.t.Helper()
	if a.onStep != nil {
		a.onStep(step)
	}
	moved, err := a.ledger.Advance(context.Background(), step)
	a.must(err)
	a.follow(step, moved)
}

// follow records that a step was made.
func (a *testApp) follow(step onchain.Advance, moved onchain.Position) {
	a.position = moved
	for number := range a.blocks {
		if number > step.After.Number {
			delete(a.blocks, number)
		}
	}
	for _, block := range step.Blocks {
		a.blocks[block.Number] = block
	}
}

// extend adds blocks to the tip.
func (a *testApp) extend(contents ...[]onchain.Event) {
	a.t.Helper()
	a.advance(a.step(a.position.Tip.Number, contents...))
}

// bury adds empty blocks until the funding of a draft has a depth, and confirms it.
func (a *testApp) bury(draft store.Draft, depth mission.Depth) store.Draft {
	a.t.Helper()
	for range testConfirmations - 1 {
		a.extend(nil)
	}
	if depth == mission.DepthLocked {
		a.finalize(a.position.Tip.Number)
	}
	a.settle()
	return a.read(draft.ID)
}

// finalize makes a block and all before it final.
func (a *testApp) finalize(number uint64) {
	a.t.Helper()
	step := a.step(a.position.Tip.Number)
	step.Final = number
	a.advance(step)
}

// pendingConfirmations lists pending confirmations, as the follower does.
func (a *testApp) pendingConfirmations() []onchain.Confirmation {
	a.t.Helper()
	confirmedUpTo := uint64(0)
	if a.position.Head+1 > testConfirmations {
		confirmedUpTo = a.position.Head + 1 - testConfirmations
	}
	list, _, err := a.ledger.PendingConfirmations(context.Background(), testChain, confirmedUpTo, a.position.Final, onchain.ConfirmationPlace{})
	a.must(err)
	return list
}

// settle confirms everything that can be confirmed.
func (a *testApp) settle() {
	a.t.Helper()
	a.must(a.ledger.Confirm(context.Background(), a.pendingConfirmations()))
}

// fund brings a new draft to a depth.
func (a *testApp) fund(wallet sortie.Address, key string, depth mission.Depth) store.Draft {
	a.t.Helper()
	draft := a.create(wallet, key)
	if depth == mission.DepthNone {
		return draft
	}
	a.extend([]onchain.Event{fundingOf(draft)})
	if depth == mission.DepthSeen {
		return a.read(draft.ID)
	}
	return a.bury(draft, depth)
}

// events reads all events of a wallet.
func (a *testApp) events(wallet sortie.Address) (events []store.Event) {
	a.t.Helper()
	for {
		page, err := a.db.EventsAfter(context.Background(), wallet, int64(len(events)), 100)
		a.must(err)
		events = append(events, page...)
		if len(page) < 100 {
			return events
		}
	}
}

// typesOf lists the types of a draft's events, in order.
func (a *testApp) typesOf(draft store.Draft) (types []sortie.EventType) {
	a.t.Helper()
	for _, event := range a.events(draft.Wallet) {
		if event.DraftID == draft.ID {
			types = append(types, sortie.EventType(event.Type))
		}
	}
	return types
}

// incidents lists the kinds of the open incidents.
func (a *testApp) incidents() (kinds []string) {
	a.t.Helper()
	open, err := a.db.OpenIncidents(context.Background())
	a.must(err)
	for _, incident := range open {
		kinds = append(kinds, incident.Kind)
	}
	return kinds
}

// tableQueue stores jobs in a table, so that they exist if and only if their transaction is
// committed.
type tableQueue struct {
	fail error
}

func (q *tableQueue) prepare(tx *store.Tx) error {
	_, err := tx.SQL().ExecContext(tx.Context(), `CREATE TABLE test_jobs (name TEXT NOT NULL)`)
	return err
}

func (q *tableQueue) Refund(tx *store.Tx, draftID string) error { return q.add(tx, "refund "+draftID) }
func (q *tableQueue) Check(tx *store.Tx, id string) error       { return q.add(tx, "check "+id) }
func (q *tableQueue) Reconcile(tx *store.Tx) error              { return q.add(tx, "reconcile") }

func (q *tableQueue) add(tx *store.Tx, name string) error {
	if q.fail != nil {
		return q.fail
	}
	_, err := tx.SQL().ExecContext(tx.Context(), `INSERT INTO test_jobs (name) VALUES ($1)`, name)
	return err
}

// count reads one number with SQL.
func (a *testApp) count(query string, args ...any) (number int) {
	a.t.Helper()
	a.must(a.db.Tx(context.Background(), func(tx *store.Tx) error {
		return tx.SQL().QueryRowContext(tx.Context(), query, args...).Scan(&number)
	}))
	return number
}

func (a *testApp) refundJobs(draft store.Draft) int {
	return a.count(`SELECT COUNT(*) FROM test_jobs WHERE name = $1`, "refund "+draft.ID)
}

func (a *testApp) unfundedDrafts(wallet sortie.Address) int {
	return a.count(`SELECT unfunded_drafts FROM wallets WHERE LOWER(wallet) = LOWER($1)`, wallet.String())
}

// fold returns the state that follows from a draft's events.
func fold(types []sortie.EventType) (mission.State, error) {
	state := mission.Created()
	for i, eventType := range types {
		switch eventType {
		case sortie.EventDraftCreated:
			if i > 0 {
				return state, errors.New("created twice")
			}
		case sortie.EventFundingDetected:
			state.Depth = mission.DepthSeen
		case sortie.EventFundingConfirmed:
			state.Depth = mission.DepthConfirmed
		case sortie.EventFundingLocked:
			state.Depth = mission.DepthLocked
		case sortie.EventFundingReverted:
			state.Depth, state.Refunded = mission.DepthNone, false
		case sortie.EventMissionApproved:
			state.Decision = mission.DecisionApproved
		case sortie.EventMissionPublished:
			state.Depth, state.Decision = mission.DepthLocked, mission.DecisionApproved
		case sortie.EventMissionRejected:
			state.Decision = mission.DecisionRejected
		case sortie.EventRefundConfirmed:
			state.Refunded = true
		case sortie.EventRefundReverted:
			state.Refunded = false
		case sortie.EventSubmissionAccepted, sortie.EventSubmissionRevoked, sortie.EventMissionCompleted,
			sortie.EventPayoutSent, sortie.EventPayoutPaid, sortie.EventPayoutDeferred: // these move no draft
		default:
			return state, fmt.Errorf("unknown type %s", eventType)
		}
	}
	return state, nil
}

// checkDraft checks the invariants of a draft, and returns it.
func (a *testApp) checkDraft(draftID string) store.Draft {
	a.t.Helper()
	draft := a.read(draftID)
	types := a.typesOf(draft)
	if int64(len(types)) != draft.Version {
		a.t.Fatalf("draft %s has version %d and %d events: %v, want %v", draft.ID, draft.Version, len(types), types, draft.Version)
	}
	if told, err := fold(types); err != nil || told != draft.State {
		a.t.Fatalf("draft %s is %+v, its events give %+v: %v, error %v, want %v", draft.ID, draft.State, told, types, err, draft.State)
	}
	if draft.State.QuoteLive() != (draft.QuoteDeadline == 0) {
		a.t.Fatalf("draft %s is %+v, its quote is frozen at %d", draft.ID, draft.State, draft.QuoteDeadline)
	}
	if !draft.State.Valid() {
		a.t.Fatalf("draft %s is %+v", draft.ID, draft.State)
	}
	return draft
}

func bigPlusOne(value *big.Int) *big.Int { return new(big.Int).Add(value, big.NewInt(1)) }
