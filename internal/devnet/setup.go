package devnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/contracts/bind/testusdc"
	"github.com/sortie-labs/sortie/internal/chain"
)

// Tokens that wallets start with, in whole tokens of each kind. Contributors earn theirs.
const (
	creatorTokens = 1_000_000
	otherTokens   = 100
)

// setupRecord is stored in the chain's database when the set-up is complete.
type setupRecord struct {
	Deployment Deployment  `json:"deployment"`
	Code       sortie.Hash `json:"code"` // of the contracts deployed
}

// setUp deploys the contracts and funds the wallets of a new chain, or reads the record of an
// earlier set-up.
func (c *Chain) setUp(ctx context.Context, ledger ledger) error {
	if err := c.firstBlock(ctx, ledger); err != nil {
		return fmt.Errorf("start chain: %w", err)
	}
	stored, err := ledger.noted(setupKey)
	if err != nil {
		return fmt.Errorf("read chain set-up: %w", err)
	}
	if stored != nil {
		return c.recall(stored)
	}
	deployment, err := c.deployAndFund(ctx)
	if err != nil {
		return fmt.Errorf("set up chain: %w", err)
	}
	record, err := json.Marshal(setupRecord{deployment, contractCode()})
	if err == nil {
		err = ledger.note(setupKey, record)
	}
	if err != nil {
		return fmt.Errorf("keep chain set-up: %w", err)
	}
	c.deployment = deployment
	return nil
}

func (c *Chain) recall(stored []byte) error {
	var record setupRecord
	if err := json.Unmarshal(stored, &record); err != nil {
		return fmt.Errorf("read chain set-up: %w", err)
	}
	if record.Code != contractCode() {
		return fmt.Errorf("the chain has other contracts than this program: %w", ErrReset)
	}
	c.deployment = record.Deployment
	return nil
}

// contractCode returns a fingerprint of all code that the set-up deploys.
func contractCode() sortie.Hash {
	var code []byte
	for _, contract := range []contracts.Contract{contracts.ServiceToken, contracts.TestUSDCProxy, contracts.MissionFactory} {
		code = contract.CreateWith(code)
	}
	return sortie.Hash(crypto.Keccak256Hash(code))
}

// firstBlock waits for the first block of this run and for the node's transaction index: before
// that, the node answers questions for unknown transactions with an error.
func (c *Chain) firstBlock(ctx context.Context, ledger ledger) error {
	before := ledger.head().Number.Uint64()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		progress, err := c.node.chain.TxIndexProgress()
		if err != nil {
			return fmt.Errorf("index transactions: %w", err)
		}
		if progress.Done() && ledger.head().Number.Uint64() > before {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return c.err
		case <-ticker.C:
		}
	}
}

func (c *Chain) deployAndFund(ctx context.Context) (Deployment, error) {
	deployer := keySigner(WalletByRole(RoleDeployer).Key)
	deployment, err := Deploy(ctx, c.client, deployer, DeployParams{
		Authorizer:     WalletByRole(RoleAuthorizer).Address,
		Settler:        WalletByRole(RoleSettler).Address,
		WithTestTokens: true,
	})
	if err != nil {
		return Deployment{}, err
	}
	account, err := chain.OpenAccount(ctx, c.client, deployer, c.config.ChainID)
	if err != nil {
		return Deployment{}, err
	}
	if err := fundWallets(ctx, account, deployment); err != nil {
		return Deployment{}, fmt.Errorf("fund wallets: %w", err)
	}
	return deployment, nil
}

// fundWallets transfers tokens to the wallets that start with some. All transfers share a block.
func fundWallets(ctx context.Context, account *chain.Account, deployment Deployment) error {
	var sent []*types.Transaction
	give := func(token sortie.Address, data []byte) error {
		gas, err := account.Estimate(ctx, &token, data)
		if err != nil {
			return err
		}
		tx, err := account.Send(ctx, gas, &token, data)
		if err != nil {
			return err
		}
		sent = append(sent, tx)
		return nil
	}
	for _, wallet := range UserWallets() {
		amount, to := int64(otherTokens), common.Address(wallet.Address)
		if wallet.Role == RoleCreator || wallet.Role == RoleCreator2 {
			amount = creatorTokens
		}
		err := errors.Join(
			give(deployment.USDC, testusdc.NewTestUSDC().PackMint(to, baseUnits(amount, sortie.TokenUSDC))),
			give(deployment.ServiceToken, servicetoken.NewServiceToken().PackTransfer(to, baseUnits(amount, sortie.TokenService))))
		if err != nil {
			return err
		}
	}
	for _, tx := range sent {
		if _, err := account.Mined(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
