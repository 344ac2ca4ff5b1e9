package chain

import (
	"errors"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// testChain is a chain in memory, and nodes of it.
type testChain struct {
	chain *chaintest.Chain
	nodes []*chaintest.Node
	open  *Nodes
}

func newTestChain(t *testing.T, count int) *testChain {
	t.Helper()
	c := &testChain{chain: chaintest.NewChain(chaintest.NewClock().Now)}
	var urls []string
	for range count {
		node := chaintest.NewNode(t, c.chain)
		c.nodes, urls = append(c.nodes, node), append(urls, node.URL)
	}
	c.open = nodesOn(t, urls...)
	return c
}

// Missions are read as of one block, by hash, also after later blocks.
func TestMissionsAreReadAsOfOneBlock(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2)
	draft, other := chaintest.Terms(1), chaintest.Terms(2)
	before := r.chain.Mine()
	funded := r.chain.Mine(chaintest.FundingLog(draft))
	closed := r.chain.Mine(chaintest.ClosingLog(draft))
	keys := []onchain.MissionRef{
		{Factory: draft.Factory, MissionKey: sortie.MissionKey(draft.MissionID)}, {Factory: other.Factory, MissionKey: sortie.MissionKey(other.MissionID)},
	}
	for _, c := range []struct {
		name   string
		block  *chaintest.Block
		exists bool
		closed uint8
	}{{"before the funding", before, false, 0}, {"funded", funded, true, 0}, {"closed", closed, true, 2}} {
		missions, err := r.open.MissionsAt(t.Context(), sortie.Hash(c.block.Hash), keys)
		if err != nil || len(missions) != 2 {
			t.Fatalf("%s: %+v, %v; want two missions", c.name, missions, err)
		}
		m := missions[0]
		if m.Exists != c.exists || (m.Closed != 0) != (c.closed != 0) || missions[1].Exists {
			t.Errorf("%s: exists %t, closed %d, the other exists %t; want %t, %d, false", c.name, m.Exists, m.Closed, missions[1].Exists, c.exists, c.closed)
		}
		if m.Exists && (m.Creator != draft.Creator || m.Token != draft.Token || m.Reward.Cmp(draft.Reward) != 0 || m.Target != uint64(draft.TargetCount)) {
			t.Errorf("%s: %+v, want the terms of %+v", c.name, m, draft)
		}
	}
	many := make([]onchain.MissionRef, 2*MaxCalls+3)
	for i := range many {
		many[i] = keys[i%2]
	}
	missions, err := r.open.MissionsAt(t.Context(), sortie.Hash(funded.Hash), many)
	if err != nil || len(missions) != len(many) || !missions[2*MaxCalls].Exists || missions[2*MaxCalls+1].Exists {
		t.Errorf("many at once: %d missions, %v; want %d in their order", len(missions), err, len(many))
	}
}

// A node that lacks the block, or answers something else, is no quorum with the other.
func TestMissionsNeedNodesThatAgree(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 2)
	draft := chaintest.Terms(1)
	block := r.chain.Mine(chaintest.FundingLog(draft))
	keys := []onchain.MissionRef{{Factory: draft.Factory, MissionKey: sortie.MissionKey(draft.MissionID)}}
	ask := func() error {
		_, err := r.open.MissionsAt(t.Context(), sortie.Hash(block.Hash), keys)
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	r.nodes[1].SetLie(chaintest.Lie{Lag: 1})
	if err := ask(); !errors.Is(err, ErrQuorumMissing) {
		t.Errorf("with a node that lacks the block: %v, want %v", err, ErrQuorumMissing)
	}
	lies := func(change func(string) string) chaintest.Lie {
		return chaintest.Lie{Result: func(method string, _ []any, result any) any {
			if text, isText := result.(string); isText && method == "eth_call" {
				return change(text)
			}
			return result
		}}
	}
	r.nodes[1].SetLie(lies(func(text string) string { return text[:2+4*64] + strings.Repeat("0", 63) + "1" + text[2+5*64:] }))
	if err := ask(); !errors.Is(err, ErrNodesDisagree) {
		t.Errorf("with a node that counts another payment: %v, want %v", err, ErrNodesDisagree)
	}
	r.nodes[1].SetLie(lies(func(text string) string { return text[:len(text)-2] }))
	if err := ask(); !errors.Is(err, ErrQuorumMissing) {
		t.Errorf("with a node that answers too little: %v, want %v", err, ErrQuorumMissing)
	}
	r.nodes[1].SetLie(chaintest.Lie{})
	r.chain.Reorganize(1)
	if err := ask(); !errors.Is(err, ErrQuorumMissing) {
		t.Errorf("after the block was reorganized away: %v, want %v", err, ErrQuorumMissing)
	}
}
