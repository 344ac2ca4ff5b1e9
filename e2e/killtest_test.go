package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	callers         = 64 // clients that post at the same time
	draftsPerCaller = 300
	killTestLimit   = 8 * time.Minute
)

// killTest is a service that is killed and restarted while clients use it, with the answers that
// the clients got.
type killTest struct {
	t           *testing.T
	ctx         context.Context
	environment []string
	service     *server
	http        *http.Client

	moments chan struct{} // one for each request that was sent, and for each answer that begins
	kills   int
	lost    atomic.Int64 // requests that were sent and not answered
	created atomic.Int64 // answers 201

	lock         sync.Mutex
	acknowledged map[*sortie.Client]map[string]identity // by idempotency key
	answers      int
}

// identity is what all answers about one draft must have in common.
type identity struct{ draftID, missionID, nonce string }

func identify(draftID, missionID string, quote sortie.Quote) identity {
	return identity{draftID, missionID, quote.Authorization.Nonce.String()}
}

func startKillTest(t *testing.T, environment []string) *killTest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), killTestLimit)
	t.Cleanup(cancel)
	s := &killTest{
		t: t, ctx: ctx, environment: environment, service: startServe(t, environment...),
		moments: make(chan struct{}, 1024), acknowledged: make(map[*sortie.Client]map[string]identity),
	}
	transport := &http.Transport{MaxIdleConnsPerHost: callers}
	t.Cleanup(transport.CloseIdleConnections)
	s.http = &http.Client{Timeout: patience, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return s.watch(transport, r)
	})}
	return s
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// watch sends a request and counts what happens to it.
func (s *killTest) watch(transport http.RoundTripper, r *http.Request) (*http.Response, error) {
	moment := func() {
		select {
		case s.moments <- struct{}{}:
		default: // no test waits for one
		}
	}
	var written atomic.Bool
	response, err := transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				written.Store(true)
				moment()
			}
		},
		GotFirstResponseByte: moment,
	})))
	switch {
	case err != nil && written.Load():
		s.lost.Add(1)
	case err == nil && response.StatusCode == http.StatusCreated:
		s.created.Add(1)
	}
	return response, err
}

