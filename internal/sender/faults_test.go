package sender_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/anviltest"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

const sendMethod = "eth_sendRawTransaction"

// A node accepts transactions and loses them.
func TestDroppedTransactionsAreSentAgain(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 20, func(t *testing.T, r *testSender) {
		sent, dropped := 0, 0
		r.front.with(func(q request) (any, bool) {
			if q.Method != sendMethod {
				return nil, false
			}
			if sent++; sent%3 != 0 {
				return nil, false
			}
			dropped++
			return common.Hash{31: 1}, true
		})
		r.want(r.Missions...)
		blocks := r.drain(60)
		r.checkExactlyOnce(r.Missions, 0)
		if dropped < 6 {
			t.Errorf("got %d dropped transactions, want more", dropped)
		}
		t.Logf("%d of %d dropped, drained in %d blocks", dropped, sent, blocks)
	})
}

// Transactions are dropped from the pool.
func TestEvictedTransactionsAreSentAgain(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 8, sqliteDatabase(t))
	r.want(r.Missions...)
	r.step()
	for i, id := range r.Missions {
		if i%2 == 0 {
			r.RPC(nil, "anvil_dropTransaction", r.intent(id).Attempts[0].Hash)
		}
	}
	r.drain(30)
	r.checkExactlyOnce(r.Missions, 0)
}

// The base fee rises a hundredfold for fifty blocks. With a high limit everything is mined
// meanwhile; with a limit below the spike everything waits and is mined afterwards.
func TestFeeSpike(t *testing.T) {
	t.Parallel()
	const usual, spike, spikeBlocks = anviltest.Gwei, 100 * anviltest.Gwei, 50
	for name, limit := range map[string]int64{"cap above the spike": 500 * anviltest.Gwei, "cap below the spike": 20 * anviltest.Gwei} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothEngines(t, 12, func(t *testing.T, r *testSender) {
				r.config.MaxFeePerGas = big.NewInt(limit)
				r.restart()
				r.want(r.Missions[:6]...)
				r.step() // priced before the spike
				r.BaseFee = spike
				r.want(r.Missions[6:]...)
				minedAt, sawCap := 0, false
				for block := range spikeBlocks {
					r.mine()
					r.step()
					sawCap = sawCap || r.sender.Status().AtCap
					if minedAt == 0 && len(r.intents(store.IntentQueued, store.IntentSent)) == 0 {
						minedAt = block + 1
					}
				}
				if above := limit > spike; sawCap == above || (minedAt > 0) != above || minedAt > 5 {
					t.Errorf("in the spike: got alarm at_cap %t, all mined after %d blocks, want those of the limit", sawCap, minedAt)
				}
				r.BaseFee = usual
				blocks := r.drain(20)
				r.checkExactlyOnce(r.Missions, 0)
				paid, ideal, attempts := r.feesPaid(limit)
				t.Logf("all mined after %d blocks of the spike or %d after it; at most %d attempts; paid %.2f of the ideal", minedAt, blocks, attempts,
					float64(paid)/float64(ideal))
			})
		})
	}
}

// A transaction below the base fee cannot be mined at any place in the line, and nodes do not
// report it.
func TestARisenBaseFeeIsMetAtOnce(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 3, sqliteDatabase(t))
	r.front.with(func(q request) (any, bool) {
		if q.Method == sendMethod {
			_, _ = q.ask()
		}
		return errors.New("already known"), q.Method == sendMethod
	})
	r.want(r.Missions...)
	r.step()
	r.BaseFee *= 10
	r.mine()
	r.step()
	for _, id := range r.Missions {
		if attempts := r.intent(id).Attempts; len(attempts) != 2 || attempts[1].FeeCap.Cmp(big.NewInt(r.BaseFee)) < 0 {
			t.Errorf("%s: got %d attempts, want a replacement that can be mined", id, len(attempts))
		}
	}
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
}

