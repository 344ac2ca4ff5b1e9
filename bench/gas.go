package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/store"
)

var tokenCalls = servicetoken.NewServiceToken()

// payer is an account of the development chain that pays for transactions and funds missions.
type payer struct {
	*chain.Account
	eth *ethclient.Client
	dev devInstance
}

func (b *bench) openPayer(ctx context.Context, role devnet.Role) (*payer, error) {
	eth, err := ethclient.DialContext(ctx, b.dev.RPCURL)
	if err != nil {
		return nil, err
	}
	key := devnet.WalletByRole(role).Key
	signer := devnet.NewSigner(key.Address(), func(_ context.Context, digest sortie.Hash) (sortie.Bytes, error) {
		return key.SignDigest(digest), nil
	})
	account, err := chain.OpenAccount(ctx, eth, signer, b.dev.ChainID)
	if err != nil {
		eth.Close()
		return nil, err
	}
	return &payer{account, eth, b.dev}, nil
}

func (p *payer) close() { p.eth.Close() }

// send sends a transaction and does not wait for its block.
func (p *payer) send(ctx context.Context, to sortie.Address, data []byte) (*types.Transaction, error) {
	const gas = 5_000_000
	return p.Send(ctx, gas, &to, data)
}

// mine sends a transaction, waits for its block and returns the gas that it used.
func (p *payer) mine(ctx context.Context, to sortie.Address, data []byte) (gas uint64, err error) {
	tx, err := p.send(ctx, to, data)
	if err != nil {
		return 0, err
	}
	receipt, err := p.Mined(ctx, tx)
	if err != nil {
		return 0, err
	}
	return receipt.GasUsed, nil
}

// developmentSigner returns the signer of a role of the development chain.
func developmentSigner(chainID uint64, role devnet.Role) (funding.Signer, error) {
	secret, err := devnet.Key(chainID, int(devnet.WalletByRole(role).Index))
	if err != nil {
		return nil, err
	}
	return funding.NewKeySigner(secret)
}

// measureGas compares the gas of one payment in a full settlement with the gas of a plain token
// transfer, on the same chain.
func (b *bench) measureGas(ctx context.Context) error {
	payer, err := b.openPayer(ctx, devnet.RoleCreator2)
	if err != nil {
		return err
	}
	defer payer.close()
	section := fmt.Sprintf("gas of a payment in a settlement of %d, and of a plain transfer", store.MaxSettlement)
	for _, token := range []sortie.Token{sortie.TokenUSDC, sortie.TokenService} {
		mission, err := payer.fundForGas(ctx, b.dev.token(token))
		if err != nil {
			return fmt.Errorf("fund a mission in %s: %w", token, err)
		}
		var stranger common.Address
		_, _ = rand.Read(stranger[:]) // never fails
		for i, holders := range []string{"new", "known"} {
			settled, err := payer.mine(ctx, b.dev.Factory, mission[i])
			if err != nil {
				return fmt.Errorf("settle in %s: %w", token, err)
			}
			plain, err := payer.mine(ctx, b.dev.token(token), tokenCalls.PackTransfer(stranger, big.NewInt(1)))
			if err != nil {
				return fmt.Errorf("transfer %s: %w", token, err)
			}
			each := float64(settled) / store.MaxSettlement
			b.report.add(section, result{
				Name: fmt.Sprintf("%s, %s holders", token, holders), Product: fmt.Sprintf("%.0f", each), Limit: fmt.Sprint(plain), Value: each / float64(plain),
			}.atMost(1))
		}
	}
	return nil
}

// fundForGas funds a mission that is not in the database, and returns two settlements for the same
// contributors. In the first one the contributors have no balance of the token yet.
func (p *payer) fundForGas(ctx context.Context, token sortie.Address) (settlements [2][]byte, err error) {
	domain := sortie.Domain{ChainID: p.dev.ChainID, Factory: p.dev.Factory}
	authorizer, err := developmentSigner(p.dev.ChainID, devnet.RoleAuthorizer)
	if err != nil {
		return settlements, err
	}
	issuer, err := funding.NewIssuer(domain, authorizer, funding.DefaultTTL)
	if err != nil {
		return settlements, err
	}
	terms := sortie.MissionAuthorization{
		MissionID: "bench-" + rand.Text()[:16], Token: token, RewardPerSubmission: big.NewInt(1000), TargetCount: 2 * store.MaxSettlement, Creator: p.Address(),
	}
	_, _ = rand.Read(terms.Nonce[:]) // never fails
	quote, err := issuer.Quote(ctx, terms, time.Now())
	if err != nil {
		return settlements, err
	}
	if _, err := p.mine(ctx, token, tokenCalls.PackApprove(common.Address(p.dev.Factory), big.NewInt(2*store.MaxSettlement*1000))); err != nil {
		return settlements, err
	}
	if _, err := p.mine(ctx, p.dev.Factory, quote.Calldata); err != nil {
		return settlements, err
	}
	signer, err := developmentSigner(p.dev.ChainID, devnet.RoleSettler)
	if err != nil {
		return settlements, err
	}
	settler, err := funding.NewSettler(domain, signer)
	if err != nil {
		return settlements, err
	}
	payments := make([]sortie.Payment, 2*store.MaxSettlement)
	for i := range payments {
		payments[i].Slot = uint32(i)
		_, _ = rand.Read(payments[i].SubmissionKey[:])
		if i < store.MaxSettlement {
			_, _ = rand.Read(payments[i].Recipient[:])
		} else {
			payments[i].Recipient = payments[i-store.MaxSettlement].Recipient
		}
	}
	for i := range settlements {
		settlement := sortie.Settlement{
			MissionKey: sortie.MissionKey(terms.MissionID), Payments: payments[i*store.MaxSettlement : (i+1)*store.MaxSettlement],
		}
		signature, err := settler.SignSettlement(ctx, settlement)
		if err != nil {
			return settlements, err
		}
		settlements[i] = settlement.Calldata(signature)
	}
	return settlements, nil
}
