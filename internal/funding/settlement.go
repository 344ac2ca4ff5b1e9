package funding

import (
	"context"
	"errors"
	"fmt"

	"github.com/sortie-labs/sortie"
)

// Settler signs settlements and closes, which move money out of missions. It refuses what the
// contract would refuse, but it keeps no state: its caller must never sign a slot for two
// recipients, and sign a close only when it is final. A Settler is safe for concurrent use.
type Settler struct {
	domain    sortie.Domain
	separator sortie.Hash
	signer    checked
}

// NewSettler makes a settler for one factory contract.
func NewSettler(domain sortie.Domain, signer Signer) (*Settler, error) {
	if err := checkDomain(domain); err != nil {
		return nil, err
	}
	return &Settler{domain: domain, separator: domain.Separator(), signer: check(signer)}, nil
}

// Signer is the address that settlements and closes are signed with.
func (s *Settler) Signer() sortie.Address { return s.signer.Address() }

// SignSettlement signs the payment of slots. A settlement of a single slot is the contributor's
// receipt.
//
// It fails with a *SignError when the signer returned no usable signature. Every other error means
// that the settlement is wrong.
func (s *Settler) SignSettlement(ctx context.Context, settlement sortie.Settlement) (sortie.Bytes, error) {
	if err := checkSettlement(settlement); err != nil {
		return nil, fmt.Errorf("settlement: %w", err)
	}
	return s.signer.Sign(ctx, SignRequest{
		Purpose: PurposeSettlement,
		Digest:  settlement.Digest(s.separator),
		Content: settlementContent(s.domain, settlement),
	})
}

// SignClose signs the end of a mission and the refund of what is left.
//
// It fails with a *SignError when the signer returned no usable signature. Every other error means
// that the close is wrong.
func (s *Settler) SignClose(ctx context.Context, end sortie.Close) (sortie.Bytes, error) {
	switch {
	case end.MissionKey == sortie.Hash{}:
		return nil, errors.New("close: the mission key is zero")
	case end.PaidCount > sortie.MaxSlots:
		return nil, fmt.Errorf("close: %d slots paid; a mission has at most %d", end.PaidCount, sortie.MaxSlots)
	}
	return s.signer.Sign(ctx, SignRequest{
		Purpose: PurposeClose,
		Digest:  end.Digest(s.separator),
		Content: closeContent(s.domain, end),
	})
}

func checkSettlement(settlement sortie.Settlement) error {
	switch {
	case settlement.MissionKey == sortie.Hash{}:
		return errors.New("the mission key is zero")
	case len(settlement.Payments) == 0:
		return errors.New("it has no payments")
	}
	slots := make(map[uint32]bool, len(settlement.Payments))
	submissions := make(map[sortie.Hash]bool, len(settlement.Payments))
	for _, payment := range settlement.Payments {
		switch {
		case payment.Slot >= sortie.MaxSlots: // and so within the contract's uint24
			return fmt.Errorf("slot %d: the highest slot of a mission is %d", payment.Slot, sortie.MaxSlots-1)
		case slots[payment.Slot]:
			return fmt.Errorf("slot %d appears twice", payment.Slot)
		case payment.Recipient.IsZero():
			return fmt.Errorf("slot %d: the recipient is the zero address", payment.Slot)
		case submissions[payment.SubmissionKey]:
			return fmt.Errorf("slot %d: its submission is paid by another slot", payment.Slot)
		}
		slots[payment.Slot] = true
		submissions[payment.SubmissionKey] = true
	}
	return nil
}
