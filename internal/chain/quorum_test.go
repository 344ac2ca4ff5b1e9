package chain

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

var errDown = errors.New("down")

// answering returns nodes in use, each with its answer; an empty answer is a failure.
func answering(answers ...string) (*Nodes, func(context.Context, *Node) (string, error)) {
	nodes := &Nodes{log: slog.New(slog.DiscardHandler)}
	byNode := make(map[*Node]string)
	for _, answer := range answers {
		node := &checkedNode{Node: &Node{}}
		node.good.Store(true)
		nodes.nodes = append(nodes.nodes, node)
		byNode[node.Node] = answer
	}
	return nodes, func(_ context.Context, node *Node) (string, error) {
		if byNode[node] == "" {
			return "", errDown
		}
		return byNode[node], nil
	}
}

func TestQuorumNeverFallsToFewer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers []string
		want    string
		err     error
	}{
		{"one of one", []string{"a"}, "a", nil},
		{"none of one", []string{""}, "", ErrQuorumMissing},
		{"two of two", []string{"a", "a"}, "a", nil},
		{"one of two", []string{"a", ""}, "", ErrQuorumMissing},
		{"one each of two", []string{"a", "b"}, "", ErrNodesDisagree},
		{"two of three", []string{"a", "b", "a"}, "a", nil},
		{"two of three with one down", []string{"a", "", "a"}, "a", nil},
		{"one each of three", []string{"a", "b", "c"}, "", ErrNodesDisagree},
		{"two each of four", []string{"a", "b", "b", "a"}, "", ErrNodesDisagree},
		{"no node", nil, "", ErrQuorumMissing},
	} {
		nodes, ask := answering(c.answers...)
		got, err := Quorum(t.Context(), nodes, ask)
		if got != c.want || !errors.Is(err, c.err) || (c.err != nil && !errors.Is(err, ErrNoQuorum)) {
			t.Errorf("%s: got %q, %v, want %q, %v", c.name, got, err, c.want, c.err)
		}
	}
}

func TestANodeOutOfUseStillCounts(t *testing.T) {
	t.Parallel()
	nodes, ask := answering("a", "a")
	nodes.Distrust(nodes.nodes[1].Node, "it changed")
	if _, err := Quorum(t.Context(), nodes, ask); !errors.Is(err, ErrQuorumMissing) {
		t.Errorf("quorum with one of two nodes out of use: got %v, want ErrQuorumMissing", err)
	}
}

func TestOneEndpointIsOneNode(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "?") }))
	defer down.Close()
	for _, second := range []string{"", "/", "?key=1"} {
		nodes, err := OpenNodes(t.Context(), []string{down.URL, down.URL + second}, Deployment{}, slog.New(slog.DiscardHandler))
		if refused := err != nil; refused != (second != "?key=1") {
			t.Errorf("open a URL twice, the second with %q: got %v, want an error except for another query", second, err)
		}
		if nodes != nil {
			nodes.Close()
		}
	}
}
