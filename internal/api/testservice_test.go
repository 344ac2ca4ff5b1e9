package api

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/store"
	"github.com/sortie-labs/sortie/internal/verify"
	"github.com/sortie-labs/sortie/internal/wallet"
	"github.com/sortie-labs/sortie/spec"
)

// The keys of spec/vectors.json.
var (
	creator   = mustKey("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
	stranger  = mustKey("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a")
	reviewer  = mustKey("0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6") // an operator
	colleague = mustKey("0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a") // another
	authority = [32]byte{0x59, 0xc6, 0x99, 0x5e, 0x99, 0x8f, 0x97, 0xa5, 0xa0, 0x04, 0x49, 0x66, 0xf0, 0x94, 0x53, 0x89, 0xdc, 0x9e, 0x86, 0xda, 0xe8, 0x8c, 0x7a, 0x84, 0x12, 0xf4, 0x60, 0x3b, 0x6b, 0x78, 0x69, 0x0d}
)

func mustKey(text string) *sortie.Key {
	key, err := sortie.ParseKey(text)
	if err != nil {
		panic(err)
	}
	return key
}

// testService is the API on a real listener and a real database, with a clock that tests set.
type testService struct {
	*httptest.Server
	t         testing.TB
	clock     *testClock
	db        *store.DB
	app       *app.App
	ledger    *app.Ledger
	operators *app.Operators
	chain     *testChain
	trust     sortie.Trust
	contract  *contract
	stop      func() // ends the service, so that another can take its place
}

type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// serviceOptions configure a test service.
type serviceOptions struct {
	database string        // empty: a SQLite file of its own
	deadline time.Duration // of a transaction on PostgreSQL; 0: the store's own
	files    string        // the directory of media and uploads; empty: one of its own
	limits   *Limits
	call     wallet.Caller
	signer   funding.Signer
	config   func(*Config)
	prepare  func(*http.Server) // called before the server starts

	operators []sortie.Address // in addition to the reviewer and the colleague
	curate    bool             // a person decides about submissions that pass the checks
	hold      time.Duration    // of acceptances
	perHour   *big.Int         // USDC base units above which a second operator is needed; nil: no limit

	reservations app.ReservationLimits
	pays         bool // the service has a sender, so that it makes settlements
}

var testDomain = sortie.Domain{ChainID: 31337, Factory: sortie.MustAddress("0x1111111111111111111111111111111111111111")}

func newService(t testing.TB, options serviceOptions) *testService {
	t.Helper()
	clock := &testClock{now: time.Now().Truncate(time.Millisecond)}
	if options.database == "" {
		options.database = "sqlite:" + filepath.Join(t.TempDir(), "sortie.db")
	}
	logger := slog.New(slog.DiscardHandler)
	db, err := store.Open(context.Background(), options.database, store.Options{Clock: clock.Now, Logger: logger, TransactionTimeout: options.deadline})
	if err != nil {
		t.Fatal(err)
	}
	closeStore := sync.OnceFunc(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(closeStore)
	if options.signer == nil {
		if options.signer, err = funding.NewKeySigner(authority); err != nil {
			t.Fatal(err)
		}
	}
	issuer, err := funding.NewIssuer(testDomain, options.signer, funding.DefaultTTL)
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[sortie.Token]app.Token{
		sortie.TokenUSDC:    {Address: sortie.MustAddress("0x036CbD53842c5426634e7929541eC2318f3dCF7e"), Decimals: 6},
		sortie.TokenService: {Address: sortie.MustAddress("0x5FbDB2315678afecb367f032d93F642f64180aa3"), Decimals: 18},
	}
	chain := &testChain{t: t, now: clock.Now}
	appConfig := app.Config{
		Store: db, Issuer: issuer, Domain: testDomain, Tokens: tokens, Now: clock.Now, Logger: logger,
		Queue: chain, Operators: append(options.operators, reviewer.Address(), colleague.Address()), Wake: chain.wake, PayoutInterval: time.Minute,
	}
	if options.perHour != nil {
		appConfig.OperatorLimits, appConfig.SecondOperator = map[sortie.Token]*big.Int{sortie.TokenUSDC: options.perHour}, true
	}
	if options.pays {
		appConfig.Sender = testSender
	}
	options.takeSubmissions(t, &appConfig)
	useCases, err := app.New(context.Background(), appConfig)
	if err != nil {
		t.Fatal(err)
	}
	chain.app, chain.ledger = useCases.App, useCases.Ledger
	if options.call == nil { // a chain on which every contract wallet says no
		options.call = func(context.Context, []byte, uint64) ([]byte, error) { return make([]byte, 32), nil }
	}
	verifier, err := wallet.New(wallet.Config{Now: clock.Now, Call: options.call})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		App: useCases.App, Operators: useCases.Operators, Verifier: verifier, Limits: options.limits, AllowedOrigins: []string{"*"}, OpenAPI: spec.OpenAPI,
		Health: func(context.Context) Health {
			return Health{Ready: true, Parts: map[string]string{"database": "ok", "chain": "ok"}}
		},
		Registry: prometheus.NewRegistry(), Logger: logger, Now: clock.Now,
	}
	if options.config != nil {
		options.config(&config)
	}
	server := httptest.NewUnstartedServer(New(config))
	server.Config.ReadHeaderTimeout = patience
	server.Config.MaxHeaderBytes = 16 << 10
	server.Config.WriteTimeout = patience
	if options.prepare != nil {
		options.prepare(server.Config)
	}
	server.Start()
	t.Cleanup(server.Close)
	return &testService{
		Server: server, t: t, clock: clock, db: db, app: useCases.App, ledger: useCases.Ledger, operators: useCases.Operators, chain: chain, contract: newContract(t),
		stop: func() {
			server.Close()
			closeStore()
		},
		trust: sortie.Trust{
			ChainID: testDomain.ChainID, Factory: testDomain.Factory, Authorizers: []sortie.Address{issuer.Signer()},
			Tokens: map[sortie.Token]sortie.TrustedToken{
				sortie.TokenUSDC: {Address: tokens[sortie.TokenUSDC].Address, Decimals: 6}, sortie.TokenService: {Address: tokens[sortie.TokenService].Address, Decimals: 18},
			},
		},
	}
}

// takeSubmissions adds what contributors need: stores for files, the ingest child, checks and a
// settler.
func (o *serviceOptions) takeSubmissions(t testing.TB, config *app.Config) {
	t.Helper()
	if o.files == "" {
		o.files = t.TempDir()
	}
	objects, err := blob.OpenObjects(context.Background(), "file:"+filepath.Join(o.files, "media"))
	if err != nil {
		t.Fatal(err)
	}
	incoming, err := blob.OpenIncoming(filepath.Join(o.files, "incoming"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = incoming.Close()
		_ = objects.Close()
	})
	mode := verify.Auto
	if o.curate {
		mode = verify.Curate
	}
	signer, err := funding.NewKeySigner(authority)
	if err != nil {
		t.Fatal(err)
	}
	config.Media, config.Incoming, config.AcceptanceHold = objects, incoming, o.hold
	config.Reservations = o.reservations
	config.Ingester = ingest.New(ingest.Config{TempDir: o.files})
	config.Verification = verify.New(verify.Config{Mode: mode})
	config.SettlerAddress = signer.Address()
	config.Settler = func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
		settler, err := funding.NewSettler(domain, signer)
		if err != nil {
			return nil, err
		}
		return settler.SignSettlement(ctx, settlement)
	}
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body []byte
}