func newKey(t *testing.T) *sortie.Key {
	t.Helper()
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	key, err := sortie.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (s *killTest) client(key *sortie.Key) *sortie.Client {
	s.t.Helper()
	client, err := sortie.NewClient(s.service.url, key, sortie.WithHTTPClient(s.http))
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// newKeyEachTurn gives each caller its own wallet and a new idempotency key for every post.
func (s *killTest) newKeyEachTurn() func(caller, turn int) (*sortie.Client, string) {
	s.t.Helper()
	var clients [callers]*sortie.Client
	for caller := range clients {
		clients[caller] = s.client(newKey(s.t))
	}
	return func(caller, turn int) (*sortie.Client, string) {
		// A wallet may hold a limited number of unfunded drafts: a fast machine replays keys.
		return clients[caller], fmt.Sprintf("Turn %d", turn%draftsPerCaller)
	}
}

// postWhile posts with every caller during the attack, and once more after it. It returns when
// every post has been acknowledged.
func (s *killTest) postWhile(choose func(caller, turn int) (*sortie.Client, string), attack func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	var posting sync.WaitGroup
	defer posting.Wait()
	defer cancel() // runs first: after a failed attack no answer is needed
	peace := make(chan struct{})
	for caller := range callers {
		posting.Go(func() {
			for turn, last := 0, false; !last && ctx.Err() == nil; turn++ {
				select {
				case <-peace:
					last = true
				default:
				}
				client, key := choose(caller, turn)
				s.post(ctx, client, key)
			}
		})
	}
	attack()
	s.service.awaitReady(s.t)
	close(peace)
	posting.Wait()
	if s.ctx.Err() != nil {
		s.t.Fatalf("not every caller was answered within %s", killTestLimit)
	}
}

// post sends a draft until the service acknowledges it. Only an unavailable service excuses a
// failure.
func (s *killTest) post(ctx context.Context, client *sortie.Client, key string) {
	for ctx.Err() == nil {
		created, err := client.CreateDraft(ctx, titled(key), key)
		switch {
		case err == nil:
			s.acknowledge(client, key, identify(created.DraftID, created.MissionID, created.FundingQuote))
			return
		case !isUnavailable(err):
			s.t.Errorf("post of %q: %v", key, err)
			return
		}
	}
}

// isUnavailable reports whether the error means that the service is down.
func isUnavailable(err error) bool {
	var unsent *url.Error
	var refusal *sortie.Error
	return errors.As(err, &unsent) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.As(err, &refusal) && refusal.Code == sortie.CodeServiceUnavailable
}

func titled(title string) sortie.Mission {
	return sortie.Mission{Title: title, Reward: sortie.Reward{Token: sortie.TokenUSDC, Amount: "2.5"}, TargetCount: 4}
}

func (s *killTest) acknowledge(client *sortie.Client, key string, told identity) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.answers++
	if s.acknowledged[client] == nil {
		s.acknowledged[client] = make(map[string]identity)
	}
	if before, known := s.acknowledged[client][key]; known && before != told {
		s.t.Errorf("key %q was acknowledged as %v and as %v", key, before, told)
	}
	s.acknowledged[client][key] = told
}

// awaitMoments waits for a number of requests and answers.
func (s *killTest) awaitMoments(count int) {
	s.t.Helper()
	for len(s.moments) > 0 { // those are past
		<-s.moments
	}
	for range count {
		select {
		case <-s.moments:
		case <-s.service.ended:
			s.t.Fatalf("the service ended by itself: %s", s.service.command.ProcessState)
		case <-s.ctx.Done():
			s.t.Fatalf("no more requests and answers: %v", s.ctx.Err())
		}
	}
}

// killAfter kills the service after a number of moments and starts it again. The next kill may
// happen during its start.
func (s *killTest) killAfter(moments int) {
	s.t.Helper()
	s.awaitMoments(moments)
	s.service.kill()
	s.kills++
	s.service = launchServe(s.t, s.environment...)
}

// beginPost sends the header of a request, and returns when the service asks for its body. finish
// sends the body and stores the acknowledgement.
func (s *killTest) beginPost(key *sortie.Key, title string) (finish func()) {
	s.t.Helper()
	body, err := json.Marshal(titled(title))
	if err != nil {
		s.t.Fatal(err)
	}
	asked := make(chan struct{})
	ctx := httptrace.WithClientTrace(s.ctx, &httptrace.ClientTrace{Got100Continue: func() { close(asked) }})
	release := make(chan struct{})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.service.url+"/api/external/missions/drafts",
		io.MultiReader(gate{ctx, release}, bytes.NewReader(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	request.ContentLength = int64(len(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Expect", "100-continue")
	request.Header.Set(sortie.HeaderIdempotencyKey, title)
	if err := sortie.SignRequest(ctx, request, body, key, time.Now()); err != nil {
		s.t.Fatal(err)
	}
	type result struct {
		created sortie.DraftCreated
		err     error
	}
	answered := make(chan result, 1)
	go func() {
		created, err := roundTrip(&http.Transport{ExpectContinueTimeout: killTestLimit, DisableKeepAlives: true}, request)
		answered <- result{created, err}
	}()
	select {
	case <-asked:
	case early := <-answered:
		s.t.Fatalf("the service answered before it had the body: %+v", early)
	}
	return func() {
		s.t.Helper()
		close(release)
		answer := <-answered
		if answer.err != nil {
			s.t.Fatalf("the service did not finish a request: %v", answer.err)
		}
		created := answer.created
		s.acknowledge(s.client(key), title, identify(created.DraftID, created.MissionID, created.FundingQuote))
	}
}

// gate is an empty reader that ends when open is closed.
type gate struct {
	ctx  context.Context
	open <-chan struct{}
}

func (g gate) Read([]byte) (int, error) {
	select {
	case <-g.open:
		return 0, io.EOF
	case <-g.ctx.Done():
		return 0, g.ctx.Err()
	}
}

func roundTrip(transport http.RoundTripper, request *http.Request) (created sortie.DraftCreated, err error) {
	response, err := transport.RoundTrip(request)
	if err != nil {
		return created, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		return created, fmt.Errorf("answered with %s", response.Status)
	}
	return created, json.NewDecoder(response.Body).Decode(&created)
}

func (s *server) refusesConnections() bool {
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err == nil {
		_ = connection.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// checkAcknowledged compares the stored drafts with the acknowledged ones. They must be equal,
// because every posted key was acknowledged.
func (s *killTest) checkAcknowledged() {
	s.t.Helper()
	drafts := 0
	for client, byKey := range s.acknowledged {
		drafts += len(byKey)
		stored := make(map[string]identity)
		for draft, err := range client.AllDrafts(s.ctx, sortie.ListQuery{}) {
			if err != nil {
				s.t.Fatal(err)
			}
			title := draft.NormalizedMission.Title
			if first, twice := stored[title]; twice {
				s.t.Errorf("key %q has two drafts, %s and %s", title, first.draftID, draft.DraftID)
			}
			stored[title] = identify(draft.DraftID, draft.MissionID, draft.FundingQuote)
		}
		for key, told := range byKey {
			if stored[key] != told {
				s.t.Errorf("key %q was acknowledged as %v, and %v is stored", key, told, stored[key])
			}
			s.checkReadable(client, told)
		}
		if len(stored) != len(byKey) {
			s.t.Errorf("%d drafts are stored for %d keys", len(stored), len(byKey))
		}
	}
	s.t.Logf("%d kills, %d answers about %d drafts, %d requests lost", s.kills, s.answers, drafts, s.lost.Load())
	if s.kills > 0 && s.lost.Load() == 0 {
		s.t.Error("no kill interrupted a request: the test proves nothing")
	}
}

func (s *killTest) checkReadable(client *sortie.Client, told identity) {
	s.t.Helper()
	status, err := client.Mission(s.ctx, told.draftID)
	if err != nil {
		s.t.Errorf("read %s: %v", told.draftID, err)
		return
	}
	if read := identify(status.DraftID, status.MissionID, status.FundingQuote); read != told {
		s.t.Errorf("%s was acknowledged as %v and reads as %v", told.draftID, told, read)
	}
}
