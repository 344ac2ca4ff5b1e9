package e2e

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// payoutTest is a service with payouts in progress.
type payoutTest struct {
	*following
	missions    []drafted
	submissions []submission
}

const (
	paidMissions   = 3
	paidPerMission = 8
)

// startPayoutTest publishes missions for a service that puts every payout into a transaction at
// once, when payouts are on.
func startPayoutTest(t *testing.T, database string, environment ...string) *payoutTest {
	t.Helper()
	chain := startAnvil(t)
	p := &payoutTest{following: follow(t, chain, append(append(chain.keepingFiles(database, t.TempDir()), "SORTIE_PAYOUT_INTERVAL=24h"), environment...))}
	for range paidMissions {
		p.missions = append(p.missions, p.publish(photoMission(paidPerMission)))
	}
	return p
}

// with changes the environment and restarts the service; the last value of a variable counts.
func (p *payoutTest) with(variables ...string) {
	p.t.Helper()
	p.environment = append(p.environment, variables...)
	p.restart()
}

// fill submits all submissions of a mission and waits until their payouts are queued.
func (p *payoutTest) fill(mission drafted) {
	p.t.Helper()
	filled := make([]submission, paidPerMission)
	var group sync.WaitGroup
	for i := range filled {
		contributor, picture := p.stranger(), photo(len(p.submissions)+i)
		group.Go(func() {
			s, err := p.tryToDeclare(contributor, mission, picture)
			if err == nil {
				err = p.upload(s)
			}
			if err != nil {
				p.t.Errorf("submit to %s: %v", mission.missionID, err)
			}
			filled[i] = s
		})
	}
	group.Wait()
	if p.t.Failed() {
		p.t.FailNow()
	}
	p.submissions = append(p.submissions, filled...)
	p.service.await(p.t, "payouts of "+mission.missionID, func() bool {
		statuses := p.payouts(filled)
		return statuses[sortie.PayoutQueued]+statuses[sortie.PayoutSent] == len(filled)
	})
}

// of returns the submissions of a mission.
func (p *payoutTest) of(number int) []submission {
	return p.submissions[number*paidPerMission : (number+1)*paidPerMission]
}

func (p *payoutTest) payouts(of []submission) map[sortie.PayoutStatus]int {
	p.t.Helper()
	statuses := make(map[sortie.PayoutStatus]int)
	for _, s := range of {
		statuses[p.own(s).Payout.Status]++
	}
	return statuses
}

func (p *payoutTest) awaitPayouts(of []submission, want sortie.PayoutStatus) {
	p.t.Helper()
	p.service.await(p.t, fmt.Sprintf("%d payouts that are %s", len(of), want), func() bool { return p.payouts(of)[want] == len(of) })
}

// finish mines blocks until every payout is paid and every mission is closed, and checks that on
// the chain.
func (p *payoutTest) finish(senders ...string) {
	p.t.Helper()
	for _, mission := range p.missions {
		p.growUntil(func() { p.chain.mine(1) }, func() bool { return p.count(mission, sortie.EventMissionCompleted) == 1 })
	}
	if statuses := p.payouts(p.submissions); statuses[sortie.PayoutPaid] != len(p.submissions) {
		p.t.Errorf("payouts by status: got %v, want all %d paid", statuses, len(p.submissions))
	}
	p.growUntil(func() { p.chain.mine(1) }, func() bool {
		return p.metric("sortie_sender_intents", "") == 0 && p.metric("sortie_sender_former_intents", "") == 0
	})
	histogram := make(map[int]int)
	for _, times := range p.chain.paymentsBySlot() {
		histogram[times]++
	}
	if want := map[int]int{1: len(p.submissions)}; !maps.Equal(histogram, want) {
		p.t.Errorf("payments per slot: got the histogram %v, want %v", histogram, want)
	}
	for _, mission := range p.missions {
		if got := p.chain.closings(mission.missionID); got != 1 {
			p.t.Errorf("%s was closed %d times, want 1", mission.missionID, got)
		}
	}
	var pool struct{ Pending, Queued string }
	p.chain.call(&pool, "txpool_status")
	if pool.Pending != "0x0" || pool.Queued != "0x0" {
		p.t.Errorf("transactions that wait for a nonce or a block: got %+v, want none", pool)
	}
	for _, sender := range senders {
		p.t.Logf("%s sent %d transactions", sender, p.chain.minedBy(sender))
	}
	if kinds := p.incidentKinds(); len(kinds) != 0 {
		p.t.Errorf("incidents: got %v, want none", kinds)
	}
}

