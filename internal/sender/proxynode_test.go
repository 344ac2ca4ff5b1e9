package sender_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/rpc"
)

// proxyNode forwards requests to a node, unless the test answers them.
type proxyNode struct {
	*httptest.Server
	target *rpc.Client
	mutex  sync.Mutex
	meddle func(request) (answer any, meddled bool)
}

// request is one JSON-RPC call. ask forwards it.
type request struct {
	Method string
	Params []json.RawMessage
	ask    func() (json.RawMessage, error)
}

func newProxyNode(t testing.TB, target *rpc.Client) *proxyNode {
	m := &proxyNode{target: target}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// with sets the function that may answer requests; an error becomes a JSON-RPC error. nil: all are
// forwarded.
func (m *proxyNode) with(meddle func(request) (answer any, meddled bool)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.meddle = meddle
}

func (m *proxyNode) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	type call struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	var calls []call
	batch := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	if !batch {
		body = append(append([]byte("["), body...), ']')
	}
	if err := json.Unmarshal(body, &calls); err != nil {
		http.Error(w, "the request is not valid JSON-RPC: "+err.Error(), http.StatusBadRequest)
		return
	}
	answers := make([]map[string]any, len(calls))
	for i, c := range calls {
		answers[i] = map[string]any{"jsonrpc": "2.0", "id": c.ID}
		if answer, err := m.answer(request.Context(), c.Method, c.Params); err != nil {
			answers[i]["error"] = errorObject(err)
		} else {
			answers[i]["result"] = answer
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if batch {
		_ = json.NewEncoder(w).Encode(answers)
	} else {
		_ = json.NewEncoder(w).Encode(answers[0])
	}
}

func (m *proxyNode) answer(ctx context.Context, method string, params []json.RawMessage) (any, error) {
	ask := func() (json.RawMessage, error) {
		args := make([]any, len(params))
		for i, param := range params {
			args[i] = param
		}
		var answer json.RawMessage
		err := m.target.CallContext(ctx, &answer, method, args...)
		return answer, err
	}
	m.mutex.Lock()
	meddle := m.meddle
	m.mutex.Unlock()
	if meddle != nil {
		if answer, meddled := meddle(request{method, params, ask}); meddled {
			if err, failed := answer.(error); failed {
				return nil, err
			}
			return answer, nil
		}
	}
	return ask()
}

func errorObject(err error) map[string]any {
	object := map[string]any{"code": -32000, "message": err.Error()}
	var coded rpc.Error
	if errors.As(err, &coded) {
		object["code"] = coded.ErrorCode()
	}
	var detailed rpc.DataError
	if errors.As(err, &detailed) && detailed.ErrorData() != nil {
		object["data"] = detailed.ErrorData()
	}
	return object
}
