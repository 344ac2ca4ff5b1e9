package follower

import (
	"log/slog"
	"testing"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
)

// nodesOn returns nodes that are in use without a check.
func nodesOn(t testing.TB, urls ...string) *chain.Nodes {
	t.Helper()
	nodes := make([]*chain.Node, len(urls))
	for i, url := range urls {
		var err error
		if nodes[i], err = chain.Dial(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
	all := chain.UncheckedNodes(chain.Deployment{ChainID: chaintest.ChainID}, slog.New(slog.DiscardHandler), nodes...)
	t.Cleanup(all.Close)
	return all
}
