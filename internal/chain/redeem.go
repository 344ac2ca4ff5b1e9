package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
)

// PayoutRefusal is why a receipt or a deferred credit is not paid, and what to do, in one line.
type PayoutRefusal struct {
	Kind    RefusalKind
	Message string
}

// Error implements error.
func (r *PayoutRefusal) Error() string { return r.Message }

// RefusalKind classifies a [PayoutRefusal].
type RefusalKind int

// The kinds of refusal.
const (
	RefusedForeign    RefusalKind = iota // altered, or for another contract: do not send it
	RefusedOver                          // nothing is left to pay
	RefusedForNow                        // it can succeed later
	RefusedWrongChain                    // the node is on another chain
)

func refusef(kind RefusalKind, format string, args ...any) error {
	return &PayoutRefusal{kind, fmt.Sprintf(format, args...)}
}

// FactoryTokens are the tokens that a factory pays with.
type FactoryTokens struct{ USDC, ServiceToken sortie.Address }

// name is the protocol's name of a token, empty for one that the factory does not pay with.
func (t FactoryTokens) name(address sortie.Address) sortie.Token {
	switch address {
	case t.USDC:
		return sortie.TokenUSDC
	case t.ServiceToken:
		return sortie.TokenService
	}
	return ""
}

// CheckFactory checks that the node is on the domain's chain and that its factory is a
// MissionFactory with this domain, and returns the factory's tokens.
func CheckFactory(ctx context.Context, node Reader, domain sortie.Domain) (FactoryTokens, error) {
	chainID, err := node.ChainID(ctx)
	if err != nil {
		return FactoryTokens{}, unreachable(node, err)
	}
	if !chainID.IsUint64() || chainID.Uint64() != domain.ChainID {
		return FactoryTokens{}, refusef(RefusedWrongChain, "the node is on chain %s, and the factory is on chain %d: use a node of chain %d", chainID, domain.ChainID, domain.ChainID)
	}
	code, err := node.CodeAt(ctx, common.Address(domain.Factory), nil)
	if err != nil {
		return FactoryTokens{}, unreachable(node, err)
	}
	if len(code) == 0 {
		return FactoryTokens{}, refusef(RefusedForeign, "there is no contract at %s on chain %d: check the factory's address and the chain", domain.Factory, domain.ChainID)
	}
	described, err := ask(ctx, node, domain.Factory, factory.PackEip712Domain(), factory.UnpackEip712Domain)
	if errors.Is(err, ErrUnreachable) {
		return FactoryTokens{}, err
	}
	if err != nil || described.Name != "MissionFactory" || described.Version != "1" || described.ChainId.Cmp(chainID) != 0 ||
		described.VerifyingContract != common.Address(domain.Factory) {
		return FactoryTokens{}, refusef(RefusedForeign, "the contract at %s is not a MissionFactory of version 1: check the factory's address and the chain", domain.Factory)
	}
	usdc, err := ask(ctx, node, domain.Factory, factory.PackUsdc(), factory.UnpackUsdc)
	if err != nil {
		return FactoryTokens{}, fmt.Errorf("read the tokens of factory %s: %w", domain.Factory, err)
	}
	serviceToken, err := ask(ctx, node, domain.Factory, factory.PackServiceToken(), factory.UnpackServiceToken)
	if err != nil {
		return FactoryTokens{}, fmt.Errorf("read the tokens of factory %s: %w", domain.Factory, err)
	}
	return FactoryTokens{USDC: sortie.Address(usdc), ServiceToken: sortie.Address(serviceToken)}, nil
}

// Redemption is the effect that a receipt would have now.
type Redemption struct {
	Domain       sortie.Domain
	Settlement   sortie.Settlement // of one payment
	Signature    sortie.Bytes
	Signer       sortie.Address
	Token        sortie.Token
	TokenAddress sortie.Address
	Amount       *big.Int // base units
	TargetCount  uint64
	PaidCount    uint64
	ReclaimAfter time.Time
	CapLeft      *big.Int // base units left of the daily cap; nil without a cap
	// Deferred says that the token refuses the transfer now: the contract would keep the amount as
	// a deferred credit of the recipient.
	Deferred bool
}

// Calldata is the input of the contract's settle.
func (r Redemption) Calldata() sortie.Bytes { return r.Settlement.Calldata(r.Signature) }

