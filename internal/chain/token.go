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

// IsFunded reports whether the factory has a mission with this id, open or closed.
func IsFunded(ctx context.Context, node Reader, factoryAddress sortie.Address, missionID string) (bool, error) {
	mission, err := ask(ctx, node, factoryAddress, factory.PackMissions(sortie.MissionKey(missionID)), factory.UnpackMissions)
	if err != nil {
		return false, fmt.Errorf("ask the factory for mission %s: %w", missionID, err)
	}
	return mission.Creator != common.Address{}, nil
}

// BalanceError reports an account that holds less of a token than it has to pay, in base units.
type BalanceError struct {
	Account      sortie.Address
	Holds, Needs *big.Int
}

// Error names the account and both amounts.
func (e *BalanceError) Error() string {
	return fmt.Sprintf("%s holds %s base units of the token and %s are needed: send it more first", e.Account, e.Holds, e.Needs)
}

// ApproveExactly sets the allowance of the spender to the amount if it is lower, and waits until
// that is mined. It returns the approval, nil if none was needed. It never approves more than the
// amount, because the rest would stay approved.
func ApproveExactly(ctx context.Context, account *Account, token, spender sortie.Address, amount *big.Int) (*types.Transaction, error) {
	erc20 := servicetoken.NewServiceToken()
	owner := common.Address(account.Address())
	balance, err := ask(ctx, account.backend, token, erc20.PackBalanceOf(owner), erc20.UnpackBalanceOf)
	if err != nil {
		return nil, fmt.Errorf("read the balance of %s: %w", account.Address(), err)
	}
	if balance.Cmp(amount) < 0 {
		return nil, &BalanceError{Account: account.Address(), Holds: balance, Needs: amount}
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
