package devnet

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/setting"
)

// factoryGas is the gas limit for creating the factory. It cannot be estimated while its tokens do
// not exist yet.
const factoryGas = 6_000_000

var (
	maxUint256 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	// capBound is the first cap the contract's packed storage cannot hold.
	capBound = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 112), big.NewInt(1))
	// testTokenSupply is the supply of a test ServiceToken, in base units: a thousand million.
	testTokenSupply = baseUnits(1_000_000_000, sortie.TokenService)
)

// DeployParams selects what to deploy.
type DeployParams struct {
	Admin      sortie.Address // of the factory; zero: the deployer
	Pauser     sortie.Address // zero: the deployer
	Authorizer sortie.Address // signs quotes
	Settler    sortie.Address // signs payouts
	// AdminDelay is how long a hand-over of the admin role takes; whole seconds.
	AdminDelay time.Duration
	// Caps on payouts per UTC day, in base units; nil: no limit.
	USDCCap, ServiceTokenCap *big.Int
	// The addresses of the reward tokens, unless WithTestTokens is set: then both are deployed, and
	// the deployer owns all of ServiceToken and may mint TestUSDC.
	USDC, ServiceToken sortie.Address
	WithTestTokens     bool
}

// Deployment holds the addresses of the contracts. Its JSON is the output of `sortie contracts
// deploy`.
type Deployment struct {
	ChainID         uint64         `json:"chainId"`
	Factory         sortie.Address `json:"factory"`
	USDC            sortie.Address `json:"usdc"`
	ServiceToken    sortie.Address `json:"serviceToken"`
	DeployedAtBlock uint64         `json:"deployedAtBlock"` // of the factory: no mission is older
}

// Deploy deploys a MissionFactory, and test tokens if they are requested. Before it sends anything
// it checks the parameters, the tokens and the deployer's balance; then it waits until all
// transactions are mined. If ctx ends meanwhile, the error names the transaction that was sent.
func Deploy(ctx context.Context, backend chain.Backend, deployer chain.TransactionSigner, params DeployParams) (Deployment, error) {
	params = params.withDefaults(deployer.Address())
	if err := params.validate(); err != nil {
		return Deployment{}, fmt.Errorf("deploy contracts: %w", err)
	}
	chainID, err := backend.ChainID(ctx)
	if err != nil {
		return Deployment{}, fmt.Errorf("deploy contracts: the chain does not answer, check the RPC URL: %w", err)
	}
	account, err := chain.OpenAccount(ctx, backend, deployer, chainID.Uint64())
	if err != nil {
		return Deployment{}, fmt.Errorf("deploy contracts on chain %d: %w", chainID, err)
	}
	deployment, err := params.deploy(ctx, account)
	if err != nil {
		return Deployment{}, fmt.Errorf("deploy contracts on chain %d: %w", chainID, err)
	}
	return deployment, nil
}

func (p DeployParams) withDefaults(deployer sortie.Address) DeployParams {
	if p.Admin.IsZero() {
		p.Admin = deployer
	}
	if p.Pauser.IsZero() {
		p.Pauser = deployer
	}
	if p.USDCCap == nil {
		p.USDCCap = maxUint256
	}
	if p.ServiceTokenCap == nil {
		p.ServiceTokenCap = maxUint256
	}
	return p
}

func (p DeployParams) validate() error {
	switch {
	case p.Authorizer.IsZero():
		return &setting.Error{Name: setting.Authorizer, Err: errors.New("the address is missing")}
	case p.Settler.IsZero():
		return &setting.Error{Name: setting.Settler, Err: errors.New("the address is missing")}
	case p.WithTestTokens && !(p.USDC.IsZero() && p.ServiceToken.IsZero()):
		return errors.New("give token addresses or deploy test tokens, not both")
	case !p.WithTestTokens && (p.USDC.IsZero() || p.ServiceToken.IsZero()):
		return errors.New("the tokens are missing: give both addresses, or deploy test tokens")
	case !p.WithTestTokens && p.USDC == p.ServiceToken:
		return errors.New("USDC and the service token are the same address")
	case p.AdminDelay < 0 || p.AdminDelay%time.Second != 0:
		return errors.New("the admin delay must be whole seconds, not negative")
	}
	for name, limit := range map[setting.Name]*big.Int{setting.CapUSDC: p.USDCCap, setting.CapServiceToken: p.ServiceTokenCap} {
		if limit != maxUint256 && (limit.Sign() < 0 || limit.Cmp(capBound) >= 0) {
			return &setting.Error{Name: name, Err: fmt.Errorf("want base units from 0 to below %s, or none for no cap", capBound)}
		}
	}
	return nil
}

