package service

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/api"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/follower"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
	"github.com/sortie-labs/sortie/internal/verify"
)

const (
	moneyConfirmations  = 2
	moneyFinality       = 6 // blocks
	moneyHold           = 10 * time.Minute
	moneyPayoutInterval = time.Minute
	moneyBase           = "http://127.0.0.1"
)

// moneyService has the parts of the service that move money, in one goroutine: the use cases, the
// database, the follower and the sender. The test sets its clock.
type moneyService struct {
	t        rapid.TB
	ctx      context.Context
	chain    *moneyChain
	database string
	files    string

	objects   *blob.Objects
	incoming  *blob.Incoming
	store     *store.DB
	nodes     *chain.Nodes
	app       *app.App
	ledger    *app.Ledger
	operators *app.Operators
	work      *chainWork

	mu  sync.Mutex
	now time.Time
}

// openMoneyService starts the service on an empty database.
func openMoneyService(t rapid.TB, c *moneyChain, database, files string) *moneyService {
	t.Helper()
	s := &moneyService{t: t, ctx: context.Background(), chain: c, database: database, files: files, now: c.setup.time.Add(time.Second)}
	s.start()
	s.must(s.store.Tx(s.ctx, func(tx *store.Tx) error {
		_, err := tx.SQL().ExecContext(tx.Context(), `CREATE TABLE test_jobs (draft_id TEXT NOT NULL)`)
		return err
	}))
	return s
}

func (s *moneyService) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *moneyService) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *moneyService) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// start opens the parts, as at the start of a process: all state is in the database.
func (s *moneyService) start() {
	s.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	var err error
	s.store, err = store.Open(s.ctx, s.database, store.Options{Clock: s.clock, Logger: logger})
	s.must(err)
	s.nodes, err = chain.OpenNodes(s.ctx, []string{s.chain.front.URL}, s.chain.deployment, logger)
	s.must(err)
	s.objects, err = blob.OpenObjects(s.ctx, "file:"+filepath.Join(s.files, "media"))
	s.must(err)
	s.incoming, err = blob.OpenIncoming(filepath.Join(s.files, "uploads"))
	s.must(err)
	config := Config{
		Roles: AllRoles, Deployment: s.chain.deployment, Confirmations: moneyConfirmations, Finality: follower.Finality(moneyFinality), Logger: logger,
		Settler: developmentSigner(s.t, devnet.RoleSettler), Sender: developmentSigner(s.t, devnet.RoleSender),
		Media: MediaConfig{Verification: verify.Auto, Hold: moneyHold},
	}
	issuer, err := funding.NewIssuer(config.domain(), developmentSigner(s.t, devnet.RoleAuthorizer), funding.DefaultTTL)
	s.must(err)
	use := app.Config{
		Store: s.store, Issuer: issuer, Domain: config.domain(), Now: s.clock, Logger: logger,
		Tokens: map[sortie.Token]app.Token{
			sortie.TokenUSDC:    {Address: s.chain.deployment.USDC, Decimals: chain.Decimals(sortie.TokenUSDC)},
			sortie.TokenService: {Address: s.chain.deployment.ServiceToken, Decimals: chain.Decimals(sortie.TokenService)},
		},
		Queue: refundTable{}, Operators: []sortie.Address{moneyOperator}, Confirmations: moneyConfirmations, Sender: config.Sender.Address(),
		SettlerRole: s.nodes.HoldsSettlerRole, PayoutInterval: moneyPayoutInterval, PaidSlots: s.nodes.PaidSlots,
	}
	(&mediaWork{objects: s.objects, incoming: s.incoming, ingester: ingest.New(ingest.Config{TempDir: s.files})}).configure(&use, config, moneyBase)
	opened, err := app.New(s.ctx, use)
	s.must(err)
	s.app, s.ledger, s.operators = opened.App, opened.Ledger, opened.Operators
	s.work = newChainWork(&Service{config: config, store: s.store, nodes: s.nodes, app: s.app, ledger: s.ledger})
	s.work.follower = follower.New(follower.Config{
		Nodes: s.nodes, Ledger: s.ledger, ChainID: config.Deployment.ChainID, Confirmations: config.Confirmations, Finality: config.Finality,
		Clock: s.clock, Logger: logger, OnHead: s.ledger.ObserveBlock,
	})
	s.work.sender = sender.New(sender.Config{
		Nodes: s.nodes, Store: s.store, Signer: funding.TransactionSigner{Signer: config.Sender}, ChainID: config.Deployment.ChainID,
		Prepare: map[string]sender.Prepare{app.IntentClose: s.work.prepareClose, store.IntentSettle: s.work.prepareSettle},
		Halted:  s.ledger.Halted, Final: s.work.finalBlock, Clock: s.clock, Logger: logger,
	})
}

