package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/sortie-labs/sortie"
)

// DeferredCredit reads what a factory holds for an account because a token refused the transfer, in
// base units.
func DeferredCredit(ctx context.Context, node Reader, factoryAddress, token, account sortie.Address) (*big.Int, error) {
	credit, err := ask(ctx, node, factoryAddress, factory.PackDeferred(common.Address(token), common.Address(account)), factory.UnpackDeferred)
	if err != nil {
		return nil, fmt.Errorf("read the deferred credit of %s: %w", account, err)
	}
	return credit, nil
}

// Claim is a deferred credit that a factory would pay now.
type Claim struct {
	Domain       sortie.Domain
	Token        sortie.Token
	TokenAddress sortie.Address
	Account      sortie.Address
	Amount       *big.Int // base units
}

// Calldata is the input of the contract's claimDeferred.
func (c Claim) Calldata() sortie.Bytes {
	return factory.PackClaimDeferred(common.Address(c.TokenAddress), common.Address(c.Account))
}

// CheckClaim reads an account's deferred credit and simulates its payment. It sends nothing. The
// token is a name of the protocol or an address. The error is a *[PayoutRefusal], or the node did
// not answer.
func CheckClaim(ctx context.Context, node Reader, domain sortie.Domain, token string, account sortie.Address) (Claim, error) {
	tokens, err := CheckFactory(ctx, node, domain)
	if err != nil {
		return Claim{}, err
	}
	claim := Claim{Domain: domain, Account: account}
	switch sortie.Token(token) {
	case sortie.TokenUSDC:
		claim.TokenAddress = tokens.USDC
	case sortie.TokenService:
		claim.TokenAddress = tokens.ServiceToken
	default:
		if claim.TokenAddress, err = sortie.ParseAddress(token); err != nil {
			return Claim{}, fmt.Errorf("token: %w", err)
		}
	}
	if claim.Token = tokens.name(claim.TokenAddress); claim.Token == "" {
		return Claim{}, refusef(RefusedForeign, "factory %s does not pay with token %s: name USDC or SERVICE_TOKEN", domain.Factory, claim.TokenAddress)
	}
	if claim.Amount, err = DeferredCredit(ctx, node, domain.Factory, claim.TokenAddress, account); err != nil {
		return Claim{}, err
	}
	if claim.Amount.Sign() == 0 {
		return Claim{}, refusef(RefusedOver, "factory %s holds no deferred %s for %s: it was claimed before, or check the account and the token", domain.Factory, claim.Token, account)
	}
	err = simulate(ctx, node, domain.Factory, claim.Calldata())
	if isRevert(err) {
		return Claim{}, refusef(RefusedForNow, "the token still refuses to pay %s: the account is on its denylist, or the token is paused; the contract keeps the credit, so claim it when that is over", account)
	}
	if err != nil {
		return Claim{}, unreachable(node, err)
	}
	return claim, nil
}

// isRevert reports whether the call failed, not the node.
func isRevert(err error) bool {
	var answered rpc.Error
	return errors.As(err, &answered) && (answered.ErrorCode() == 3 || strings.Contains(strings.ToLower(answered.Error()), "revert"))
}

// PayoutOutcome is what a settlement did with a slot.
type PayoutOutcome string

// The outcomes.
const (
	OutcomePaid     PayoutOutcome = "paid"
	OutcomeDeferred PayoutOutcome = "deferred"     // the token refused; the contract holds the amount
	OutcomeSkipped  PayoutOutcome = "already_paid" // another transaction was first
)

// SettledAs reads the outcome of the redemption's slot from the receipt of a settlement.
func (r Redemption) SettledAs(receipt *types.Receipt) PayoutOutcome {
	payment := r.Settlement.Payments[0]
	matches := func(log *types.Log, key, submission [32]byte, recipient common.Address, slot *big.Int) bool {
		return log.Address == common.Address(r.Domain.Factory) && key == r.Settlement.MissionKey && submission == payment.SubmissionKey &&
			recipient == common.Address(payment.Recipient) && slot.IsUint64() && slot.Uint64() == uint64(payment.Slot)
	}
	for _, log := range receipt.Logs {
		if paid, err := factory.UnpackSubmissionPaidEvent(log); err == nil && matches(log, paid.MissionKey, paid.SubmissionKey, paid.Recipient, paid.Slot) {
			return OutcomePaid
		}
		if put, err := factory.UnpackPayoutDeferredEvent(log); err == nil && matches(log, put.MissionKey, put.SubmissionKey, put.Recipient, put.Slot) {
			return OutcomeDeferred
		}
	}
	return OutcomeSkipped
}

// PaidBy reads the paid amount from the receipt of a claim; nil: it paid nothing.
func (c Claim) PaidBy(receipt *types.Receipt) *big.Int {
	for _, log := range receipt.Logs {
		if claimed, err := factory.UnpackDeferredClaimedEvent(log); err == nil && log.Address == common.Address(c.Domain.Factory) &&
			claimed.Token == common.Address(c.TokenAddress) && claimed.Account == common.Address(c.Account) {
			return claimed.Amount
		}
	}
	return nil
}