// code returns the answer's error code; it is empty for a success.
func (a answer) code() sortie.Code {
	var envelope struct {
		Error struct {
			Code sortie.Code
		}
	}
	_ = json.Unmarshal(a.body, &envelope)
	return envelope.Error.Code
}

func (a answer) details() map[string]any {
	var envelope struct {
		Error struct {
			Details map[string]any
		}
	}
	_ = json.Unmarshal(a.body, &envelope)
	return envelope.Error.Details
}

func decode[T any](t testing.TB, a answer) (value T) {
	t.Helper()
	if err := json.Unmarshal(a.body, &value); err != nil {
		t.Fatalf("decode %s: %v", a.body, err)
	}
	return value
}

// testRequest is one signed request. Its zero values are what a client would send.
type testRequest struct {
	method, target string
	key            string // Idempotency-Key
	body           string
	signer         sortie.Signer // nil: creator
	header         http.Header   // set after signing
	unsigned       bool
}

// send sends a request and checks the answer against openapi.yaml.
func (s *testService) send(r testRequest) answer {
	s.t.Helper()
	built := s.build(r)
	a := s.roundTrip(built)
	s.contract.check(s.t, built, []byte(r.body), a.Response, a.body)
	return a
}

func (s *testService) build(r testRequest) *http.Request {
	s.t.Helper()
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.signer == nil {
		r.signer = creator
	}
	built, err := http.NewRequest(r.method, s.URL+r.target, strings.NewReader(r.body))
	if err != nil {
		s.t.Fatal(err)
	}
	if r.body != "" || r.method == http.MethodPost {
		built.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		built.Header.Set(sortie.HeaderIdempotencyKey, r.key)
	}
	if !r.unsigned {
		if err := sortie.SignRequest(context.Background(), built, []byte(r.body), r.signer, s.clock.Now()); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, values := range r.header {
		built.Header[name] = values
	}
	return built
}

// patience is how long a test waits for something that takes milliseconds. It only delays the
// report of a failure.
const patience = 3 * time.Minute

var noRedirects = &http.Client{
	Timeout:       patience,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
}

func (s *testService) roundTrip(r *http.Request) answer {
	s.t.Helper()
	response, err := noRedirects.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response, body}
}

func (s *testService) client(signer sortie.Signer) *sortie.Client {
	s.t.Helper()
	client, err := sortie.NewClient(s.URL, signer, sortie.WithClock(s.clock.Now), sortie.WithAttempts(1))
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

const goodMission = `{"title":"Photo of the main entrance","mediaType":"photo","reward":{"token":"USDC","amount":2.5},"targetCount":4}`

// create posts a draft that must be accepted.
func (s *testService) create(key, body string) sortie.DraftCreated {
	s.t.Helper()
	a := s.send(testRequest{method: http.MethodPost, target: "/api/external/missions/drafts", key: key, body: body})
	if a.StatusCode != http.StatusCreated && a.StatusCode != http.StatusOK {
		s.t.Fatalf("create: got %d %s, want 201 200", a.StatusCode, a.body)
	}
	return decode[sortie.DraftCreated](s.t, a)
}