func (p DeployParams) deploy(ctx context.Context, account *chain.Account) (Deployment, error) {
	if p.WithTestTokens {
		tokens, err := createTestTokens(ctx, account)
		if err != nil {
			return Deployment{}, err
		}
		p.USDC, p.ServiceToken = tokens.usdc, tokens.serviceToken
	} else if err := p.checkTokens(ctx, account.Backend()); err != nil {
		return Deployment{}, err
	}
	data := contracts.MissionFactory.CreateWith(p.factoryArguments())
	gas, err := account.Estimate(ctx, nil, data)
	if err != nil {
		return Deployment{}, fmt.Errorf("create MissionFactory: %w", err)
	}
	if err := account.CanPay(ctx, gas); err != nil {
		return Deployment{}, err
	}
	tx, err := account.Send(ctx, gas, nil, data)
	if err != nil {
		return Deployment{}, fmt.Errorf("create MissionFactory: %w", err)
	}
	receipt, err := account.Mined(ctx, tx)
	if err != nil {
		return Deployment{}, fmt.Errorf("create MissionFactory: %w", err)
	}
	return Deployment{
		ChainID:         account.ChainID(),
		Factory:         sortie.Address(receipt.ContractAddress),
		USDC:            p.USDC,
		ServiceToken:    p.ServiceToken,
		DeployedAtBlock: receipt.BlockNumber.Uint64(),
	}, nil
}

func (p DeployParams) factoryArguments() []byte {
	return missionfactory.NewMissionFactory().PackConstructor(
		common.Address(p.Admin), big.NewInt(int64(p.AdminDelay/time.Second)),
		common.Address(p.Authorizer), common.Address(p.Settler), common.Address(p.Pauser),
		common.Address(p.ServiceToken), common.Address(p.USDC), p.ServiceTokenCap, p.USDCCap)
}

func (p DeployParams) checkTokens(ctx context.Context, node chain.Reader) error {
	if err := chain.CheckToken(ctx, node, setting.USDC, p.USDC, chain.Decimals(sortie.TokenUSDC)); err != nil {
		return err
	}
	return chain.CheckToken(ctx, node, setting.ServiceToken, p.ServiceToken, chain.Decimals(sortie.TokenService))
}

type testTokens struct{ usdc, serviceToken sortie.Address }

// createTestTokens sends both transactions before it waits, so that they share a block.
func createTestTokens(ctx context.Context, account *chain.Account) (testTokens, error) {
	owner := common.Address(account.Address())
	creations := []struct {
		name string
		data []byte
		gas  uint64
	}{
		{name: "ServiceToken", data: contracts.ServiceToken.CreateWith(servicetoken.NewServiceToken().PackConstructor("Service Token", "SERVICE", owner, testTokenSupply))},
		{name: "TestUSDC", data: contracts.TestUSDCProxy.CreateWith(testusdc.NewTestUSDCProxy().PackConstructor(owner))},
	}
	need := uint64(factoryGas)
	for i, creation := range creations {
		gas, err := account.Estimate(ctx, nil, creation.data)
		if err != nil {
			return testTokens{}, fmt.Errorf("create %s: %w", creation.name, err)
		}
		creations[i].gas = gas
		need += gas
	}
	if err := account.CanPay(ctx, need); err != nil {
		return testTokens{}, err
	}
	var addresses []sortie.Address
	var transactions []*types.Transaction
	for _, creation := range creations {
		tx, err := account.Send(ctx, creation.gas, nil, creation.data)
		if err != nil {
			return testTokens{}, fmt.Errorf("create %s: %w", creation.name, err)
		}
		transactions = append(transactions, tx)
	}
	for i, tx := range transactions {
		receipt, err := account.Mined(ctx, tx)
		if err != nil {
			return testTokens{}, fmt.Errorf("create %s: %w", creations[i].name, err)
		}
		addresses = append(addresses, sortie.Address(receipt.ContractAddress))
	}
	return testTokens{serviceToken: addresses[0], usdc: addresses[1]}, nil
}

func baseUnits(tokens int64, token sortie.Token) *big.Int {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(chain.Decimals(token))), nil)
	return scale.Mul(scale, big.NewInt(tokens))
}