// paymentsBySlot counts how often each slot was paid on the canonical chain.
func (a *anvil) paymentsBySlot() map[string]int {
	a.t.Helper()
	times := make(map[string]int)
	for _, log := range a.followedLogs() {
		if log.Topics[0] == factoryABI.Events["SubmissionPaid"].ID || log.Topics[0] == factoryABI.Events["PayoutDeferred"].ID {
			times[fmt.Sprintf("%s %x", log.Topics[1], log.Data[:32])]++ // the mission and the slot
		}
	}
	return times
}

// withoutEffect counts the transactions of a role that were mined without effect.
func (a *anvil) withoutEffect(role string) (count int) {
	a.t.Helper()
	for number := int64(0); number <= int64(a.head().Number); number++ {
		receipts, err := a.eth.BlockReceipts(a.ctx, rpc.BlockNumberOrHashWithNumber(rpc.BlockNumber(number)))
		if err != nil {
			a.t.Fatal(err)
		}
		for i, receipt := range receipts {
			if receipt.Status != types.ReceiptStatusSuccessful && a.senderOf(number, uint(i)) == a.wallet(role) {
				count++
			}
		}
	}
	return count
}

func (a *anvil) senderOf(number int64, index uint) sortie.Address {
	a.t.Helper()
	var transaction struct{ From sortie.Address }
	a.call(&transaction, "eth_getTransactionByBlockNumberAndIndex", hexutil.EncodeBig(big.NewInt(number)), hexutil.Uint(index))
	return transaction.From
}

// urgent submits a transaction with a high fee, so that the next block has it first.
func (a *anvil) urgent(role string, to sortie.Address, data []byte) {
	a.t.Helper()
	transaction := a.transaction(role, to, data)
	transaction["maxPriorityFeePerGas"], transaction["maxFeePerGas"] = hexutil.Uint64(100*gwei), hexutil.Uint64(500*gwei)
	a.call(nil, "eth_sendTransaction", transaction)
}

// onBoth runs a test with each database.
func onBoth(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, sqliteIn(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.Database(t))
	})
}

// The sender is changed while payouts are queued, sent and dropped by the node, and mined but not
// final. The new account finishes all of them; each payout is paid once.
func TestSenderChangeDuringPayouts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		p := startPayoutTest(t, database)
		p.fill(p.missions[0])
		p.fill(p.missions[1])
		p.with("SORTIE_PAYOUT_INTERVAL=0s")
		p.awaitPayouts(p.of(0), sortie.PayoutSent)
		p.awaitPayouts(p.of(1), sortie.PayoutSent)
		p.service.await(t, "transactions at the node", func() bool { return p.chain.pooled() >= 2 })
		p.service.kill()
		p.chain.keepOne() // the others are dropped
		p.chain.mine(1)
		p.with("SORTIE_PAYOUT_INTERVAL=24h", "SORTIE_SENDER=")
		p.fill(p.missions[2])

		before := p.chain.minedBy("creator2")
		p.with("SORTIE_PAYOUT_INTERVAL=0s", "SORTIE_SENDER=dev:5")
		p.service.await(t, "transactions of the former sender", func() bool { return p.metric("sortie_sender_former_intents", "") > 0 })
		p.finish("sender", "creator2")
		if got := p.chain.minedBy("sender"); got != 2 {
			t.Errorf("the former sender has %d transactions, want its 2 settlements", got)
		}
		if got := p.chain.minedBy("creator2") - before; got != 4 {
			t.Errorf("the new sender has %d transactions, want 1 settlement and 3 closings", got)
		}
	})
}

