package chain

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
)

// IsFunded reports whether the factory holds a mission with this id, open or ended.
func IsFunded(ctx context.Context, node Reader, factoryAddress sortie.Address, missionID string) (bool, error) {
	mission, err := ask(ctx, node, factoryAddress, factory.PackMissions(sortie.MissionKey(missionID)), factory.UnpackMissions)
	if err != nil {
		return false, fmt.Errorf("ask the factory for mission %s: %w", missionID, err)
	}
	return mission.Creator != common.Address{}, nil
}

// ApproveExactly makes sure that the spender may take the amount from the account, and waits until
// it may. It gives the approval it sent, nil if the allowance was enough. The allowance is set to
// the amount and no more: what is left of a larger one would outlive the reason for it.
func ApproveExactly(ctx context.Context, account *Account, token, spender sortie.Address, amount *big.Int) (*types.Transaction, error) {
	erc20 := servicetoken.NewServiceToken()
	owner := common.Address(account.Address())
	balance, err := ask(ctx, account.backend, token, erc20.PackBalanceOf(owner), erc20.UnpackBalanceOf)
	if err != nil {
		return nil, fmt.Errorf("read the balance of %s: %w", account.Address(), err)
	}
	if balance.Cmp(amount) < 0 {
		return nil, fmt.Errorf("%s holds %s base units of the token and %s are needed: send it more first", account.Address(), balance, amount)
	}
	allowance, err := ask(ctx, account.backend, token, erc20.PackAllowance(owner, common.Address(spender)), erc20.UnpackAllowance)
	if err != nil {
		return nil, fmt.Errorf("read the allowance of %s: %w", spender, err)
	}
	if allowance.Cmp(amount) >= 0 {
		return nil, nil
	}
	data := erc20.PackApprove(common.Address(spender), amount)
	gas, err := account.Estimate(ctx, &token, data)
	if err != nil {
		return nil, fmt.Errorf("approve: %w", err)
	}
	if err := account.CanPay(ctx, gas); err != nil {
		return nil, err
	}
	tx, err := account.Send(ctx, gas, &token, data)
	if err != nil {
		return nil, fmt.Errorf("approve: %w", err)
	}
	if _, err := account.Mined(ctx, tx); err != nil {
		return nil, fmt.Errorf("approve: %w", err)
	}
	return tx, nil
}
