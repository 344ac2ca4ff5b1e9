package sender_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/anviltest"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

// A node that estimates too much gas is refused, and other intents continue.
func TestAbsurdGasIsRefused(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	absurd := true
	r.front.with(func(q request) (any, bool) {
		first := strings.TrimPrefix(sortie.MissionKey(r.Missions[0]).String(), "0x")
		if absurd && q.Method == "eth_estimateGas" && strings.Contains(string(q.Params[0]), first) {
			return "0x1000000000000000", true // 2^60
		}
		return nil, false
	})
	r.want(r.Missions...)
	r.step()
	r.wantAlarm(sender.AlarmGasAboveLimit, true)
	if now := r.intent(r.Missions[0]); now.Status != store.IntentQueued || !strings.Contains(now.Problem, "1152921504606846976 gas") {
		t.Errorf("intent with too much gas: got %+v, want it queued with its problem", now)
	}
	if now := r.intent(r.Missions[1]); now.Status != store.IntentSent {
		t.Errorf("other intent: got %+v, want it sent", now)
	}
	absurd = false
	r.drain(20)
	r.wantAlarm(sender.AlarmGasAboveLimit, false)
	r.checkExactlyOnce(r.Missions, 0)
}

func TestGasHasSomeToSpare(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 1, sqliteDatabase(t))
	r.front.with(func(q request) (any, bool) { return "0x186a0", q.Method == "eth_estimateGas" })
	r.want(r.Missions...)
	r.step()
	var tx types.Transaction
	if err := tx.UnmarshalBinary(r.intent(r.Missions[0]).Attempts[0].Raw); err != nil || tx.Gas() != 110_000+uint64(len(tx.Data())/96)*20_000 {
		t.Errorf("%d gas, %v, want a tenth and 20000 for each three words more", tx.Gas(), err)
	}
}

// An account without ether raises an alarm, and continues once it has some.
func TestAnEmptyAccount(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 4, sqliteDatabase(t))
	r.want(r.Missions[:2]...)
	r.step()
	r.RPC(nil, "anvil_setBalance", r.key.Address(), "0x0")
	r.want(r.Missions[2:]...)
	for range 3 {
		r.mine()
		r.step()
		r.wantAlarm(sender.AlarmBalanceLow, true)
	}
	if queued := len(r.intents(store.IntentQueued)); queued != 2 {
		t.Errorf("%d intents wait, want the two without balance", queued)
	}
	r.RPC(nil, "anvil_setBalance", r.key.Address(), "0x8ac7230489e80000") // ten ether
	r.drain(20)
	r.wantAlarm(sender.AlarmBalanceLow, false)
	r.checkExactlyOnce(r.Missions, 0)
}

// While an incident is open nothing is signed or sent, not even again; outcomes are still observed.
func TestNothingIsSentWhileHalted(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 3, sqliteDatabase(t))
	halted := false
	r.config.Halted = func(context.Context) (bool, error) { return halted, nil }
	r.restart()
	r.want(r.Missions[:1]...)
	r.step()
	halted = true
	r.want(r.Missions[1:]...)
	before := r.sender.Status().Broadcasts
	for range 4 {
		r.mine()
		r.step()
	}
	r.wantAlarm(sender.AlarmHalted, true)
	if after := r.sender.Status().Broadcasts; after != before {
		t.Errorf("got %d sent transactions, want 0 during an incident", after-before)
	}
	if len(r.intents(store.IntentDone)) != 1 || len(r.intents(store.IntentQueued)) != 2 {
		t.Errorf("got intents %+v, want one done and two queued", r.intents(store.IntentQueued, store.IntentSent, store.IntentMined, store.IntentDone))
	}
	halted = false
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
}

// A transaction that nodes have and never mine is replaced, later each time, up to the limit; then
// there is an alarm.
func TestATransactionThatIsNeverMined(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 3, sqliteDatabase(t))
	swallow := true
	r.front.with(func(q request) (any, bool) { return common.Hash{31: 1}, swallow && q.Method == sendMethod })
	r.want(r.Missions...)
	r.step()
	begun, stuckAfter := r.clock.now(), time.Duration(0)
	for r.clock.now().Sub(begun) < 20*time.Minute {
		r.mine()
		r.step()
		if stuckAfter == 0 && r.sender.Status().Stuck {
			stuckAfter = r.clock.now().Sub(begun)
		}
	}
	first, second := r.intent(r.Missions[0]), r.intent(r.Missions[1])
	if n := len(first.Attempts); n < 6 || n > 10 || len(second.Attempts) != 1 {
		t.Errorf("replacements in twenty minutes: got %d of the first in line and %d of the second, want some and none", n-1, len(second.Attempts)-1)
	}
	if stuckAfter < 5*time.Minute || stuckAfter > 15*time.Minute {
		t.Errorf("alarm stuck after %s, want it after 5 to 15 minutes", stuckAfter)
	}
	swallow = false
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
	r.wantAlarm(sender.AlarmStuck, false)
}