// CheckReceipt compares a receipt with its factory and simulates its settlement. It sends nothing.
// The error is a *[PayoutRefusal], or the node did not answer.
func CheckReceipt(ctx context.Context, node Reader, domain sortie.Domain, receipt sortie.Receipt) (Redemption, error) {
	tokens, err := CheckFactory(ctx, node, domain)
	if err != nil {
		return Redemption{}, err
	}
	signer, err := receipt.Verify(domain)
	if err != nil {
		return Redemption{}, refusef(RefusedForeign, "%s: it was altered, or it is not a receipt of factory %s; fetch it again", err, domain.Factory)
	}
	check := receiptCheck{ctx: ctx, node: node, receipt: receipt, tokens: tokens, Redemption: Redemption{
		Domain: domain, Settlement: receipt.Settlement, Signature: receipt.Signature, Signer: signer,
	}}
	for _, step := range []func() error{check.terms, check.role, check.slot, check.pause, check.cap, check.transfer, check.simulate} {
		if err := step(); err != nil {
			return Redemption{}, err
		}
	}
	return check.Redemption, nil
}

type receiptCheck struct {
	Redemption
	ctx     context.Context
	node    Reader
	receipt sortie.Receipt
	tokens  FactoryTokens
	mission missionfactory.IMissionFactoryMission
}

func (c *receiptCheck) payment() sortie.Payment { return c.Settlement.Payments[0] }

// terms compares the receipt with the mission in the contract.
func (c *receiptCheck) terms() (err error) {
	c.mission, err = ask(c.ctx, c.node, c.Domain.Factory, factory.PackMissions(c.Settlement.MissionKey), factory.UnpackMissions)
	if err != nil {
		return c.readError("the mission", err)
	}
	m := c.mission
	if m.Creator == (common.Address{}) {
		return refusef(RefusedForeign, "factory %s has no mission %s: the receipt is of another factory or chain, or it was altered; fetch it again", c.Domain.Factory, c.Settlement.MissionKey)
	}
	if !m.TargetCount.IsUint64() || !m.PaidCount.IsUint64() || !m.ReclaimAfter.IsInt64() {
		return fmt.Errorf("factory %s answers a mission that no factory can hold: use another node", c.Domain.Factory)
	}
	c.TokenAddress, c.Token = sortie.Address(m.Token), c.tokens.name(sortie.Address(m.Token))
	c.Amount, c.TargetCount, c.PaidCount = m.RewardPerSubmission, m.TargetCount.Uint64(), m.PaidCount.Uint64()
	c.ReclaimAfter = time.Unix(m.ReclaimAfter.Int64(), 0)
	differs := func(field, got, want string) error { // the receipt's value may have any length
		return refusef(RefusedForeign, "the receipt was altered: its %s is %.40s, and the contract has %s; fetch it again", field, got, want)
	}
	recipient := c.payment().Recipient
	switch r := c.receipt; {
	case r.Token != "" && r.Token != c.Token:
		return differs("token", string(r.Token), string(c.Token))
	case r.AmountBaseUnits != "" && r.AmountBaseUnits != c.Amount.String():
		return differs("amountBaseUnits", r.AmountBaseUnits, c.Amount.String())
	case r.ReclaimAfter != nil && !sameSecond(*r.ReclaimAfter, c.ReclaimAfter):
		return differs("reclaimAfter", *r.ReclaimAfter, sortie.FormatTime(c.ReclaimAfter))
	case uint64(c.payment().Slot) >= c.TargetCount:
		return differs("slot", fmt.Sprint(c.payment().Slot), fmt.Sprintf("slots 0 to %d only", c.TargetCount-1))
	case recipient == c.tokens.USDC || recipient == c.tokens.ServiceToken:
		return refusef(RefusedForeign, "the recipient %s is a token's contract, which cannot be paid: fetch the receipt again", recipient)
	}
	return nil
}

func sameSecond(text string, want time.Time) bool {
	got, err := time.Parse(time.RFC3339, text)
	return err == nil && got.Unix() == want.Unix()
}

// role refuses a signer that is not a settler.
func (c *receiptCheck) role() error {
	role, err := ask(c.ctx, c.node, c.Domain.Factory, factory.PackSETTLERROLE(), factory.UnpackSETTLERROLE)
	if err != nil {
		return c.readError("the settler role", err)
	}
	holds, err := ask(c.ctx, c.node, c.Domain.Factory, factory.PackHasRole(role, common.Address(c.Signer)), factory.UnpackHasRole)
	if err != nil {
		return c.readError("the settler role", err)
	}
	if !holds {
		return refusef(RefusedForeign, "the receipt's signer %s is not a settler of factory %s: the settler's key was changed, or the receipt was altered; fetch it again", c.Signer, c.Domain.Factory)
	}
	return nil
}