// stop closes what start opened.
func (s *moneyService) stop() {
	s.nodes.Close()
	s.must(errors.Join(s.incoming.Close(), s.objects.Close(), s.store.Close()))
}

// restart closes and opens the parts, as if the process was killed.
func (s *moneyService) restart() {
	s.t.Helper()
	s.stop()
	s.pass(6 * time.Second) // until the leases of the old process expire
	s.start()
}

// follow follows the chain to its head.
func (s *moneyService) follow() {
	s.t.Helper()
	for range 100 {
		progress, err := s.work.follower.Converge(s.ctx)
		s.must(err)
		if !progress.More {
			return
		}
	}
	s.t.Fatal("the follower does not reach the head")
}

// due runs the work that is due and the jobs.
func (s *moneyService) due() {
	s.t.Helper()
	s.must(s.ledger.DueByTime(s.ctx))
	s.must(s.ledger.SignReceipts(s.ctx))
	s.must(s.ledger.Settle(s.ctx))
	var drafts []string
	s.must(s.store.Tx(s.ctx, func(tx *store.Tx) error {
		drafts = nil
		rows, err := tx.SQL().QueryContext(tx.Context(), `DELETE FROM test_jobs RETURNING draft_id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var draftID string
			if err := rows.Scan(&draftID); err != nil {
				return err
			}
			drafts = append(drafts, draftID)
		}
		return rows.Err()
	}))
	for _, draftID := range drafts {
		s.must(s.ledger.StartRefund(s.ctx, draftID))
	}
}

// send runs the sender once.
func (s *moneyService) send() {
	s.t.Helper()
	lease, err := s.store.AcquireLease(s.ctx, sender.LeaseName(s.work.chainID, s.work.account), s.work.holder.id, s.work.holder.ttl)
	s.must(err)
	s.must(s.work.sender.Step(s.ctx, lease))
}

// mine mines blocks, twelve seconds apart.
func (s *moneyService) mine(blocks int) {
	s.t.Helper()
	for range blocks {
		s.pass(12 * time.Second)
		s.chain.call(s.t, nil, "evm_mine", s.clock().Unix())
	}
}

// refundTable stores the refund jobs. The test runs the other jobs at once, or does not need them.
type refundTable struct{}

func (refundTable) Refund(tx *store.Tx, draftID string) error {
	_, err := tx.SQL().ExecContext(tx.Context(), `INSERT INTO test_jobs (draft_id) VALUES ($1)`, draftID)
	return err
}
func (refundTable) Check(*store.Tx, string) error { return nil }
func (refundTable) Reconcile(*store.Tx) error     { return nil }

var (
	moneyOperator = devnet.WalletByRole(devnet.RoleOperator).Address
	moneyNetwork  = netip.MustParsePrefix("192.0.2.1/32")
)

// declare reserves a slot for a unique file.
func (s *moneyService) declare(contributor sortie.Address, missionID string) (sortie.SubmissionDeclared, []byte, error) {
	file := []byte(rand.Text())
	body, err := json.Marshal(sortie.Declaration{
		Location:    sortie.Location{Lat: "48.858370", Lng: "2.294480", AccuracyMeters: "8.5"},
		CapturedAt:  s.clock().UTC().Format(time.RFC3339Nano),
		ContentType: "image/jpeg", SizeBytes: int64(len(file)), SHA256: fmt.Sprintf("%x", sha256.Sum256(file)),
	})
	s.must(err)
	declared, _, err := s.app.Declare(s.ctx, api.LinksUnder(moneyBase), contributor, moneyNetwork, missionID, rand.Text(), body)
	return declared, file, err
}

// submit uploads a file and has it decided. The facts about the file are invented: ingest would
// need a process for each.
func (s *moneyService) submit(declared sortie.SubmissionDeclared, file []byte) {
	s.t.Helper()
	link, err := url.Parse(declared.Upload.PutURL)
	s.must(err)
	upload, err := s.app.OpenUpload(s.ctx, declared.SubmissionID, links.VariantUploadPut, link.RawQuery)
	s.must(err)
	defer upload.Close()
	_, err = upload.Append(s.ctx, bytes.NewReader(file))
	s.must(err)
	_, err = upload.Finish(s.ctx)
	s.must(err)
	was, err := s.store.Submission(s.ctx, declared.SubmissionID)
	s.must(err)
	perceptual := binary.BigEndian.Uint64(was.UploadedHash[:8])
	s.must(s.store.Tx(s.ctx, func(tx *store.Tx) error {
		return tx.RecordMedia(was, &store.SubmissionMedia{
			Kind: sortie.MediaPhoto, ServedHash: was.UploadedHash, ServedType: "image/jpeg", ServedSize: was.Declaration.SizeBytes,
			ThumbnailHash: was.UploadedHash, Width: 160, Height: 120, Perceptual: &perceptual,
		}, nil)
	}))
	s.must(s.app.CheckSubmission(s.ctx, declared.SubmissionID))
}
