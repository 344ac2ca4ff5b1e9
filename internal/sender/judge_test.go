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
		want      fate
	}{
		"nothing yet":                         {7, nil, fateWaiting},
		"lower nonces wait too":               {3, nil, fateWaiting},
		"the first attempt is mined":          {8, in(first, 99, true), fateSucceeded},
		"the second attempt is mined":         {9, in(second, 100, true), fateSucceeded},
		"mined in vain":                       {8, in(first, 99, false), fateReverted},
		"used by none of them":                {8, nil, fateTaken},
		"used, and only an old nonce's mined": {8, in(stale, 90, true), fateTaken},
		"a block that the head does not have": {7, in(first, 99, true), fateWaiting},
		"a block beyond the head":             {8, in(first, 101, true), fateUnclear},
	} {
		got := judge(intent, view{head: onchain.Block{Number: 100}, nonce: c.nextNonce}, c.mined)
		if got.fate != c.want {
			t.Errorf("%s: fate %d, want %d", name, got.fate, c.want)
		}
	}
}

// After a reorganization intents that were mined wait again, beside those that never were.
func TestTheLineIsInTheOrderOfNonces(t *testing.T) {
	t.Parallel()
	r := &round{}
	for _, nonce := range []uint64{6, 7, 5, 9, 8} {
		r.pursuits = append(r.pursuits, &pursuit{Intent: store.Intent{Status: store.IntentSent, Nonce: &nonce}, outcome: outcome{fate: fateWaiting}})
	}
	for i, p := range r.waiting() {
		if *p.Nonce != uint64(5+i) {
			t.Errorf("nonce %d is at place %d", *p.Nonce, i)
		}
	}
}

// Two accounts count their nonces by themselves: a mined transaction of the former one says nothing
// about the nonce of the present one.
func TestAFormerSendersTransactionIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	former, present := sortie.Address{19: 1}, sortie.Address{19: 2}
	nonce, theirs, ours := uint64(7), sortie.Hash{31: 1}, sortie.Hash{31: 2}
	intent := store.Intent{Sender: present, Nonce: &nonce, Attempts: []store.Attempt{
		{Sender: former, Nonce: 7, Hash: theirs}, {Sender: present, Nonce: 7, Hash: ours},
	}}
	mined := map[sortie.Hash]chain.MinedTx{theirs: {Transaction: theirs, Block: 5, Succeeded: true}}
	if got := judge(intent, view{nonce: 8, head: onchain.Block{Number: 9}}, mined); got.fate != fateTaken {
		t.Errorf("fate: got %d, want %d: the nonce is used by none of ours", got.fate, fateTaken)
	}
}
