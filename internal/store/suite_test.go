package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// Tests that need a process to kill start this binary again with the name of a role; see children.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		children[role]()
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	runSuite(t, sqliteURL)
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	runSuite(t, func(t testing.TB) string { return pgtest.Database(t) })
}

func sqliteURL(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "sortie.db") }

// runSuite runs the tests that both engines must pass. newURL returns the address of a database
// that does not exist yet, or is empty.
func runSuite(t *testing.T, newURL func(testing.TB) string) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, string)
	}{
		{"a draft is read as it was written", testReadAsWritten},
		{"a key gives its draft again", testReplay},
		{"a key raced for gives one draft", testKeyRace},
		{"drafts of others are not found", testForeignDrafts},
		{"taken ids are refused and the transaction continues", testTakenIDs},
		{"the draft limit holds in a race", testLimitRace},
		{"the draft limit counts what waits for funding", testLimitCounts},
		{"a swallowed refusal fails the transaction", testSwallowedRefusal},
		{"the five lists part all drafts", testListPartition},
		{"pages neither skip nor repeat while drafts come in", testPagesWhileWriting},
		{"drafts that were never funded are removed", testRemoveUnfundedDrafts},
		{"one of many transitions wins", testTransitionRace},
		{"many drafts move at once, or none", testTransitionsTogether},
		{"events have no gaps for a reader", testEventsWhileWriting},
		{"settings keep their first value", testSettingRace},
		{"events of the chain are read as they were written", testEventsAsWritten},
		{"an event of the chain is there once", testEventTwice},
		{"reorganizations leave what the chain holds", testReorganizations},
		{"one of many moves of a position wins", testPositionRace},
		{"a chain that is held does not move", testHeldChain},
		{"factories are remembered", testFactories},
		{"a funding is read as it was written", testFundingAsWritten},
		{"drafts of any wallet are found", testDraftsOfAnyWallet},
		{"queries of fundings tell what the rows say", testFundingQueries},
		{"one of many decisions wins", testReviewRace},
		{"deadlines are read as they were written", testDeadlines},
		{"older rows get their deadlines", testDeadlinesOfOlderRows},
		{"a mission completes once and with its funding", testCompletion},
		{"no receipt is kept after the money left", testReceiptsAfterTheMoneyLeft},
		{"the audit is read in pages", testAuditPages},
		{"an incident is open once", testIncidents},
		{"one of many holders gets a lease", testLeaseRace},
		{"a lease lives and ends", testLeaseLife},
		{"a lease is not taken inside a fenced transaction", testLeaseFence},
		{"one intent is active for one thing", testIntentRace},
		{"a nonce belongs to one intent", testNonceRace},
		{"an intent goes from queued to done", testIntentLife},
		{"intents are listed in order", testIntentLists},
		{"an intent is handed to another sender", testHandOver},
		{"what transactions cost is summed up over three days", testGasCost},
		{"a submission goes from declared to paid for", testSubmissionLife},
		{"a file that cannot be read is remembered", testUnreadableFile},
		{"declarations are refused for the right reason", testDeclareRefusals},
		{"a taken submission id is refused and the transaction continues", testTakenSubmissionID},
		{"slots raced for are taken once", testSlotRace},
		{"newcomers get their share of a mission", testNewcomerShare},
		{"newcomers come and go", testNewcomersComeAndGo},
		{"reservations without a file are metered", testReservationMeters},
		{"reserved bytes are bounded in sum", testReservedBytes},
		{"a reservation is prolonged", testProlong},
		{"deliverables are neither skipped nor repeated while they change", testDeliverablePages},
		{"acceptances are numbered in the order of commits", testAcceptanceOrder},
		{"counters follow every step", testSubmissionModel},
		{"payouts and their counters agree after every step", testPayoutModel},
		{"large missions do not starve small ones", testFairness},
		{"one process makes a settlement", testSettlementRace},
		{"a mission is closed when all is paid", testClosing},
		{"duplicates are found whatever their order", testDuplicates},
		{"a duplicate is found among many", testManyLookalikes},
		{"submissions are listed in order", testSubmissionLists},
		{"slots are read as they were published", testSlotsAsWritten},
		{"published missions without slots are found", testUnpublishedSlots},
		{"the feed has what takes submissions now", testOpenSlots},
		{"the nearest missions are found everywhere", testSlotsNear},
		{"deliverables belong to their creator", testDeliverablesHeader},
		{"served media follows its submission", testServedMedia},
		{"served media follows its submission at once", testServedMediaAtOnce},
		{"objects are used for as long as they are needed", testUsedObjects},
		{"open receipts are found by their signer until they are paid", testOpenReceipts},
		{"payments from before the migration are noted by it", testPaymentsBeforeTheMigration},
		{"slots from before the migration get payouts", testPayoutsBeforeTheMigration},
		{"settlers are remembered in their order", testSettlers},
		{"books are as of a block", testBooksAsOfABlock},
		{"closed books are in the totals once", testClosedBooks},
		{"holders of credits are remembered until a final block", testCreditHolders},
		{"earnings are summed up exactly", testEarnings},
		{"what an operator accepted is summed over an hour", testOperatorHours},
		{"an endorsement ends with the next move", testEndorsement},
		{"link keys come and go", testLinkKeys},
		{"the job queue takes part in transactions", testQueueInTransaction},
		{"a failed function leaves nothing", testFailedFunction},
		{"a panicking function leaves nothing", testPanickingFunction},
		{"a function that ends its goroutine leaves nothing", testGoexit},
		{"a caller who leaves during the transaction does not end it", testLeavingInside},
		{"a cancelled caller was not run", testCancelledCaller},
		{"callers may leave at any moment", testLeavingCallers},
		{"too many waiting writes are refused", testOverload},
		{"closing waits for what was begun", testCloseDrains},
		{"data outlives the process", testReopen},
		{"a newer schema is refused", testNewerSchema},
		{"an altered migration is refused", testAlteredMigration},
		{"a migration killed at any statement starts over", testKilledMigration},
		{"a killed process loses nothing it acknowledged", testKilledWriter},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newURL(t))
		})
	}
}

