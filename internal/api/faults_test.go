package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// failingSigner signs with the right key, or fails as its test configures.
type failingSigner struct {
	funding.Signer
	mood atomic.Pointer[func(context.Context) error] // nil: good
}

func newMoodySigner(t testing.TB) *failingSigner {
	t.Helper()
	key, err := funding.NewKeySigner(authority)
	if err != nil {
		t.Fatal(err)
	}
	return &failingSigner{Signer: key}
}

func (m *failingSigner) Sign(ctx context.Context, request funding.SignRequest) (sortie.Bytes, error) {
	if mood := m.mood.Load(); mood != nil {
		if err := (*mood)(ctx); err != nil {
			return nil, err
		}
	}
	return m.Signer.Sign(ctx, request)
}

func (m *failingSigner) set(mood func(context.Context) error) {
	if mood == nil {
		m.mood.Store(nil)
		return
	}
	m.mood.Store(&mood)
}

// unavailable checks that an answer is 503 with Retry-After.
func unavailable(t *testing.T, what string, a answer, code sortie.Code) {
	t.Helper()
	if a.StatusCode != http.StatusServiceUnavailable || a.code() != code || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s: got %d %v %s, want 503 %s and Retry-After", what, a.StatusCode, a.Header, a.body, code)
	}
	checkError(t, a)
}

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	again, deadline := time.NewTicker(2*time.Millisecond), time.After(patience)
	defer again.Stop()
	for !condition() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatal("never: " + what)
		}
	}
}

