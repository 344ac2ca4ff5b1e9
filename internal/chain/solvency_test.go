package chain

import (
	"errors"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// Missions are read as they were after one block, named by its hash, whatever came after it.
func TestMissionsAreReadAsOfOneBlock(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, Finalized)
	draft, other := draftNumber(1), draftNumber(2)
	before := r.chain.mine()
	funded := r.chain.mine(fundingLog(draft))
	closed := r.chain.mine(closingLog(draft))
	keys := []onchain.MissionRef{
		{Factory: draft.Factory, MissionKey: sortie.MissionKey(draft.MissionID)}, {Factory: other.Factory, MissionKey: sortie.MissionKey(other.MissionID)},
	}
	for _, c := range []struct {
		name   string
		block  *memoryBlock
		exists bool
		closed uint8
	}{{"before the funding", before, false, 0}, {"funded", funded, true, 0}, {"closed", closed, true, 2}} {
		missions, err := r.follower.nodes.MissionsAt(t.Context(), sortie.Hash(c.block.hash), keys)
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
	many := make([]onchain.MissionRef, 2*maxCalls+3)
	for i := range many {
		many[i] = keys[i%2]
	}
	missions, err := r.follower.nodes.MissionsAt(t.Context(), sortie.Hash(funded.hash), many)
	if err != nil || len(missions) != len(many) || !missions[2*maxCalls].Exists || missions[2*maxCalls+1].Exists {
		t.Errorf("many at once: %d missions, %v; want %d in their order", len(missions), err, len(many))
	}
}

// A node that lacks the block, or says something else, is no quorum with the other.
func TestMissionsNeedNodesThatAgree(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, Finalized)
	draft := draftNumber(1)
	block := r.chain.mine(fundingLog(draft))
	keys := []onchain.MissionRef{{Factory: draft.Factory, MissionKey: sortie.MissionKey(draft.MissionID)}}
	ask := func() error {
		_, err := r.follower.nodes.MissionsAt(t.Context(), sortie.Hash(block.hash), keys)
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	r.nodes[1].tell(lie{behind: 1})
	if err := ask(); !errors.Is(err, ErrQuorumMissing) {
		t.Errorf("with a node that lacks the block: %v, want %v", err, ErrQuorumMissing)
	}
	lies := func(change func(string) string) lie {
		return lie{result: func(method string, _ []any, result any) any {
			if text, isText := result.(string); isText && method == "eth_call" {
				return change(text)
			}
			return result
		}}
	}
	r.nodes[1].tell(lies(func(text string) string { return text[:2+4*64] + strings.Repeat("0", 63) + "1" + text[2+5*64:] }))
	if err := ask(); !errors.Is(err, ErrNodesDisagree) {
		t.Errorf("with a node that counts another payment: %v, want %v", err, ErrNodesDisagree)
	}
	r.nodes[1].tell(lies(func(text string) string { return text[:len(text)-2] }))
	if err := ask(); !errors.Is(err, ErrQuorumMissing) {
		t.Errorf("with a node that answers too little: %v, want %v", err, ErrQuorumMissing)
	}
	r.nodes[1].tell(lie{})
	r.chain.reorganize(1)
	if err := ask(); !errors.Is(err, ErrQuorumMissing) {
		t.Errorf("after the block was reorganized away: %v, want %v", err, ErrQuorumMissing)
	}
}
