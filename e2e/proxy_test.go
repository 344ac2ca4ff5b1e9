package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// proxy is a JSON-RPC proxy between a service and its node. It passes everything on until a
// behaviour is set.
type proxy struct {
	t        *testing.T
	url      string
	upstream string
	http     *http.Client

	lock      sync.Mutex
	behaviour behaviour
	calls     map[string]int // that arrived, by method
	waiters   []*waiter
}

// waiter waits for requests to arrive.
type waiter struct {
	left int
	done chan struct{} // closed when none is left to wait for
}

// rpcCall is one call of a request, which may be a batch.
type rpcCall struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// behaviour changes what a proxy does. A nil member has no effect.
type behaviour struct {
	// before may answer a call instead of the node, which then does not receive it.
	before func(ctx context.Context, call rpcCall) *rpcAnswer
	// after may change the node's answer.
	after func(ctx context.Context, call rpcCall, answer *rpcAnswer)
	// wire writes the response bytes instead of the answer.
	wire func(w http.ResponseWriter, r *http.Request, answer []byte)
}

// startProxy runs a proxy without faults for the time of the test.
func startProxy(t *testing.T, upstream string) *proxy {
	t.Helper()
	p := &proxy{t: t, upstream: upstream, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}, calls: make(map[string]int)}
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		p.behave(behaviour{})
		server.CloseClientConnections()
		server.Close()
	})
	p.url = server.URL
	return p
}

// behave sets the behaviour for requests from now on.
func (p *proxy) behave(b behaviour) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.behaviour = b
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the service has disconnected
	}
	calls, isBatch, err := decodeCalls(body)
	if err != nil {
		p.t.Errorf("the service sent what no node understands: %v: %s", err, body)
		return
	}
	b := p.note(calls)
	answers, err := p.answer(r.Context(), b, calls)
	if err != nil {
		return
	}
	var text []byte
	if isBatch {
		text, err = json.Marshal(answers)
	} else {
		text, err = json.Marshal(answers[0])
	}
	if err != nil {
		p.t.Errorf("the proxy made up what no JSON is: %v", err)
		return
	}
	if b.wire != nil {
		b.wire(w, r, text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

func decodeCalls(body []byte) (calls []rpcCall, isBatch bool, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return calls, true, json.Unmarshal(body, &calls)
	}
	calls = make([]rpcCall, 1)
	return calls, false, json.Unmarshal(body, &calls[0])
}

func (p *proxy) note(calls []rpcCall) behaviour {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, call := range calls {
		p.calls[call.Method]++
	}
	p.waiters = slices.DeleteFunc(p.waiters, func(w *waiter) bool {
		if w.left--; w.left == 0 {
			close(w.done)
		}
		return w.left == 0
	})
	return p.behaviour
}

// answer asks the node for the calls that the behaviour does not answer.
func (p *proxy) answer(ctx context.Context, b behaviour, calls []rpcCall) ([]rpcAnswer, error) {
	answers := make([]rpcAnswer, len(calls))
	var passed []int
	for i, call := range calls {
		if b.before != nil {
			if made := b.before(ctx, call); made != nil {
				made.Version, made.ID = "2.0", call.ID
				answers[i] = *made
				continue
			}
		}
		passed = append(passed, i)
	}
	if len(passed) == 0 {
		return answers, ctx.Err()
	}
	asked := make([]map[string]any, len(passed))
	for at, i := range passed {
		asked[at] = map[string]any{"jsonrpc": "2.0", "id": at, "method": calls[i].Method, "params": calls[i].Params}
		if calls[i].Params == nil {
			asked[at]["params"] = []any{}
		}
	}
	honest, err := p.ask(ctx, asked)
	if err != nil {
		return nil, err
	}
	for at, i := range passed {
		answers[i] = honest[at]
		answers[i].ID = calls[i].ID
		if b.after != nil {
			b.after(ctx, calls[i], &answers[i])
		}
	}
	return answers, ctx.Err()
}

// ask sends calls to the node and returns the answers in the same order.
func (p *proxy) ask(ctx context.Context, calls []map[string]any) ([]rpcAnswer, error) {
	body, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.upstream, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := p.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answers []rpcAnswer
	if err := json.NewDecoder(response.Body).Decode(&answers); err != nil {
		return nil, err
	}
	slices.SortFunc(answers, func(a, b rpcAnswer) int { return place(a) - place(b) })
	return answers, nil
}

func place(answer rpcAnswer) (number int) {
	_ = json.Unmarshal(answer.ID, &number)
	return number
}

// count is the number of received calls of a method.
func (p *proxy) count(method string) int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.calls[method]
}

// awaitRequests waits until this many more requests have arrived. The last of them is not answered
// yet.
func (p *proxy) awaitRequests(more int, from *server) {
	p.t.Helper()
	w := &waiter{more, make(chan struct{})}
	p.lock.Lock()
	p.waiters = append(p.waiters, w)
	p.lock.Unlock()
	select {
	case <-w.done:
	case <-from.ended:
		p.t.Fatalf("the service ended by itself: %s", from.command.ProcessState)
	case <-time.After(patience):
		p.t.Fatalf("the service has stopped asking its node")
	}
}

// moment is where a held call waits.
type moment int

const (
	beforeTheNode moment = iota // the node has not received it
	afterTheNode                // the node has done it, and the answer waits
)

// hold makes the next call of a method wait until it is released, or until the client has
// disconnected. Other calls pass. The call is sent on the channel as soon as it waits.
func (p *proxy) hold(method string, when moment) (waiting <-chan rpcCall, release func()) {
	arrived, released := make(chan rpcCall, 1), make(chan struct{})
	var once, end sync.Once
	wait := func(ctx context.Context, call rpcCall) {
		if call.Method != method {
			return
		}
		once.Do(func() {
			arrived <- call
			select {
			case <-released:
			case <-ctx.Done():
			case <-p.t.Context().Done():
			}
		})
	}
	held := behaviour{}
	if when == beforeTheNode {
		held.before = func(ctx context.Context, call rpcCall) *rpcAnswer { wait(ctx, call); return nil }
	} else {
		held.after = func(ctx context.Context, call rpcCall, _ *rpcAnswer) { wait(ctx, call) }
	}
	p.behave(held)
	return arrived, func() { end.Do(func() { close(released) }) }
}