func (s *testService) metric(line string) string {
	s.t.Helper()
	a := s.roundTrip(s.build(testRequest{target: "/metrics", unsigned: true}))
	for text := range strings.Lines(string(a.body)) {
		if value, found := strings.CutPrefix(text, line+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestOverloadIsShed(t *testing.T) {
	t.Parallel()
	const most = 2
	signer := newMoodySigner(t)
	s := newService(t, serviceOptions{signer: signer, config: func(config *Config) { config.MaxInFlight = most }})
	waiting, proceed := make(chan struct{}), make(chan struct{})
	signer.set(func(context.Context) error {
		waiting <- struct{}{}
		<-proceed
		return nil
	})
	answers := make(chan answer, most)
	for i := range most {
		r := s.build(testRequest{method: http.MethodPost, target: draftsPath, key: fmt.Sprint("k", i), body: goodMission})
		go func() { answers <- s.roundTrip(r) }()
	}
	for range most {
		<-waiting
	}
	unavailable(t, "a read", s.send(testRequest{target: listPath}), sortie.CodeServiceUnavailable)
	unavailable(t, "a create", s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k9", body: goodMission}), sortie.CodeServiceUnavailable)
	unavailable(t, "from a page", s.send(testRequest{target: listPath, header: http.Header{"Origin": {"https://app.example"}}}), sortie.CodeServiceUnavailable)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/docs"} {
		mustBe(t, path, s.send(testRequest{target: path, unsigned: true}), http.StatusOK)
	}
	mustBe(t, "an operator", s.send(testRequest{target: reviewsPath, signer: reviewer}), http.StatusOK)
	signer.set(nil)
	close(proceed)
	for range most {
		mustBe(t, "what was begun", <-answers, http.StatusCreated)
	}
	a := s.send(testRequest{target: listPath})
	if list := decode[sortie.DraftList](t, a); a.StatusCode != http.StatusOK || len(list.Drafts) != most {
		t.Errorf("afterwards: got %d %s, want 200", a.StatusCode, a.body)
	}
}

func addresses(n int, address func(i int) string) (all []string) {
	for i := range n {
		all = append(all, address(i))
	}
	return all
}

func TestPanicsAreContained(t *testing.T) {
	t.Parallel()
	logs, signer := newLogBook(), newMoodySigner(t)
	healthy := false
	s := newService(t, serviceOptions{signer: signer, config: func(config *Config) {
		config.MaxInFlight = 1
		config.Logger = logs.logger()
		config.Health = func(context.Context) Health {
			if !healthy {
				panic("out of order\nin two lines")
			}
			return Health{Ready: true}
		}
	}})
	signer.set(func(context.Context) error { panic("bad mood") })
	for range 3 { // with one place, the second would be refused if the first had kept it
		for _, r := range []testRequest{
			{target: "/healthz", unsigned: true}, {method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission},
		} {
			a := s.send(r)
			if a.StatusCode != http.StatusInternalServerError || a.code() != sortie.CodeInternal || strings.Contains(string(a.body), "out of order") || strings.Contains(string(a.body), "mood") {
				t.Errorf("%s: got %d %s, want 500 internal_error without the cause", r.target, a.StatusCode, a.body)
			}
			checkError(t, a)
			line := logs.next(t)
			if line["id"] != a.Header.Get("X-Request-Id") || line["level"] != "ERROR" || line["code"] != "internal_error" ||
				!strings.Contains(fmt.Sprint(line["error"]), "panic: ") || !strings.Contains(fmt.Sprint(line["error"]), "faults_test.go") {
				t.Errorf("log line: got %v, want the panic with its stack", line)
			}
		}
	}
	if got := s.metric("sortie_http_panics_total"); got != "6" {
		t.Errorf("%s panics", got)
	}
	signer.set(nil)
	healthy = true
	mustBe(t, "health afterwards", s.send(testRequest{target: "/healthz", unsigned: true}), http.StatusOK)
	s.storesNothing(t)
	mustBe(t, "create afterwards", s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission}), http.StatusCreated)
}

// A truncated answer must be recognizable, and is logged.
func TestAPanicAfterHalfAnAnswerClosesTheConnection(t *testing.T) {
	t.Parallel()
	logs := newLogBook()
	s := newService(t, serviceOptions{config: func(config *Config) { config.Logger = logs.logger() }})
	server := s.Config.Handler.(*Server)
	server.mux.Handle("/half", &resource{server, []route{{method: http.MethodGet, pattern: "/half", access: public, handle: func(_ *Server, req *request) error {
		req.send(http.StatusOK, []byte(strings.Repeat("x", 100_000)))
		panic("and the rest?")
	}}}})
	server.mux.Handle("/begun", &resource{server, []route{{method: http.MethodGet, pattern: "/begun", access: public, handle: func(_ *Server, req *request) error {
		req.status = http.StatusOK
		req.Header().Set("Content-Length", "100000")
		req.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(req, "the beginning")
		return errors.New("no more to be had")
	}}}})
	for path, reason := range map[string]string{"/half": "and the rest?", "/begun": "no more to be had"} {
		w := s.dial() // a client library would ask again
		w.write(s.unsigned(http.MethodGet, path).String())
		if response, err := http.ReadResponse(w.reader, nil); err == nil {
			if body, err := io.ReadAll(response.Body); err == nil && len(body) < 100_000 {
				t.Errorf("%s: looks whole with %d bytes", path, len(body))
			}
		}
		if !w.isClosed() {
			t.Errorf("%s: the connection is still open", path)
		}
		if line := logs.next(t); line["level"] != "ERROR" || !strings.Contains(fmt.Sprint(line["error"]), reason) {
			t.Errorf("%s: got log line %v, want an error with %q", path, line, reason)
		}
		if got := s.metric(fmt.Sprintf(`sortie_http_requests_total{code="200",route="GET %s"}`, path)); got != "1" {
			t.Errorf("%s was counted %q times", path, got)
		}
		logs.next(t) // of the metrics
	}
}

func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	link, database := newLink(t, pgtest.Database(t))
	s := newService(t, serviceOptions{database: database})
	draft := s.create("k1", goodMission)
	requests := map[string]testRequest{
		"create": {method: http.MethodPost, target: draftsPath, key: "k2", body: goodMission},
		"replay": {method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission},
		"status": {target: listPath + "/" + draft.DraftID},
		"list":   {target: listPath},
	}
	link.cut()
	for name, r := range requests {
		unavailable(t, name, s.send(r), sortie.CodeServiceUnavailable)
	}
	mustBe(t, "a preview needs no database", s.send(testRequest{method: http.MethodPost, target: previewPath, body: goodMission}), http.StatusOK)
	mustBe(t, "what is wrong is wrong", s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k2", body: "{}"}), http.StatusUnprocessableEntity)
	mustBe(t, "health", s.send(testRequest{target: "/healthz", unsigned: true}), http.StatusOK)
	link.mend()
	for name, r := range requests {
		if a := s.send(r); a.StatusCode != http.StatusOK && a.StatusCode != http.StatusCreated {
			t.Errorf("%s afterwards: got %d %s, want 200 201", name, a.StatusCode, a.body)
		}
	}
}

// Without a signature there is no draft, because it could not be funded.
func TestSignerUnavailable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		signer := newMoodySigner(t)
		s := newService(t, serviceOptions{database: database, signer: signer})
		create := testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission}
		for _, failure := range []error{errors.New("the key store at 10.0.0.5 is away"), context.DeadlineExceeded} {
			signer.set(func(context.Context) error { return failure })
			a := s.send(create)
			unavailable(t, "create", a, sortie.CodeFundingQuoteUnavailable)
			if strings.Contains(string(a.body), failure.Error()) {
				t.Errorf("got %s, want an answer without the cause", a.body)
			}
		}
		s.storesNothing(t)
		signer.set(nil)
		a := s.send(create)
		mustBe(t, "create afterwards", a, http.StatusCreated)

		s.clock.advance(time.Hour) // the quote has to be signed anew
		signer.set(func(context.Context) error { return errors.New("away again") })
		unavailable(t, "status", s.send(testRequest{target: a.Header.Get("Location")}), sortie.CodeFundingQuoteUnavailable)
		unavailable(t, "list", s.send(testRequest{target: listPath}), sortie.CodeFundingQuoteUnavailable)
		unavailable(t, "replay", s.send(create), sortie.CodeFundingQuoteUnavailable)
		signer.set(nil)
		mustBe(t, "status afterwards", s.send(testRequest{target: a.Header.Get("Location")}), http.StatusOK)
	})
}