// Processes are restarted with a new sender one after the other. While a process with the old key
// runs, it handles its transactions; when it has stopped, another process finishes them.
func TestSenderChangeByRollingRestart(t *testing.T) {
	t.Parallel()
	database, directory := pgtest.Database(t), t.TempDir()
	p := startPayoutTest(t, database, "SORTIE_MEDIA=file:"+directory)
	p.fill(p.missions[0])
	p.fill(p.missions[1])
	p.with("SORTIE_PAYOUT_INTERVAL=0s")
	p.awaitPayouts(p.of(0), sortie.PayoutSent)
	second := follow(t, p.chain, append(p.chain.keepingFiles(database, directory), "SORTIE_PAYOUT_INTERVAL=0s", "SORTIE_SENDER=dev:5"))
	second.service.await(t, "lease of the new sender", func() bool { return second.metric("sortie_sender_sending", "") == 1 })
	if got := second.metric("sortie_sender_former_intents", ""); got == 0 {
		t.Error("the new process knows of no transactions of the former sender, want some")
	}
	p.fill(p.missions[2])
	p.chain.mine(1)
	p.with("SORTIE_SENDER=dev:5")
	p.finish("sender", "creator2")
}

// pooled is the number of pending transactions.
func (a *anvil) pooled() uint64 {
	a.t.Helper()
	var pool struct{ Pending hexutil.Uint64 }
	a.call(&pool, "txpool_status")
	return uint64(pool.Pending)
}

// keepOne makes the node drop all pending transactions but the first.
func (a *anvil) keepOne() {
	a.t.Helper()
	var pool struct {
		Pending map[common.Address]map[string]struct{ Hash common.Hash }
	}
	a.call(&pool, "txpool_content")
	for _, byNonce := range pool.Pending {
		nonces := slices.Sorted(maps.Keys(byNonce))
		for _, nonce := range nonces[1:] {
			a.call(nil, "anvil_dropTransaction", byNonce[nonce].Hash)
		}
	}
}

// The settler is changed while payouts are queued, and sent with a signature of the old key, whose
// role is revoked before they are mined. Those transactions have no effect; their payouts are
// signed again by the new key.
func TestSettlerChangeDuringPayouts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		p := startPayoutTest(t, database)
		factory, contract := p.missions[0].quote.FactoryAddress, missionfactory.NewMissionFactory()
		old, next := p.chain.wallet("settler"), p.chain.wallet("creator2")
		p.fill(p.missions[0])
		p.fill(p.missions[1])
		p.with("SORTIE_PAYOUT_INTERVAL=0s")
		p.awaitPayouts(p.of(0), sortie.PayoutSent)
		p.awaitPayouts(p.of(1), sortie.PayoutSent)
		p.with("SORTIE_PAYOUT_INTERVAL=24h")
		p.fill(p.missions[2])

		role := p.settlerRole(factory)
		p.service.kill()
		p.chain.withoutMining(func() { // the grant alone is mined
			p.chain.urgent("deployer", factory, contract.PackGrantRole(role, common.Address(next)))
		})
		p.with("SORTIE_PAYOUT_INTERVAL=0s", "SORTIE_SETTLER=dev:5")
		for _, s := range p.submissions {
			p.awaitSigner(s, next)
		}
		p.awaitPayouts(p.of(2), sortie.PayoutSent)
		p.chain.urgent("deployer", factory, contract.PackRevokeRole(role, common.Address(old)))
		p.service.await(t, "transactions at the node", func() bool { return p.chain.pooled() >= 4 })
		p.chain.mine(1)
		p.finish("sender")
		if got := p.chain.withoutEffect("sender"); got != 2 {
			t.Errorf("transactions with the revoked signature: got %d, want 2", got)
		}
	})
}

// withoutMining mines what is submitted, and restores the transactions that were pending before.
func (a *anvil) withoutMining(handIn func()) {
	a.t.Helper()
	var pool struct {
		Pending map[common.Address]map[string]struct{ Hash common.Hash }
	}
	a.call(&pool, "txpool_content")
	var waiting []hexutil.Bytes
	for _, byNonce := range pool.Pending {
		for _, nonce := range slices.Sorted(maps.Keys(byNonce)) {
			var raw hexutil.Bytes
			a.call(&raw, "eth_getRawTransactionByHash", byNonce[nonce].Hash)
			waiting = append(waiting, raw)
		}
	}
	a.call(nil, "anvil_dropAllTransactions")
	handIn()
	a.mine(1)
	for _, raw := range waiting {
		a.call(nil, "eth_sendRawTransaction", raw)
	}
}

