package chain

import (
	"errors"
	"testing"

	"github.com/sortie-labs/sortie/internal/chaintest"
)

func TestErrorsOfNodesHaveTheirKinds(t *testing.T) {
	t.Parallel()
	clock := chaintest.NewClock()
	node := chaintest.NewNode(t, chaintest.NewChain(clock.Now))
	ask := func(l chaintest.Lie) error {
		node.SetLie(l)
		_, err := nodesOn(t, node.URL).InUse()[0].Batch(t.Context(), []Call{{"eth_chainId", "[]"}, HeaderCall(TagLatest)})
		return err
	}
	if err := ask(chaintest.Lie{}); err != nil {
		t.Fatal(err)
	}
	var refused *nodeError
	var status statusError
	if err := ask(chaintest.AnswersWith(429, "")); !errors.As(err, &status) || status != 429 || !errors.Is(err, ErrUnreachable) {
		t.Errorf("an HTTP status: got %v, want status 429, unreachable", err)
	}
	if err := ask(chaintest.AnswersWith(400, `{"id":null,"error":{"code":-32600,"message":"no\u001b[31m batches"}}`)); !errors.As(err, &refused) || !IsAnswer(err) || refused.message != "no[31m batches" {
		t.Errorf("a JSON-RPC error for the batch: got %v, want it with its message", err)
	}
	for _, text := range []string{`{"id":1,"result":1}`, `[]`, `[{}]`, `[{"id":1},{"id":2}]`, `[{"id":1,"result":1},{"id":1,"result":1}]`, `[{"id":1.5,"result":1},{"id":2,"result":1}]`, `7`, `[[],[]]`,
		`[{"id":1,"result":1,"result":2},{"id":2,"result":1}]`, `[{"id":1,"error":7},{"id":2,"result":1}]`} {
		if err := ask(chaintest.AnswersWith(200, text)); !errors.Is(err, ErrBadAnswer) {
			t.Errorf("answer %s: got %v, want ErrBadAnswer", text, err)
		}
	}
	for _, text := range []string{``, `{`, `[{"id":1,"result":1},{"id":2,"result":1}] []`, "[{\"id\":1,\"result\":\"\xff\"}]", `nul`} {
		if err := ask(chaintest.AnswersWith(200, text)); !errors.Is(err, ErrUnreachable) {
			t.Errorf("answer %s: got %v, want ErrUnreachable", text, err)
		}
	}
}