// feesPaid compares the cost of the account's transactions with base fee and one gwei of tip, and
// counts the most attempts of an intent. No attempt may offer more than the limit, or less than a
// tenth more than the one before.
func (r *testSender) feesPaid(limit int64) (paid, ideal uint64, attempts int) {
	r.t.Helper()
	for _, tx := range r.minedTransactions() {
		receipt, err := r.Client.TransactionReceipt(context.Background(), tx.Hash())
		if err != nil {
			r.t.Fatal(err)
		}
		header, err := r.Client.HeaderByNumber(context.Background(), receipt.BlockNumber)
		if err != nil {
			r.t.Fatal(err)
		}
		paid += receipt.GasUsed * receipt.EffectiveGasPrice.Uint64() / anviltest.Gwei
		ideal += receipt.GasUsed * (header.BaseFee.Uint64() + anviltest.Gwei) / anviltest.Gwei
	}
	for _, intent := range r.intents(store.IntentDone) {
		attempts = max(attempts, len(intent.Attempts))
		for i, attempt := range intent.Attempts {
			if attempt.FeeCap.Cmp(big.NewInt(limit)) > 0 || attempt.TipCap.Cmp(attempt.FeeCap) > 0 {
				r.t.Errorf("%s: attempt %d offers %s and a tip of %s, want no more than the limit", intent.Subject, attempt.Number, attempt.FeeCap, attempt.TipCap)
			}
			if i > 0 && (!tenthMore(attempt.FeeCap, intent.Attempts[i-1].FeeCap) || !tenthMore(attempt.TipCap, intent.Attempts[i-1].TipCap)) {
				r.t.Errorf("%s: attempt %d does not pay a tenth more than the one before, want it to", intent.Subject, attempt.Number)
			}
		}
	}
	return paid, ideal, attempts
}

func tenthMore(now, before *big.Int) bool {
	return new(big.Int).Mul(now, big.NewInt(10)).Cmp(new(big.Int).Mul(before, big.NewInt(11))) >= 0
}

// The process dies at every possible moment, many times, while prices rise and transactions must be
// replaced.
func TestDeathAtEveryMoment(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"signed", "stored", "sent", "observed"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			onBothEngines(t, 12, func(t *testing.T, r *testSender) {
				r.want(r.Missions...)
				deaths, bumps := 0, int64(0)
				for round := 0; len(r.intents(store.IntentQueued, store.IntentSent, store.IntentMined)) > 0; round++ {
					if round > 100 {
						t.Fatal("the intents are not done, want them done")
					}
					reached, fatal := 0, 1+round%3
					if moment == "observed" { // once in a step
						fatal = 1 + round%2
					}
					r.sender.AbandonWhen(func(now string) error {
						if now == moment {
							reached++
						}
						if now == moment && reached == fatal {
							return errDied
						}
						return nil
					})
					err := r.sender.Step(context.Background(), r.lease)
					bumps += r.sender.Status().Bumps
					switch {
					case errors.Is(err, errDied):
						deaths++
						if err := r.db.Close(); err != nil {
							t.Fatal(err)
						}
						r.openStore()
						r.restart()
					case err != nil:
						t.Fatal(err)
					}
					if round%8 == 1 && r.BaseFee < 256*anviltest.Gwei {
						r.BaseFee *= 4 // more than all offers: all must be replaced
					}
					if round%2 == 1 {
						r.mine()
					}
				}
				r.checkExactlyOnce(r.Missions, 0)
				if deaths < 3 || bumps < 3 {
					t.Errorf("got %d deaths and %d replacements, want more", deaths, bumps)
				}
				t.Logf("%d deaths, %d replacements", deaths, bumps)
			})
		})
	}
}

var errDied = errors.New("died")

// stranger sends a transaction of the same account from elsewhere, at a high price.
func (r *testSender) stranger(nonce uint64, to common.Address, data []byte) common.Hash {
	r.t.Helper()
	tx, err := anviltest.SignerOf(r.key).SignTransaction(context.Background(), r.Deployment.ChainID, types.NewTx(&types.DynamicFeeTx{
		ChainID: new(big.Int).SetUint64(r.Deployment.ChainID), Nonce: nonce, Gas: 200_000,
		GasTipCap: big.NewInt(50 * anviltest.Gwei), GasFeeCap: big.NewInt(400 * anviltest.Gwei), To: &to, Data: data,
	}))
	if err == nil {
		err = r.Client.SendTransaction(context.Background(), tx)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return tx.Hash()
}

func TestReplacedByAStranger(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 3, func(t *testing.T, r *testSender) {
		r.want(r.Missions...)
		r.step()
		second := r.intent(r.Missions[1])
		r.stranger(*second.Nonce, common.Address{19: 1}, nil)
		r.mine()
		r.step()
		for range r.depth {
			r.wantAlarm(sender.AlarmReplaced, true)
			if now := r.intent(r.Missions[1]); now.Status != store.IntentSent || *now.Nonce != *second.Nonce || len(now.Attempts) != 1 {
				t.Errorf("intent before the foreign transaction is final: got %+v, want it with its nonce", now)
			}
			r.mine()
			r.step()
		}
		if now := r.intent(r.Missions[1]); now.Status != store.IntentSent || len(now.Attempts) != 2 {
			t.Errorf("intent after the foreign transaction is final: got %+v, want it sent again", now)
		}
		r.step()
		r.wantAlarm(sender.AlarmReplaced, false)
		r.drain(20)
		r.checkExactlyOnce(r.Missions, 1)
		if now := r.intent(r.Missions[1]); len(now.Attempts) != 2 || *now.Nonce == *second.Nonce {
			t.Errorf("replaced intent: got %+v, want a second attempt with another nonce", now)
		}
	})
}

