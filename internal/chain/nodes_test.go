package chain

import (
	"log/slog"
	"testing"

	"github.com/sortie-labs/sortie/internal/chaintest"
)

// nodesOn returns nodes that are in use without a check.
func nodesOn(t testing.TB, urls ...string) *Nodes {
	t.Helper()
	nodes := make([]*Node, len(urls))
	for i, url := range urls {
		var err error
		if nodes[i], err = Dial(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
	all := UncheckedNodes(Deployment{ChainID: chaintest.ChainID}, slog.New(slog.DiscardHandler), nodes...)
	t.Cleanup(all.Close)
	return all
}
