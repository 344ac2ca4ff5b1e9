package sortie

import "fmt"

// ReceiptError says which member of a receipt is wrong. A receipt with this error must not be sent:
// it was altered, or it is the receipt of another contract.
type ReceiptError struct {
	Field   string // path in the receipt
	Problem string
}

// Error implements error.
func (e *ReceiptError) Error() string { return "receipt: " + e.Field + " " + e.Problem }

// Domain is the contract that the receipt names. It is zero for a receipt of a release that did not
// name it.
func (r Receipt) Domain() Domain { return Domain{ChainID: r.ChainID, Factory: r.Factory} }

// Verify checks a receipt against the contract that shall pay it, without asking the chain, and
// recovers the signer. A caller must then check that the signer holds the contract's settler role.
// Members that a receipt of an earlier release lacks are not checked.
//
// The token, the amount and the date are no part of what is signed: compare them with the mission
// in the contract. The error is nil or of type *[ReceiptError].
func (r Receipt) Verify(domain Domain) (signer Address, err error) {
	if err := r.verifyShape(domain); err != nil {
		return Address{}, err
	}
	if r.MissionID != "" && MissionKey(r.MissionID) != r.MissionKey {
		return Address{}, &ReceiptError{"missionKey", "is not the hash of missionId"}
	}
	if r.SubmissionID != "" && SubmissionKey(r.SubmissionID) != r.Payments[0].SubmissionKey {
		return Address{}, &ReceiptError{"payments[0].submissionKey", "is not the hash of submissionId"}
	}
	signer, err = RecoverAddress(r.Settlement.Digest(domain.Separator()), r.Signature)
	if err != nil {
		return Address{}, &ReceiptError{"signature", "is not a signature of this settlement"}
	}
	if r.Signer != nil && *r.Signer != signer {
		return Address{}, &ReceiptError{"signature", fmt.Sprintf("is by %s for these values, and signer is %s", signer, *r.Signer)}
	}
	return signer, nil
}

// verifyShape refuses what the contract can never pay, whatever the signature.
func (r Receipt) verifyShape(domain Domain) error {
	switch {
	case r.ChainID != 0 && r.ChainID != domain.ChainID:
		return &ReceiptError{"chainId", fmt.Sprintf("is %d, want %d", r.ChainID, domain.ChainID)}
	case !r.Factory.IsZero() && r.Factory != domain.Factory:
		return &ReceiptError{"factory", fmt.Sprintf("is %s, want %s", r.Factory, domain.Factory)}
	case len(r.Payments) != 1:
		return &ReceiptError{"payments", fmt.Sprintf("has %d elements, want 1", len(r.Payments))}
	case r.Payments[0].Slot >= MaxSlots:
		return &ReceiptError{"payments[0].slot", fmt.Sprintf("is %d, want less than %d", r.Payments[0].Slot, MaxSlots)}
	case r.Payments[0].Recipient.IsZero() || r.Payments[0].Recipient == domain.Factory:
		return &ReceiptError{"payments[0].recipient", fmt.Sprintf("is %s, which cannot be paid", r.Payments[0].Recipient)}
	}
	return nil
}

// Receipt is a settlement of one payment with the settler's signature: the contributor can redeem
// it without the service, as long as what it depends on holds.
type Receipt struct {
	Settlement
	Signature       Bytes              `json:"signature"`
	Signer          *Address           `json:"signer"` // whose signature it is; nil for a receipt from before this was stored
	ChainID         uint64             `json:"chainId"`
	Factory         Address            `json:"factory"` // the contract that pays it
	MissionID       string             `json:"missionId"`
	SubmissionID    string             `json:"submissionId"`
	Token           Token              `json:"token"`
	AmountBaseUnits string             `json:"amountBaseUnits"` // what it pays
	ReclaimAfter    *string            `json:"reclaimAfter"`    // from when the creator may take the money back
	DependsOn       []ReceiptCondition `json:"dependsOn"`
}

// ReceiptCondition is something that a receipt depends on.
type ReceiptCondition struct {
	Code    ReceiptConditionCode `json:"code"`
	Message string               `json:"message"` // for people
}

// ReceiptConditionCode names what a receipt depends on. New ones may appear.
type ReceiptConditionCode string

// The conditions of a receipt.
const (
	ReceiptPause   ReceiptConditionCode = "pause"   // the contract is not paused
	ReceiptCap     ReceiptConditionCode = "cap"     // the contract's daily cap has room
	ReceiptRole    ReceiptConditionCode = "role"    // its signer is a settler of the contract
	ReceiptClose   ReceiptConditionCode = "close"   // the mission is not closed
	ReceiptReclaim ReceiptConditionCode = "reclaim" // the creator has not reclaimed the mission's money
)