// A node's pool has a foreign transaction that is never mined: the service must pay more.
func TestOutbiddingAStranger(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	const strangers = 10 * anviltest.Gwei // offered by the foreign transaction; ours begin with three
	r.front.with(func(q request) (any, bool) {
		var raw sortie.Bytes
		var tx types.Transaction
		if q.Method != sendMethod || json.Unmarshal(q.Params[0], &raw) != nil || tx.UnmarshalBinary(raw) != nil {
			return nil, false
		}
		return errors.New("replacement transaction underpriced"), tx.Nonce() == r.firstNonce && tx.GasFeeCap().Int64() < strangers*11/10
	})
	r.want(r.Missions...)
	blocks := r.drain(25)
	r.checkExactlyOnce(r.Missions, 0)
	t.Logf("%d blocks, %d attempts", blocks, len(r.intent(r.Missions[0]).Attempts))
}

// Another program may close a mission with the same call: then nothing is left to do.
func TestCarriedOutByAStranger(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	r.want(r.Missions...)
	r.step()
	first := r.intent(r.Missions[0])
	to, data, err := r.prepareClose(context.Background(), first)
	if err != nil {
		t.Fatal(err)
	}
	r.stranger(*first.Nonce, common.Address(to), data)
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0) // one of the two is foreign
	if now := r.intent(r.Missions[0]); now.Status != store.IntentVoid || len(now.Attempts) != 1 {
		t.Errorf("intent that another program carried out: got %+v, want it void with one attempt", now)
	}
}

// The creator reclaimed the mission: the close is mined and reverts, and is not tried again.
func TestRevertedTransactionsAreReconsidered(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	// The same close from another account is mined first, in the same block.
	r.want(r.Missions...)
	r.step()
	first := r.intent(r.Missions[0])
	to, data, err := r.prepareClose(context.Background(), first)
	if err != nil {
		t.Fatal(err)
	}
	other := r.key
	r.key = otherKey
	r.stranger(r.nonce(), common.Address(to), data)
	r.key = other
	r.mine()
	r.step()
	r.wantAlarm(sender.AlarmReverted, true)
	if now := r.intent(r.Missions[0]); now.Status != store.IntentSent || now.Problem == "" {
		t.Errorf("reverted intent: got %+v, want it with its problem", now)
	}
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0) // one mined without effect, one closed by the other account
	if now := r.intent(r.Missions[0]); now.Status != store.IntentVoid || len(now.Attempts) != 1 {
		t.Errorf("reverted intent after finality: got %+v, want it void with one attempt", now)
	}
}

// Blocks with the account's transactions are replaced many times, at every depth above finality.
func TestReorganizations(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 16, func(t *testing.T, r *testSender) {
		r.depth = 6
		r.want(r.Missions...)
		back := 0
		for round := range 12 {
			r.step()
			r.mine()
			r.step()
			before := len(r.intents(store.IntentMined))
			r.reorg(uint64(1 + round%5))
			r.step()
			back += max(0, before-len(r.intents(store.IntentMined)))
		}
		r.drain(40)
		r.checkExactlyOnce(r.Missions, 0)
		if back < 10 {
			t.Errorf("got %d replaced transactions, want more", back)
		}
		t.Logf("%d mined transactions were taken back", back)
	})
}

// reorg replaces blocks at the top by empty ones and one more.
func (r *testSender) reorg(depth uint64) {
	r.t.Helper()
	r.RPC(nil, "anvil_reorg", depth, []any{})
	r.mine()
}

// Some endpoints return receipts of replaced blocks.
func TestReceiptsOfBlocksThatAreNoMore(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 1, sqliteDatabase(t))
	remembered := map[string]json.RawMessage{}
	r.front.with(func(q request) (any, bool) {
		if q.Method != "eth_getTransactionReceipt" {
			return nil, false
		}
		transaction := string(q.Params[0])
		if answer, err := q.ask(); err == nil && string(answer) != "null" && remembered[transaction] == nil {
			remembered[transaction] = answer
		}
		return remembered[transaction], true
	})
	r.want(r.Missions...)
	r.step()
	r.mine()
	r.step()
	r.BaseFee *= 10 // so that another attempt will be mined
	r.reorg(1)
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
	if now := r.intent(r.Missions[0]); len(now.Attempts) != 2 || now.MinedTransaction != now.Attempts[1].Hash {
		t.Errorf("intent with an old receipt: got %+v, want its second attempt mined", now)
	}
}

