package sortie

import "fmt"

// ReceiptError names the member of a receipt that is wrong. Do not send such a receipt: it was
// altered, or belongs to another contract.
type ReceiptError struct {
	Field   string // path in the receipt
	Problem string
}

// Error implements error.
func (e *ReceiptError) Error() string { return "receipt: " + e.Field + " " + e.Problem }

// Domain is the contract that the receipt names. It is zero for a receipt of an older release.
func (r Receipt) Domain() Domain { return Domain{ChainID: r.ChainID, Factory: r.Factory} }

// Verify checks a receipt for the contract of this domain, without asking the chain, and recovers
// the signer. The caller must then check that the signer has the contract's settler role. Members
// that a receipt of an older release lacks are not checked.
//
// The token, the amount and the date are not signed: compare them with the mission in the contract.
// The error is nil or of type *[ReceiptError].
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

// verifyShape refuses what the contract cannot pay with any signature.
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

// Receipt is a settlement of one payment with the settler's signature. The contributor can redeem
// it without the service while its conditions (DependsOn) hold.
type Receipt struct {
	Settlement
	Signature       Bytes              `json:"signature"`
	Signer          *Address           `json:"signer"` // the settler; nil for a receipt of an older release
	ChainID         uint64             `json:"chainId"`
	Factory         Address            `json:"factory"` // the contract that pays it
	MissionID       string             `json:"missionId"`
	SubmissionID    string             `json:"submissionId"`
	Token           Token              `json:"token"`
	AmountBaseUnits string             `json:"amountBaseUnits"` // what it pays
	ReclaimAfter    *string            `json:"reclaimAfter"`    // when the creator may reclaim the money
	DependsOn       []ReceiptCondition `json:"dependsOn"`
}

// ReceiptCondition is a condition for redeeming a receipt.
type ReceiptCondition struct {
	Code    ReceiptConditionCode `json:"code"`
	Message string               `json:"message"` // for people
}

// ReceiptConditionCode names a condition. New codes may be added.
type ReceiptConditionCode string

// The conditions of a receipt.
const (
	ReceiptPause   ReceiptConditionCode = "pause"   // the contract is not paused
	ReceiptCap     ReceiptConditionCode = "cap"     // the contract's daily cap has room
	ReceiptRole    ReceiptConditionCode = "role"    // its signer is a settler of the contract
	ReceiptClose   ReceiptConditionCode = "close"   // the mission is not closed
	ReceiptReclaim ReceiptConditionCode = "reclaim" // the creator has not reclaimed the mission's money
)