// The authorizer is changed while payouts are in progress: quotes have the new signature, those of
// the old key are refused once its role is revoked, and payouts continue.
func TestAuthorizerChangeDuringPayouts(t *testing.T) {
	t.Parallel()
	p := startPayoutTest(t, sqliteIn(t))
	factory, contract := p.missions[0].quote.FactoryAddress, missionfactory.NewMissionFactory()
	for _, mission := range p.missions {
		p.fill(mission)
	}
	old, next := p.chain.wallet("authorizer"), p.chain.wallet("creator2")
	waits := p.draft()
	var answer sortie.Bytes
	p.chain.call(&answer, "eth_call", map[string]any{"to": factory, "data": sortie.Bytes(contract.PackAUTHORIZERROLE())}, "latest")
	role, err := contract.UnpackAUTHORIZERROLE(answer)
	if err != nil {
		t.Fatal(err)
	}
	p.with("SORTIE_PAYOUT_INTERVAL=0s")
	p.awaitPayouts(p.submissions, sortie.PayoutSent)
	p.service.kill()
	p.chain.withoutMining(func() {
		p.chain.urgent("deployer", factory, contract.PackGrantRole(role, common.Address(next)))
	})
	p.with("SORTIE_AUTHORIZER=dev:5")
	p.chain.urgent("deployer", factory, contract.PackRevokeRole(role, common.Address(old)))
	p.chain.mine(1)
	refused := p.chain.fund("creator", waits.quote)
	p.chain.mine(1)
	if receipt, err := p.chain.eth.TransactionReceipt(p.ctx, refused); err != nil || receipt.Status != types.ReceiptStatusFailed {
		t.Errorf("the quote of the revoked authorizer: got %+v, %v; want a transaction that failed", receipt, err)
	}
	status, err := p.creator.Mission(p.ctx, waits.draftID)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(status.FundingQuote.Calldata, waits.quote.Calldata) {
		t.Error("the quote of the new authorizer is that of the old one, want another signature")
	}
	p.chain.fund("creator", status.FundingQuote)
	p.growUntil(func() { p.chain.mine(1) }, func() bool { return p.view(waits) == viewInReview })
	p.finish("sender")
}

// At ten times the base fee payouts wait at the fee cap, which is reported, and are sent when gas
// is cheap again.
func TestPayoutsWaitAboveTheFeeCap(t *testing.T) {
	t.Parallel()
	p := startPayoutTest(t, sqliteIn(t), "SORTIE_MAX_FEE_PER_GAS=50")
	for _, mission := range p.missions {
		p.fill(mission)
	}
	p.chain.mineAt(10 * gwei)
	p.with("SORTIE_PAYOUT_INTERVAL=0s")
	p.awaitPayouts(p.submissions, sortie.PayoutSent)
	for range spikedBlocks {
		p.chain.mineAt(100 * gwei)
		p.awaitTip()
	}
	p.service.await(t, "word of the cap", func() bool { return p.metric("sortie_sender_fee_at_cap", "") == 1 })
	sending := p.overview().Sending
	if sending == nil || !slices.ContainsFunc(sending.Alarms, func(alarm sortie.SenderAlarm) bool { return alarm.Kind == "at_cap" }) {
		t.Errorf("the operator's view of the sender: got %+v, want the alarm at_cap", sending)
	}
	if statuses := p.payouts(p.submissions); p.chain.minedBy("sender") != 0 || statuses[sortie.PayoutSent] != len(p.submissions) {
		t.Errorf("above the cap: got %d transactions and payouts %v, want none and all sent", p.chain.minedBy("sender"), statuses)
	}
	p.growUntil(func() { p.chain.mineAt(1 * gwei) }, func() bool { return p.payouts(p.submissions)[sortie.PayoutPaid] == len(p.submissions) })
	p.finish("sender")
}
