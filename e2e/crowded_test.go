package e2e

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
)

const (
	crowdFundings = 200     // in one transaction
	foreignLogs   = 40_000  // in another one, with a funding
	crowdGas      = 1 << 24 // the most that a transaction may use since Osaka
	honestRounds  = 5
)

var crowdABI = func() abi.ABI {
	parsed, err := abi.JSON(strings.NewReader(`[{"type":"function","name":"run","outputs":[],"inputs":[
		{"name":"calls","type":"tuple[]","components":[{"name":"target","type":"address"},{"name":"data","type":"bytes"}]},
		{"name":"logs","type":"uint256"}]}]`))
	if err != nil {
		panic(err)
	}
	return parsed
}()

// A transaction that funds very many missions, and one with a funding among very many foreign logs,
// are followed like any other, and do not delay other fundings.
func TestCrowdedTransactionsAreFollowed(t *testing.T) {
	t.Parallel()
	t.Run("anvil", func(t *testing.T) {
		t.Parallel()
		chain := startAnvil(t, "--gas-limit", "60000000")
		service := startServe(t, chain.serviceEnvironment(sqliteIn(t), "8")...)
		testCrowdedTransactions(t, chain.ready, service.url, func() { chain.mine(1) })
	})
	t.Run("dev", func(t *testing.T) {
		t.Parallel()
		dev := startDev(t)
		testCrowdedTransactions(t, dev, dev.BaseURL, func() {}) // it makes a block every second
	})
}

func testCrowdedTransactions(t *testing.T, chain ready, serviceURL string, mine func()) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	m := &crowdedChain{t: t, ctx: ctx, chain: chain, url: serviceURL, mine: mine}
	m.open()
	alone := m.honestRounds("alone")
	many := m.crowdDrafts("many", crowdFundings)
	foreign := m.crowdDrafts("foreign", 3*(honestRounds-1))

	// Every honest funding follows a crowded transaction, in its block or in the next.
	crowded := m.honestRoundsWith("crowded", func(round int) (*types.Transaction, string) {
		if round == 0 {
			return m.run(many, 0), "200 fundings"
		}
		return m.run(foreign[3*round-3:3*round], foreignLogs), "3 fundings and 40,000 foreign logs"
	})
	t.Logf("from mined to shown, median of %d: %v alone, %v with crowded transactions, ratio %.2f",
		honestRounds, median(alone), median(crowded), float64(median(crowded))/float64(median(alone)))
	for _, draft := range slices.Concat(many, foreign) {
		m.await(m.crowd, draft, sortie.ReviewInReview)
	}
	operator := m.client("operator")
	overview, err := operator.Chain(ctx)
	if err != nil || len(overview.Incidents) > 0 {
		t.Errorf("the incidents are %+v, %v, want none", overview.Incidents, err)
	}
}

// crowdedChain is a chain and a service with an honest creator and a creator that is a contract.
type crowdedChain struct {
	t     *testing.T
	ctx   context.Context
	chain ready
	url   string
	mine  func() // a block, where the chain does not make them by itself

	creator, stranger *account
	honest, crowd     *sortie.Client
	contract          sortie.Address
}

func (m *crowdedChain) client(role string) *sortie.Client {
	m.t.Helper()
	key, err := sortie.ParseKey(m.chain.key(m.t, role))
	if err != nil {
		m.t.Fatal(err)
	}
	return m.clientOf(key)
}

func (m *crowdedChain) clientOf(signer sortie.Signer) *sortie.Client {
	m.t.Helper()
	client, err := sortie.NewClient(m.url, signer)
	if err != nil {
		m.t.Fatal(err)
	}
	return client
}

// open deploys the contract and gives money to both creators.
func (m *crowdedChain) open() {
	m.t.Helper()
	m.creator, m.stranger = openAccount(m.t, m.ctx, m.chain, "creator"), openAccount(m.t, m.ctx, m.chain, "contributor1")
	m.honest = m.client("creator")
	deployed := m.mined(m.stranger, m.transact(m.stranger, nil, codeOf(m.t, "Crowd"), 3_000_000))
	m.contract = sortie.Address(deployed.ContractAddress)
	m.crowd = m.clientOf(smartAccount{m.contract, keyOf(m.t, m.stranger.secret)})

	usdc, plenty, token := m.chain.Tokens[sortie.TokenUSDC].Address, big.NewInt(3e9), servicetoken.NewServiceToken()
	approve := token.PackApprove(common.Address(m.chain.FactoryAddress), plenty)
	m.mined(m.creator, m.transact(m.creator, &usdc, token.PackTransfer(common.Address(m.contract), plenty), 200_000))
	m.mined(m.creator, m.transact(m.creator, &usdc, approve, 200_000))
	calls := []relayedCall{{common.Address(usdc), approve}}
	m.mined(m.stranger, m.transact(m.stranger, &m.contract, must(crowdABI.Pack("run", calls, new(big.Int))), 200_000))
}

