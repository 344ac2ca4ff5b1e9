package funding

import (
	"strconv"

	"github.com/sortie-labs/sortie"
)

// The signed structs as EIP-712 typed data in JSON, for signers that check the content. This
// package does not hash them: the digests come from package sortie, and a test compares the two.

type typedData struct {
	Types       map[string][]typedField `json:"types"`
	PrimaryType string                  `json:"primaryType"`
	Domain      typedDomain             `json:"domain"`
	Message     any                     `json:"message"`
}

type typedField struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type typedDomain struct {
	Name              string         `json:"name"`
	Version           string         `json:"version"`
	ChainID           uint64         `json:"chainId"`
	VerifyingContract sortie.Address `json:"verifyingContract"`
}

func newTypedData(domain sortie.Domain, message any, primaryType string, types map[string][]typedField) typedData {
	types["EIP712Domain"] = []typedField{
		{"name", "string"}, {"version", "string"}, {"chainId", "uint256"}, {"verifyingContract", "address"},
	}
	return typedData{
		Types:       types,
		PrimaryType: primaryType,
		Domain:      typedDomain{Name: "MissionFactory", Version: "1", ChainID: domain.ChainID, VerifyingContract: domain.Factory},
		Message:     message,
	}
}

// authorizationMessage encodes numbers as text, because many JSON parsers round large numbers.
type authorizationMessage struct {
	MissionID           string         `json:"missionId"`
	Token               sortie.Address `json:"token"`
	RewardPerSubmission string         `json:"rewardPerSubmission"`
	TargetCount         string         `json:"targetCount"`
	Creator             sortie.Address `json:"creator"`
	Nonce               sortie.Hash    `json:"nonce"`
	Deadline            string         `json:"deadline"`
}

func authorizationContent(domain sortie.Domain, a sortie.MissionAuthorization) lazyJSON {
	return func() any {
		message := authorizationMessage{
			MissionID: a.MissionID, Token: a.Token, RewardPerSubmission: a.RewardPerSubmission.String(),
			TargetCount: formatUint(a.TargetCount), Creator: a.Creator, Nonce: a.Nonce, Deadline: formatUint(a.Deadline),
		}
		return newTypedData(domain, message, "MissionAuthorization", map[string][]typedField{
			"MissionAuthorization": {
				{"missionId", "string"}, {"token", "address"}, {"rewardPerSubmission", "uint256"}, {"targetCount", "uint256"},
				{"creator", "address"}, {"nonce", "bytes32"}, {"deadline", "uint256"},
			},
		})
	}
}

type settlementMessage struct {
	MissionKey sortie.Hash      `json:"missionKey"`
	Payments   []paymentMessage `json:"payments"`
}

type paymentMessage struct {
	Slot          string         `json:"slot"`
	Recipient     sortie.Address `json:"recipient"`
	SubmissionKey sortie.Hash    `json:"submissionKey"`
}

func settlementContent(domain sortie.Domain, s sortie.Settlement) lazyJSON {
	return func() any {
		message := settlementMessage{MissionKey: s.MissionKey, Payments: make([]paymentMessage, 0, len(s.Payments))}
		for _, p := range s.Payments {
			payment := paymentMessage{Slot: formatUint(uint64(p.Slot)), Recipient: p.Recipient, SubmissionKey: p.SubmissionKey}
			message.Payments = append(message.Payments, payment)
		}
		return newTypedData(domain, message, "Settlement", map[string][]typedField{
			"Settlement": {{"missionKey", "bytes32"}, {"payments", "Payment[]"}},
			"Payment":    {{"slot", "uint24"}, {"recipient", "address"}, {"submissionKey", "bytes32"}},
		})
	}
}

type closeMessage struct {
	MissionKey sortie.Hash `json:"missionKey"`
	PaidCount  string      `json:"paidCount"`
}

func closeContent(domain sortie.Domain, c sortie.Close) lazyJSON {
	return func() any {
		message := closeMessage{MissionKey: c.MissionKey, PaidCount: formatUint(c.PaidCount)}
		return newTypedData(domain, message, "Close", map[string][]typedField{
			"Close": {{"missionKey", "bytes32"}, {"paidCount", "uint256"}},
		})
	}
}

func formatUint(n uint64) string { return strconv.FormatUint(n, 10) }