// Transactions that wait for a lower nonce do not wait for a better price.
func TestTheNextInLineIsGivenTime(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	lowest := r.firstNonce // of the transactions that are lost
	r.front.with(func(q request) (any, bool) {
		var raw sortie.Bytes
		var tx types.Transaction
		if q.Method != sendMethod || json.Unmarshal(q.Params[0], &raw) != nil || tx.UnmarshalBinary(raw) != nil {
			return nil, false
		}
		return common.Hash{31: 1}, tx.Nonce() >= lowest
	})
	r.want(r.Missions...)
	for range 10 { // two minutes
		r.step()
		r.mine()
	}
	lowest++
	r.step()
	r.mine()
	r.step()
	if first, second := r.intent(r.Missions[0]), r.intent(r.Missions[1]); first.Status != store.IntentMined || second.Status != store.IntentSent || len(second.Attempts) != 1 {
		t.Errorf("got the first %s, the second %s with %d attempts, want the second not replaced", first.Status, second.Status, len(second.Attempts))
	}
	lowest = math.MaxUint64
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
}

// An intent that cannot be prepared is delayed longer each time and does not stop the others.
func TestAnIntentThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	asked := 0
	var problem error = errors.New("the settler does not answer")
	r.config.Prepare = map[string]sender.Prepare{"close": func(ctx context.Context, intent store.Intent) (sortie.Address, []byte, error) {
		if intent.Subject == r.Missions[0] {
			asked++
			if problem != nil {
				return sortie.Address{}, nil, problem
			}
		}
		return r.prepareClose(ctx, intent)
	}}
	r.restart()
	r.want(r.Missions...)
	for range 50 {
		r.mine()
		r.step()
	}
	r.wantAlarm(sender.AlarmUnprepared, true)
	if status := r.sender.Status(); status.Stuck || status.Queued != 1 || !status.Oldest.Equal(r.intent(r.Missions[0]).CreatedAt) {
		t.Errorf("status after ten minutes: got %+v, want one queued intent and no alarm stuck", status)
	}
	if now := r.intent(r.Missions[0]); asked < 5 || asked > 10 || now.Status != store.IntentQueued || now.Problem != problem.Error() {
		t.Errorf("prepared %d times in 50 blocks, intent %+v, want fewer and a problem", asked, now)
	}
	if now := r.intent(r.Missions[1]); now.Status != store.IntentDone {
		t.Errorf("other intent: got %+v, want it done", now)
	}
	r.clock.advance(time.Hour)
	r.step()
	r.wantAlarm(sender.AlarmStuck, true)
	problem = nil
	r.clock.advance(time.Hour)
	r.drain(20)
	r.checkExactlyOnce(r.Missions, 0)
}

// A transaction that is mined without effect costs gas each time: the delays grow, and others
// continue.
func TestMinedWithoutEffectManyTimes(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	meagre := true
	r.front.with(func(q request) (any, bool) {
		first := strings.TrimPrefix(sortie.MissionKey(r.Missions[0]).String(), "0x")
		return "0xfa0", meagre && q.Method == "eth_estimateGas" && strings.Contains(string(q.Params[0]), first) // 4,000: too little, also with the margin
	})
	r.want(r.Missions...)
	for range 100 { // twenty minutes
		r.step()
		r.mine()
	}
	inVain := len(r.intent(r.Missions[0]).Attempts)
	if inVain < 3 || inVain > 7 {
		t.Errorf("mined without effect %d times in twenty minutes, want 3 to 7", inVain)
	}
	meagre = false
	r.clock.advance(time.Hour)
	r.drain(20)
	r.checkExactlyOnce(r.Missions, len(r.intent(r.Missions[0]).Attempts)-1)
}

func TestAnUnknownKindOfIntentIsKept(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 1, sqliteDatabase(t))
	r.config.Prepare = map[string]sender.Prepare{}
	r.restart()
	r.want(r.Missions...)
	r.step()
	if now := r.intent(r.Missions[0]); now.Status != store.IntentQueued || !strings.Contains(now.Problem, `"close"`) {
		t.Errorf("intent of an unknown kind: got %+v, want it queued with its problem", now)
	}
}

// unsteady fails every other time: once with the signature of another key, once with another
// transaction.
type unsteady struct {
	chain.TransactionSigner
	asked int
}