// A foreign transaction is replaced after a higher nonce was assigned: the nonce between is unused.
func TestNonceGapIsClosed(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 2, func(t *testing.T, r *testSender) {
		stranger := r.stranger(r.nonce(), common.Address{19: 1}, nil)
		r.mine()
		r.want(r.Missions...)
		r.step()
		r.reorg(1)
		r.RPC(nil, "anvil_dropTransaction", stranger)
		r.drain(30)
		r.checkExactlyOnce(r.Missions, 1)
		if fillers := r.intents(store.IntentDone); len(fillers) != 3 {
			t.Errorf("%d intents are done, want the two and one that fills the gap", len(fillers))
		}
	})
}

// Every transaction is stored before it is sent.
func TestEverythingIsStoredBeforeItIsSent(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 6, func(t *testing.T, r *testSender) {
		seen := 0
		r.front.with(func(q request) (any, bool) {
			if q.Method != sendMethod {
				return nil, false
			}
			seen++
			for _, intent := range r.intents(store.IntentSent) {
				for _, attempt := range intent.Attempts {
					if string(q.Params[0]) == `"`+sortie.Bytes(attempt.Raw).String()+`"` {
						return nil, false
					}
				}
			}
			t.Errorf("transaction %s was sent and is not stored, want it stored", q.Params[0])
			return nil, false
		})
		r.want(r.Missions...)
		r.step()
		r.BaseFee *= 10
		r.drain(30)
		r.checkExactlyOnce(r.Missions, 0)
		if seen < 2*len(r.Missions) {
			t.Errorf("got %d sent transactions, want more", seen)
		}
	})
}

// Nodes refuse transactions in different words, also those that they have.
func TestEveryDialectOfNodes(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, len(nodeDialects)*2, sqliteDatabase(t))
	sent := 0
	r.front.with(func(q request) (any, bool) {
		if q.Method != sendMethod || sent >= len(nodeDialects)*4 {
			return nil, false
		}
		text := nodeDialects[sent%len(nodeDialects)].text
		if sent++; sent%2 == 0 {
			_, _ = q.ask()
		}
		return fmt.Errorf("%s", text), true
	})
	r.want(r.Missions...)
	r.drain(200)
	r.checkExactlyOnce(r.Missions, 0)
}

// A node answers from a lagging machine: what is mined stays mined, and no nonce is assigned twice.
func TestANodeThatLags(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 12, sqliteDatabase(t))
	r.depth = 6
	r.want(r.Missions[:4]...)
	r.step()
	frozen := r.Head()
	r.mine()
	r.step()
	if mined := len(r.intents(store.IntentMined)); mined != 4 {
		t.Fatalf("got %d mined intents, want 4", mined)
	}
	r.front.with(lagging(frozen))
	r.want(r.Missions[4:8]...)
	r.step()
	if mined := len(r.intents(store.IntentMined)); mined != 4 {
		t.Errorf("a lagging node took back %d of 4 intents, want none", 4-mined)
	}
	nonces := map[uint64]bool{}
	for _, intent := range r.intents(store.IntentMined, store.IntentSent) {
		nonces[*intent.Nonce] = true
	}
	if len(nonces) != 8 {
		t.Errorf("8 intents have %d nonces, want 8", len(nonces))
	}
	for range 8 {
		r.mine()
	}
	r.want(r.Missions[8:]...)
	if err := r.sender.Step(context.Background(), r.lease); err == nil {
		t.Error("step with a node below the final block: no error, want one")
	}
	r.front.with(nil)
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
}

// The first node lags and the second does not: the view of the second counts.
func TestALaggingNodeIsAskedLast(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	second := newProxyNode(t, r.Client.Client())
	r.useNodes(r.front.URL, second.URL)
	r.depth = 10
	r.restart()
	r.want(r.Missions...)
	r.step()
	r.front.with(lagging(r.Head()))
	for range 5 {
		r.mine()
		r.step()
	}
	if mined := len(r.intents(store.IntentMined)); mined != 2 {
		t.Errorf("got %d mined intents, want 2", mined)
	}
	r.front.with(nil)
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
}

// lagging is a node that knows nothing above a block.
func lagging(frozen uint64) func(request) (any, bool) {
	return func(q request) (any, bool) {
		switch q.Method {
		case "eth_getBlockByNumber", "eth_getTransactionCount", "eth_getBalance":
			for i, param := range q.Params {
				if string(param) == `"latest"` {
					q.Params[i] = json.RawMessage(fmt.Sprintf(`"0x%x"`, frozen))
				}
			}
		case "eth_getTransactionReceipt":
			answer, err := q.ask()
			var receipt struct{ BlockNumber string }
			if err != nil || json.Unmarshal(answer, &receipt) != nil {
				return err, err != nil
			}
			if number, ok := new(big.Int).SetString(receipt.BlockNumber, 0); ok && number.Uint64() > frozen {
				return nil, true
			}
			return answer, true
		}
		return nil, false
	}
}