// slot refuses a slot that is paid, and one of a closed mission.
func (c *receiptCheck) slot() error {
	slot, recipient := c.payment().Slot, c.payment().Recipient
	paid, err := ask(c.ctx, c.node, c.Domain.Factory, factory.PackIsPaid(c.Settlement.MissionKey, new(big.Int).SetUint64(uint64(slot))), factory.UnpackIsPaid)
	if err != nil {
		return c.readError("the slot", err)
	}
	if paid {
		credit, err := DeferredCredit(c.ctx, c.node, c.Domain.Factory, c.TokenAddress, recipient)
		if err != nil {
			return err
		}
		if credit.Sign() > 0 {
			return refusef(RefusedOver, "slot %d was redeemed before; the contract holds %s %s as a deferred credit for %s: claim it with sortie claim", slot, c.units(credit), c.Token, recipient)
		}
		return refusef(RefusedOver, "slot %d was redeemed before, and its recipient %s has the money: there is nothing left to do", slot, recipient)
	}
	switch c.mission.Closed {
	case 0:
		return nil
	case closedByCreator:
		return refusef(RefusedOver, "the creator reclaimed the mission's money, so the receipt pays nothing: ask the service's operator")
	default:
		return refusef(RefusedOver, "the mission is closed, so the receipt pays nothing: ask the service's operator")
	}
}

func (c *receiptCheck) pause() error {
	paused, err := ask(c.ctx, c.node, c.Domain.Factory, factory.PackPaused(), factory.UnpackPaused)
	if err != nil {
		return c.readError("the pause", err)
	}
	if paused {
		return refusef(RefusedForNow, "factory %s is paused: redeem the receipt when the pause is over, before %s", c.Domain.Factory, sortie.FormatTime(c.ReclaimAfter))
	}
	return nil
}

func (c *receiptCheck) cap() error {
	caps, err := ask(c.ctx, c.node, c.Domain.Factory, factory.PackDailyCaps(common.Address(c.TokenAddress)), factory.UnpackDailyCaps)
	if err != nil {
		return c.readError("the daily cap", err)
	}
	c.CapLeft = DailyCap{caps.Limit, caps.Spent}.Room()
	switch {
	case c.CapLeft == nil:
		return nil
	case caps.Limit.Cmp(c.Amount) < 0:
		return refusef(RefusedForNow, "the daily cap of %s %s is below the payout of %s: redeem the receipt when the contract's admin has raised the cap", c.units(caps.Limit), c.Token, c.units(c.Amount))
	case c.CapLeft.Cmp(c.Amount) < 0:
		return refusef(RefusedForNow, "the daily cap has %s %s left today, and the payout is %s: redeem the receipt after midnight UTC", c.units(c.CapLeft), c.Token, c.units(c.Amount))
	}
	return nil
}

// transfer reads whether the token would transfer to the recipient. A refused transfer becomes a
// deferred credit.
func (c *receiptCheck) transfer() error {
	accepted, err := transfers(c.ctx, c.node, c.TokenAddress, c.Domain.Factory, c.payment().Recipient, c.Amount)
	c.Deferred = !accepted
	return err
}

// simulate runs the settlement in the newest block. It needs no balance.
func (c *receiptCheck) simulate() error {
	err := simulate(c.ctx, c.node, c.Domain.Factory, c.Calldata())
	if isRevert(err) {
		return refusef(RefusedForNow, "the settlement would fail, so it was not sent: %v; fetch the receipt again and retry", Explain(err))
	}
	if err != nil {
		return unreachable(c.node, err)
	}
	return nil
}

func (c *receiptCheck) units(amount *big.Int) string {
	return sortie.FormatUnits(amount, Decimals(c.Token))
}

func (c *receiptCheck) readError(what string, err error) error {
	return fmt.Errorf("read %s from factory %s: %w", what, c.Domain.Factory, err)
}

// simulate runs a call in the newest block.
func simulate(ctx context.Context, node Reader, to sortie.Address, data []byte) error {
	address := common.Address(to)
	_, err := node.CallContract(ctx, ethereum.CallMsg{From: callSender, To: &address, Data: data}, nil)
	return err
}