func (u *unsteady) SignTransaction(ctx context.Context, chainID uint64, tx *types.Transaction) (*types.Transaction, error) {
	u.asked++
	switch u.asked % 6 {
	case 1:
		return nil, errors.New("the signer is busy")
	case 3:
		return anviltest.SignerOf(otherKey).SignTransaction(ctx, chainID, tx)
	case 5:
		other := types.NewTx(&types.DynamicFeeTx{ChainID: tx.ChainId(), Nonce: tx.Nonce() + 1, GasFeeCap: big.NewInt(anviltest.Gwei), GasTipCap: big.NewInt(1), To: tx.To(), Gas: tx.Gas()})
		return u.TransactionSigner.SignTransaction(ctx, chainID, other)
	}
	return u.TransactionSigner.SignTransaction(ctx, chainID, tx)
}

func TestASignerThatFailsHalfTheTime(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 6, sqliteDatabase(t))
	r.config.Signer = &unsteady{TransactionSigner: anviltest.SignerOf(r.key)}
	r.restart()
	r.want(r.Missions...)
	r.step()
	r.wantAlarm(sender.AlarmSignerFails, true)
	r.drain(40)
	r.checkExactlyOnce(r.Missions, 0)
}

// Two nodes must agree before an intent is over. One that denies or forges a receipt keeps it open
// and raises an alarm.
func TestNodesMustAgreeOnTheEnd(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(request) (any, bool){
		"denies the receipt": func(q request) (any, bool) {
			return nil, q.Method == "eth_getTransactionReceipt"
		},
		"calls it reverted": func(q request) (any, bool) {
			return altered(q, "status", "0x0")
		},
		"puts it into another block": func(q request) (any, bool) {
			return altered(q, "blockHash", common.Hash{31: 9}.Hex())
		},
		"does not answer": func(q request) (any, bool) {
			return errors.New("busy"), q.Method == "eth_getTransactionReceipt"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestSender(t, 1, sqliteDatabase(t))
			second := newProxyNode(t, r.Client.Client())
			r.useNodes(r.front.URL, second.URL)
			r.restart()
			second.with(lie)
			r.want(r.Missions...)
			for range 10 {
				r.step()
				r.mine()
			}
			if now := r.intent(r.Missions[0]); now.Status != store.IntentMined || len(now.Attempts) != 1 {
				t.Errorf("intent without a quorum: got %+v, want it mined with one attempt", now)
			}
			kind := sender.AlarmDisagreement
			if name == "does not answer" {
				kind = sender.AlarmNoQuorum
			}
			r.wantAlarm(kind, true)
			second.with(nil)
			r.drain(2)
			r.checkExactlyOnce(r.Missions, 0)
		})
	}
}

// The first node denies what it has mined. The other prevents another nonce for the intent.
func TestADeniedTransactionIsNotSentAnew(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 1, sqliteDatabase(t))
	second := newProxyNode(t, r.Client.Client())
	r.useNodes(r.front.URL, second.URL)
	r.restart()
	r.want(r.Missions...)
	r.step()
	r.front.with(func(q request) (any, bool) { return nil, q.Method == "eth_getTransactionReceipt" })
	for range 10 {
		r.mine()
		r.step()
	}
	r.wantAlarm(sender.AlarmReplaced, true)
	r.wantAlarm(sender.AlarmDisagreement, true)
	if now := r.intent(r.Missions[0]); now.Status != store.IntentSent || len(now.Attempts) != 1 {
		t.Errorf("intent that one node denies: got %+v, want it sent with one attempt", now)
	}
	r.front.with(nil)
	r.drain(2)
	r.checkExactlyOnce(r.Missions, 0)
}

// altered changes a member of receipts.
func altered(q request, member, value string) (any, bool) {
	if q.Method != "eth_getTransactionReceipt" {
		return nil, false
	}
	answer, err := q.ask()
	var receipt map[string]any
	if err != nil || json.Unmarshal(answer, &receipt) != nil || receipt == nil {
		return nil, false
	}
	receipt[member] = value
	return receipt, true
}

// A node that forges a nonce can delay, but cannot cause a gap or a second transaction.
func TestForgedNonces(t *testing.T) {
	t.Parallel()
	for name, forged := range map[string]string{"too high": "0x3e8", "too low": "0x0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestSender(t, 2, sqliteDatabase(t))
			r.stranger(r.nonce(), common.Address{19: 1}, nil) // so that 0 is too low
			r.mine()
			second := newProxyNode(t, r.Client.Client())
			r.useNodes(r.front.URL, second.URL)
			r.restart()
			r.front.with(func(q request) (any, bool) { return forged, q.Method == "eth_getTransactionCount" })
			r.want(r.Missions...)
			for range 5 {
				if err := r.sender.Step(context.Background(), r.lease); !errors.Is(err, chain.ErrNoQuorum) {
					t.Errorf("step: %v, want no quorum", err)
				}
				r.mine()
			}
			if sent := len(r.intents(store.IntentSent)); sent != 0 {
				t.Errorf("got %d intents with a nonce, want none", sent)
			}
			r.front.with(nil)
			r.drain(20)
			r.checkExactlyOnce(r.Missions, 1)
		})
	}
}