// open opens a database that is closed with the test.
func open(t testing.TB, url string, options Options) *DB {
	t.Helper()
	options.Logger = quiet
	db, err := Open(context.Background(), url, options)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

var quiet = slog.New(slog.DiscardHandler)

const manyDrafts = 1_000_000 // a limit that is not in the way

var (
	alice = sortie.MustAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
	bob   = sortie.MustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
)

// drawDraft makes a draft with ids of its own.
func drawDraft(wallet sortie.Address, key string) NewDraft {
	var entropy mission.Entropy
	_, _ = rand.Read(entropy[:]) // never fails
	draft := NewDraft{
		ID:             mission.NewDraftID(entropy, time.Now()),
		MissionID:      mission.NewMissionID("Storefronts of Łódź", entropy),
		Wallet:         wallet,
		IdempotencyKey: key,
		Fingerprint:    "v1:00ff",
		Mission:        json.RawMessage(`{"title":"Storefronts of Łódź","extra":{"nul":"\u0000","quote":"'\""}}`),
		Title:          "Storefronts of Łódź",
		Token:          sortie.TokenUSDC,
		TokenAddress:   sortie.MustAddress("0x5FbDB2315678afecb367f032d93F642f64180aa3"),
		ChainID:        31337,
		Factory:        sortie.MustAddress("0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"),
		Reward:         new(big.Int).Lsh(big.NewInt(1), 95),
		TargetCount:    10_000,
	}
	_, _ = rand.Read(draft.Nonce[:])
	return draft
}

var created = NewEvent{Type: "draft.created", Data: json.RawMessage(`{"key":"value"}`)}

func mustCreate(t testing.TB, db *DB, wallet sortie.Address, key string) Draft {
	t.Helper()
	draft, wasCreated, err := create(db, drawDraft(wallet, key), manyDrafts)
	if err != nil || !wasCreated {
		t.Fatalf("CreateDraft(%s): got created %t, error %v", key, wasCreated, err)
	}
	return draft
}

func create(db *DB, draft NewDraft, limit int) (stored Draft, wasCreated bool, err error) {
	err = db.Tx(context.Background(), func(tx *Tx) error {
		stored, wasCreated, err = tx.CreateDraft(draft, limit, created)
		return err
	})
	return stored, wasCreated, err
}

// mustApply moves a draft through events of its mission.
func mustApply(t testing.TB, db *DB, draft Draft, events ...mission.Event) Draft {
	t.Helper()
	for _, event := range events {
		var err error
		if draft, err = apply(db, draft, event); err != nil {
			t.Fatalf("apply %s: %v", event, err)
		}
	}
	return draft
}

func apply(db *DB, draft Draft, event mission.Event) (moved Draft, err error) {
	state, err := mission.Apply(draft.State, event)
	if err != nil {
		return draft, err
	}
	to := Transition{State: state}
	if !state.QuoteLive() {
		to.QuoteDeadline = 1_770_000_900
	}
	err = db.Tx(context.Background(), func(tx *Tx) error {
		moved, err = tx.TransitionDraft(draft, to, NewEvent{Type: string(event), Data: json.RawMessage("{}")})
		return err
	})
	return moved, err
}

// list reads every page of a wallet's drafts.
func list(t testing.TB, db *DB, wallet sortie.Address, status sortie.ListStatus, pageSize int) []Draft {
	t.Helper()
	var all []Draft
	filter := DraftFilter{Status: status, Limit: pageSize}
	for {
		page, err := db.ListDrafts(context.Background(), wallet, filter)
		if err != nil {
			t.Fatalf("ListDrafts: %v", err)
		}
		all = append(all, page...)
		if len(page) < pageSize {
			return all
		}
		filter.BeforeSeq = page[len(page)-1].Seq
	}
}

func ids(drafts []Draft) []string {
	ids := make([]string, len(drafts))
	for i, draft := range drafts {
		ids[i] = draft.ID
	}
	return ids
}

// query runs a query without the store's methods.
func query(db *DB, statement string, args []any, scan func(scanner) error) error {
	return db.engine.read(context.Background(), func(ctx context.Context, s *session) error { return s.each(ctx, statement, args, scan) })
}

func count(t testing.TB, db *DB, statement string, args ...any) (n int64) {
	t.Helper()
	if err := query(db, statement, args, func(row scanner) error { return row.Scan(&n) }); err != nil {
		t.Fatalf("query %s: %v", statement, err)
	}
	return n
}

// checkCounters compares what is counted per wallet with the rows.
func checkCounters(t testing.TB, db *DB, wallet sortie.Address) {
	t.Helper()
	address := hexAddress(wallet)
	counted := count(t, db, "SELECT unfunded_drafts FROM wallets WHERE wallet = $1", address)
	if rows := count(t, db, "SELECT COUNT(*) FROM drafts WHERE wallet = $1 AND list_status = 'pending_funding'", address); counted != rows {
		t.Errorf("unfunded drafts of the wallet: got the count %d, want %d", counted, rows)
	}
	last := count(t, db, "SELECT last_event FROM wallets WHERE wallet = $1", address)
	if rows := count(t, db, "SELECT COUNT(*) FROM events WHERE wallet = $1", address); last != rows {
		t.Errorf("events of the wallet: got the count %d, want %d", last, rows)
	}
}

// together runs fn n times at once and returns the errors.
func together(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			errs[i] = fn(i)
		})
	}
	start.Done()
	done.Wait()
	return errs
}

func mustAll(t testing.TB, errs []error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// fixedClock is a clock that shows the same time until it is moved.
type fixedClock struct{ micros atomic.Int64 }

func (c *fixedClock) now() time.Time {
	return time.UnixMicro(c.micros.Load()).Add(789 * time.Nanosecond)
}

func key(i int) string { return fmt.Sprintf("key-%06d", i) }