// transact sends a transaction; without a target it creates a contract.
func (m *crowdedChain) transact(from *account, to *sortie.Address, data []byte, gas uint64) *types.Transaction {
	m.t.Helper()
	nonce, err := from.eth.PendingNonceAt(m.ctx, from.address)
	if err != nil {
		m.t.Fatal(err)
	}
	tx, err := types.SignNewTx(from.secret, types.LatestSignerForChainID(from.chainID), &types.DynamicFeeTx{
		ChainID: from.chainID, Nonce: nonce, GasTipCap: big.NewInt(gwei), GasFeeCap: big.NewInt(100 * gwei), Gas: gas,
		To: (*common.Address)(to), Data: data,
	})
	if err == nil {
		err = from.eth.SendTransaction(m.ctx, tx)
	}
	if err != nil {
		m.t.Fatalf("send a transaction: %v", err)
	}
	return tx
}

// mined mines a block and checks that the transaction succeeded.
func (m *crowdedChain) mined(from *account, tx *types.Transaction) *types.Receipt {
	m.t.Helper()
	m.mine()
	receipt := from.mined(m.t, tx)
	if receipt.Status != types.ReceiptStatusSuccessful {
		m.t.Fatalf("transaction %s failed with %d gas used of %d", tx.Hash(), receipt.GasUsed, tx.Gas())
	}
	return receipt
}

// crowdDrafts creates drafts of the contract.
func (m *crowdedChain) crowdDrafts(name string, count int) []sortie.DraftCreated {
	m.t.Helper()
	made := make([]sortie.DraftCreated, count)
	group, ctx := errgroup.WithContext(m.ctx)
	group.SetLimit(4)
	for i := range made {
		group.Go(func() (err error) {
			title := fmt.Sprintf("%s %d", name, i)
			made[i], err = m.crowd.CreateDraft(ctx, titled(title), title)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		m.t.Fatalf("create drafts of a contract: %v", err)
	}
	return made
}

// run sends a transaction in which the contract funds missions and writes foreign logs.
func (m *crowdedChain) run(funded []sortie.DraftCreated, logs int64) *types.Transaction {
	m.t.Helper()
	calls := make([]relayedCall, len(funded))
	for i, draft := range funded {
		calls[i] = relayedCall{common.Address(m.chain.FactoryAddress), draft.FundingQuote.Calldata}
	}
	return m.transact(m.stranger, &m.contract, must(crowdABI.Pack("run", calls, big.NewInt(logs))), crowdGas)
}

// honestRounds funds missions one after the other, and measures how long each takes from the block
// to its creator.
func (m *crowdedChain) honestRounds(name string) []time.Duration {
	return m.honestRoundsWith(name, nil)
}

// honestRoundsWith is honestRounds with another transaction before each funding.
func (m *crowdedChain) honestRoundsWith(name string, before func(round int) (tx *types.Transaction, what string)) (shown []time.Duration) {
	m.t.Helper()
	for round := range honestRounds {
		title := fmt.Sprintf("honest %s %d", name, round)
		draft, err := m.honest.CreateDraft(m.ctx, titled(title), title)
		if err != nil {
			m.t.Fatalf("create an honest draft: %v", err)
		}
		var crowded *types.Transaction
		var what string
		if before != nil {
			crowded, what = before(round)
		}
		funding := m.transact(m.creator, &m.chain.FactoryAddress, draft.FundingQuote.Calldata, 500_000)
		m.mine()
		m.awaitNonce(m.creator, funding.Nonce()+1)
		began := time.Now()
		m.awaitThat(m.honest, draft, "its funding to be shown", func(status sortie.MissionStatus) bool {
			return status.NextAction != sortie.ActionSendTransaction
		})
		shown = append(shown, time.Since(began))
		if crowded != nil {
			receipt := m.mined(m.stranger, crowded)
			m.t.Logf("%s in block %s: %d gas; the honest one shown after %v", what, receipt.BlockNumber, receipt.GasUsed, shown[round])
		}
	}
	m.mine()
	return shown
}

// awaitNonce waits until an account's nonce in the newest block is the wanted one.
func (m *crowdedChain) awaitNonce(account *account, want uint64) {
	m.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		got, err := account.eth.NonceAt(m.ctx, account.address, nil)
		if err == nil && got >= want {
			return
		}
		select {
		case <-again.C:
		case <-m.ctx.Done():
			m.t.Fatalf("account %s has %d transactions (%v), want %d", account.address, got, err, want)
		}
	}
}

func (m *crowdedChain) await(client *sortie.Client, draft sortie.DraftCreated, want sortie.ReviewStatus) {
	m.t.Helper()
	m.awaitThat(client, draft, "review status "+string(want), func(status sortie.MissionStatus) bool { return status.ReviewStatus == want })
}

// awaitThat reads a mission repeatedly until done.
func (m *crowdedChain) awaitThat(client *sortie.Client, draft sortie.DraftCreated, what string, done func(sortie.MissionStatus) bool) {
	m.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		status, err := client.Mission(m.ctx, draft.DraftID)
		if err == nil && done(status) {
			return
		}
		select {
		case <-again.C:
		case <-m.ctx.Done():
			m.t.Fatalf("mission %s: got %s and %s (%v), want %s", draft.MissionID, status.FundingStatus, status.ReviewStatus, err, what)
		}
	}
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
