package e2e

import (
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// Two processes on one database, one with short-lived and one with long-lived authorizations, give
// two quotes of one draft that are valid at the same time. The first one funds the mission, and the
// other is refused.
func TestTwoQuotesFundOneMission(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dev := startDev(t)
	database := pgtest.Database(t)
	creator := openAccount(t, ctx, dev, "creator")
	stranger := openAccount(t, ctx, dev, "creator2")
	short := creator.client(t, startServe(t, append(dev.serveEnvironment(t, database), "SORTIE_AUTHORIZATION_TTL=5m")...))
	long := creator.client(t, startServe(t, append(dev.serveEnvironment(t, database), "SORTIE_AUTHORIZATION_TTL=1h")...))

	for title, sources := range map[string][2]*sortie.Client{
		"Short first": {short, long},
		"Long first":  {long, short},
	} {
		t.Run(title, func(t *testing.T) {
			draft, err := short.CreateDraft(ctx, titled(title), title)
			if err != nil {
				t.Fatal(err)
			}
			first, second := twoLiveQuotes(t, ctx, dev, draft.DraftID, sources)
			checkOneFunding := expectOneFunding(t, creator, first, draft.MissionID)
			approvePlenty(t, first, creator, stranger)

			notCreator := &missionfactory.MissionFactoryNotCreator{Sender: stranger.address, Creator: creator.address}
			stranger.wantReverted(t, stranger.send(t, first.FactoryAddress, first.Calldata), notCreator)
			var sent []*types.Transaction // all are sent before the first is awaited
			for _, quote := range []sortie.Quote{first, second, first} {
				sent = append(sent, creator.send(t, quote.FactoryAddress, quote.Calldata))
			}
			alreadyFunded := &missionfactory.MissionFactoryMissionAlreadyFunded{MissionKey: sortie.MissionKey(draft.MissionID)}
			creator.wantReverted(t, sent[2], alreadyFunded)
			creator.wantReverted(t, sent[1], alreadyFunded)
			if receipt := creator.mined(t, sent[0]); receipt.Status != types.ReceiptStatusSuccessful {
				t.Error("the first quote did not fund the mission")
			}
			stranger.wantReverted(t, stranger.send(t, second.FactoryAddress, second.Calldata), notCreator)
			checkOneFunding()
		})
	}
}

// approvePlenty approves several times the budget, so that only the factory's rules prevent a
// second funding.
func approvePlenty(t *testing.T, quote sortie.Quote, accounts ...*account) {
	t.Helper()
	plenty := new(big.Int).Mul(budget(t, quote), big.NewInt(10))
	for _, account := range accounts {
		account.send(t, quote.TokenAddress, servicetoken.NewServiceToken().PackApprove(common.Address(quote.FactoryAddress), plenty))
	}
}

func budget(t *testing.T, quote sortie.Quote) *big.Int {
	t.Helper()
	units, ok := new(big.Int).SetString(quote.TotalBudgetBaseUnits, 10)
	if !ok {
		t.Fatalf("the budget is no number: %q", quote.TotalBudgetBaseUnits)
	}
	return units
}

// expectOneFunding stores the balances, and checks later that the budget moved exactly once.
func expectOneFunding(t *testing.T, creator *account, quote sortie.Quote, missionID string) (check func()) {
	t.Helper()
	factory := common.Address(quote.FactoryAddress)
	creatorHad, factoryHad := creator.balance(t, quote.TokenAddress, creator.address), creator.balance(t, quote.TokenAddress, factory)
	return func() {
		t.Helper()
		paid := new(big.Int).Sub(creatorHad, creator.balance(t, quote.TokenAddress, creator.address))
		locked := new(big.Int).Sub(creator.balance(t, quote.TokenAddress, factory), factoryHad)
		if want := budget(t, quote); paid.Cmp(want) != 0 || locked.Cmp(want) != 0 {
			t.Errorf("the creator paid %s and the factory locked %s, want %s", paid, locked, want)
		}
		if events := creator.fundedEvents(t, factory, sortie.MissionKey(missionID)); events != 1 {
			t.Errorf("the mission was funded %d times", events)
		}
	}
}

// twoLiveQuotes fetches the quote of one draft from each service, and checks that both are valid,
// with different deadlines.
func twoLiveQuotes(t *testing.T, ctx context.Context, dev ready, draftID string, sources [2]*sortie.Client) (first, second sortie.Quote) {
	t.Helper()
	var quotes [2]sortie.Quote
	for i, client := range sources {
		status, err := client.Mission(ctx, draftID)
		if err != nil {
			t.Fatal(err)
		}
		quotes[i] = status.FundingQuote
		asked := sortie.Ask{
			Creator: client.Wallet(), MissionID: status.MissionID, Token: sortie.TokenUSDC, Amount: "2.5", TargetCount: 4,
		}
		if err := sortie.VerifyQuote(quotes[i], asked, dev.trust(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	a, b := quotes[0].Authorization, quotes[1].Authorization
	if a.Deadline == b.Deadline || a.Nonce != b.Nonce {
		t.Fatalf("want two deadlines and one nonce: %+v and %+v", a, b)
	}
	return quotes[0], quotes[1]
}

func (r ready) trust() sortie.Trust {
	trust := sortie.Trust{
		ChainID: r.ChainID, Factory: r.FactoryAddress, Authorizers: []sortie.Address{r.Authorizer},
		Tokens: make(map[sortie.Token]sortie.TrustedToken),
	}
	for name, token := range r.Tokens {
		trust.Tokens[name] = sortie.TrustedToken{Address: token.Address, Decimals: token.Decimals}
	}
	return trust
}

// account is a wallet that sends transactions without the product's code.
type account struct {
	ctx     context.Context
	eth     *ethclient.Client
	chainID *big.Int
	secret  *ecdsa.PrivateKey
	address common.Address
}

func openAccount(t *testing.T, ctx context.Context, dev ready, role string) *account {
	t.Helper()
	eth, err := ethclient.DialContext(ctx, dev.RPCURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(eth.Close)
	secret, err := crypto.HexToECDSA(strings.TrimPrefix(dev.key(t, role), "0x"))
	if err != nil {
		t.Fatal(err)
	}
	return &account{ctx, eth, new(big.Int).SetUint64(dev.ChainID), secret, crypto.PubkeyToAddress(secret.PublicKey)}
}

func (a *account) client(t *testing.T, service *server) *sortie.Client {
	t.Helper()
	key, err := sortie.ParseKey(hex.EncodeToString(crypto.FromECDSA(a.secret)))
	if err != nil {
		t.Fatal(err)
	}
	client, err := sortie.NewClient(service.url, key)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// send sends a transaction without asking first whether it would revert.
func (a *account) send(t *testing.T, to sortie.Address, data []byte) *types.Transaction {
	t.Helper()
	nonce, err := a.eth.PendingNonceAt(a.ctx, a.address)
	if err != nil {
		t.Fatal(err)
	}
	head, err := a.eth.HeaderByNumber(a.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	const gas, tip = 500_000, 1_000_000_000
	feeCap := new(big.Int).Add(new(big.Int).Lsh(head.BaseFee, 1), big.NewInt(tip))
	target := common.Address(to)
	tx, err := types.SignNewTx(a.secret, types.LatestSignerForChainID(a.chainID), &types.DynamicFeeTx{
		ChainID: a.chainID, Nonce: nonce, GasTipCap: big.NewInt(tip), GasFeeCap: feeCap, Gas: gas, To: &target, Data: data,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.eth.SendTransaction(a.ctx, tx); err != nil {
		t.Fatal(err)
	}
	return tx
}

func (a *account) mined(t *testing.T, tx *types.Transaction) *types.Receipt {
	t.Helper()
	receipt, err := bind.WaitMined(a.ctx, a.eth, tx.Hash())
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// wantReverted checks that a transaction was mined and reverted for this reason.
func (a *account) wantReverted(t *testing.T, tx *types.Transaction, reason any) {
	t.Helper()
	receipt := a.mined(t, tx)
	if receipt.Status != types.ReceiptStatusFailed {
		t.Errorf("the transaction went through, want it reverted with %#v", reason)
	}
	if got := a.revertReason(t, tx, receipt.BlockNumber); !reflect.DeepEqual(got, reason) {
		t.Errorf("reverted with %#v, want %#v", got, reason)
	}
}

// revertReason is the contract's error when this account makes the transaction's call on top of a
// block. Receipts have none.
func (a *account) revertReason(t *testing.T, tx *types.Transaction, block *big.Int) any {
	t.Helper()
	_, err := a.eth.CallContract(a.ctx, ethereum.CallMsg{From: a.address, To: tx.To(), Data: tx.Data()}, block)
	var reverted rpc.DataError
	if !errors.As(err, &reverted) {
		t.Fatalf("want a revert with data, got %v", err)
	}
	text, _ := reverted.ErrorData().(string)
	reason, err := missionfactory.NewMissionFactory().UnpackError(common.FromHex(text))
	if err != nil {
		t.Fatalf("revert data %s: %v", text, err)
	}
	return reason
}

func (a *account) balance(t *testing.T, token sortie.Address, owner common.Address) *big.Int {
	t.Helper()
	erc20, contract := servicetoken.NewServiceToken(), common.Address(token)
	answer, err := a.eth.CallContract(a.ctx, ethereum.CallMsg{To: &contract, Data: erc20.PackBalanceOf(owner)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	balance, err := erc20.UnpackBalanceOf(answer)
	if err != nil {
		t.Fatal(err)
	}
	return balance
}

// fundedEvents counts the MissionFunded events of a mission.
func (a *account) fundedEvents(t *testing.T, factory common.Address, missionKey sortie.Hash) int {
	t.Helper()
	contract := missionfactory.NewMissionFactory().GetABI()
	name := missionfactory.MissionFactoryMissionFunded{}.ContractEventName()
	logs, err := a.eth.FilterLogs(a.ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int), Addresses: []common.Address{factory},
		Topics: [][]common.Hash{{contract.Events[name].ID}, {common.Hash(missionKey)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(logs)
}