// A node that is unavailable does not count as a failed authentication: plain keys need no node,
// and contract wallets may try again.
func TestNodeUnavailable(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	away.Store(true)
	s := newService(t, serviceOptions{limits: &Limits{AddressFailures: 1}, call: func(context.Context, []byte, uint64) ([]byte, error) {
		if away.Load() {
			return nil, errors.New("dial tcp 10.0.0.5:8545: connection refused")
		}
		return append(make([]byte, 31), 1), nil
	}})
	account := func(method, target, key, body string) testRequest {
		return testRequest{method: method, target: target, key: key, body: body, header: http.Header{sortie.HeaderSignature: {"0x1234"}}}
	}
	for range 3 { // no failure of the client, so that no limit counts it
		a := s.send(account(http.MethodPost, draftsPath, "k1", goodMission))
		unavailable(t, "contract wallet", a, sortie.CodeSignatureVerificationUnavailable)
		if strings.Contains(string(a.body), "10.0.0.5") || a.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("got %v %s, want neither the address of the node nor a challenge", a.Header, a.body)
		}
	}
	s.storesNothing(t)
	mustBe(t, "plain key", s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission}), http.StatusCreated)
	away.Store(false)
	mustBe(t, "contract wallet afterwards", s.send(account(http.MethodGet, listPath, "", "")), http.StatusOK)
}

// A request whose client disconnects is not an error of the service.
func TestAbandonedRequests(t *testing.T) {
	t.Parallel()
	logs, signer := newLogBook(), newMoodySigner(t)
	s := newService(t, serviceOptions{signer: signer, config: func(config *Config) { config.Logger = logs.logger() }})
	waiting := make(chan struct{})
	for _, outcome := range []error{context.Canceled, nil} { // a signer that stops too, and one that continues until the store notices
		signer.set(func(ctx context.Context) error {
			waiting <- struct{}{}
			<-ctx.Done()
			return outcome
		})
		w := s.dial()
		w.write(s.post(draftsPath, "k1", goodMission).String())
		<-waiting
		if err := w.connection.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if a := w.read(); a == nil || a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("a client that said no more, but listened: %+v", a)
		} else {
			checkError(t, *a)
		}
		if line := logs.next(t); line["status"] != float64(statusAbandoned) || line["level"] != "DEBUG" || line["error"] != nil {
			t.Errorf("log line: got %v, want status 499 and no error", line)
		}
	}
	if got := s.metric(`sortie_http_requests_total{code="499",route="POST /api/external/missions/drafts"}`); got != "2" {
		t.Errorf("counted %q times", got)
	}
	signer.set(nil)
	s.storesNothing(t)
	mustBe(t, "afterwards", s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission}), http.StatusCreated)
}

// The service can stop while requests are in flight.
func TestStoreClosed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.create("k1", goodMission)
		if err := s.db.Close(); err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]testRequest{
			"create": {method: http.MethodPost, target: draftsPath, key: "k2", body: goodMission},
			"status": {target: listPath + "/" + draft.DraftID},
			"list":   {target: listPath},

			"doctor":          {target: listPath + "/" + draft.DraftID + "/doctor"},
			"confirm-funding": {method: http.MethodPost, target: listPath + "/" + draft.DraftID + "/confirm-funding"},
			"events":          {target: eventsPath},
			"reviews":         {target: reviewsPath, signer: reviewer},
			"review":          {target: reviewsPath + "/" + draft.DraftID, signer: reviewer},
			"approve":         {method: http.MethodPost, target: decidePath + "/" + draft.DraftID + "/approve", signer: reviewer},
			"reject":          {method: http.MethodPost, target: decidePath + "/" + draft.DraftID + "/reject", body: goodReason, signer: reviewer},
			"audit":           {target: auditPath, signer: reviewer},
			"chain":           {target: chainPath, signer: reviewer},
			"reconcile":       {method: http.MethodPost, target: reconcilePath, signer: reviewer},
			"clear":           {method: http.MethodPost, target: incidentsPath + "/x/clear", body: goodReason, signer: reviewer},
		} {
			unavailable(t, name, s.send(r), sortie.CodeServiceUnavailable)
		}
	})
}
