package sender

import (
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

func TestFatesOfTransactions(t *testing.T) {
	t.Parallel()
	first, second, stale := sortie.Hash{1}, sortie.Hash{2}, sortie.Hash{3}
	nonce := uint64(7)
	intent := store.Intent{Nonce: &nonce, Attempts: []store.Attempt{{Nonce: 5, Hash: stale}, {Nonce: 7, Hash: first}, {Nonce: 7, Hash: second}}}
	in := func(transaction sortie.Hash, block uint64, succeeded bool) map[sortie.Hash]chain.MinedTx {
		return map[sortie.Hash]chain.MinedTx{transaction: {Transaction: transaction, Block: block, Succeeded: succeeded}}
	}
	for name, c := range map[string]struct {
		nextNonce uint64
		mined     map[sortie.Hash]chain.MinedTx
		want      outcome
	}{
		"nothing yet":                         {7, nil, outcomeWaiting},
		"lower nonces wait too":               {3, nil, outcomeWaiting},
		"the first attempt is mined":          {8, in(first, 99, true), outcomeSucceeded},
		"the second attempt is mined":         {9, in(second, 100, true), outcomeSucceeded},
		"mined without effect":                {8, in(first, 99, false), outcomeReverted},
		"used by none of them":                {8, nil, outcomeTaken},
		"used, and only an old nonce's mined": {8, in(stale, 90, true), outcomeTaken},
		"a block that the head does not have": {7, in(first, 99, true), outcomeWaiting},
		"a block beyond the head":             {8, in(first, 101, true), outcomeUnclear},
	} {
		got := judge(intent, view{head: onchain.Block{Number: 100}, nonce: c.nextNonce}, c.mined)
		if got.outcome != c.want {
			t.Errorf("%s: got outcome %d, want %d", name, got.outcome, c.want)
		}
	}
}

// After a reorganization mined intents wait again, next to those that were never mined.
func TestTheLineIsInTheOrderOfNonces(t *testing.T) {
	t.Parallel()
	r := &tick{}
	for _, nonce := range []uint64{6, 7, 5, 9, 8} {
		r.intents = append(r.intents, &txIntent{Intent: store.Intent{Status: store.IntentSent, Nonce: &nonce}, observation: observation{outcome: outcomeWaiting}})
	}
	for i, p := range r.waiting() {
		if *p.Nonce != uint64(5+i) {
			t.Errorf("got nonce %d at index %d, want them in order", *p.Nonce, i)
		}
	}
}

// Each account counts its own nonces: a mined transaction of the former account does not count for
// the current one.
func TestAFormerSendersTransactionIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	former, present := sortie.Address{19: 1}, sortie.Address{19: 2}
	nonce, theirs, ours := uint64(7), sortie.Hash{31: 1}, sortie.Hash{31: 2}
	intent := store.Intent{Sender: present, Nonce: &nonce, Attempts: []store.Attempt{
		{Sender: former, Nonce: 7, Hash: theirs}, {Sender: present, Nonce: 7, Hash: ours},
	}}
	mined := map[sortie.Hash]chain.MinedTx{theirs: {Transaction: theirs, Block: 5, Succeeded: true}}
	if got := judge(intent, view{nonce: 8, head: onchain.Block{Number: 9}}, mined); got.outcome != outcomeTaken {
		t.Errorf("outcome: got %d, want %d: the nonce is used by none of ours", got.outcome, outcomeTaken)
	}
}
