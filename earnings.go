package sortie

// Earnings is what a contributor earned, by token.
type Earnings struct {
	OK          bool            `json:"ok"`
	Wallet      Address         `json:"wallet"`
	Tokens      []TokenEarnings `json:"tokens"` // tokens with at least one payout
	GeneratedAt string          `json:"generatedAt"`
}

// TokenEarnings is what a contributor earned in one token.
type TokenEarnings struct {
	Token    Token        `json:"token"`
	Decimals int          `json:"decimals"`
	Since    string       `json:"since"` // when the first payout was queued
	Paid     EarnedAmount `json:"paid"`
	OnTheWay EarnedAmount `json:"onTheWay"` // final acceptances that are not paid yet
	Deferred EarnedAmount `json:"deferred"` // deferred credits, claimed or not
	Failed   EarnedAmount `json:"failed"`   // set aside until an operator retries them
	Advice   string       `json:"advice"`   // what to do about deferred and failed payouts; empty if there are none
}

// EarnedAmount is a number of payouts and their sum.
type EarnedAmount struct {
	Payouts   int64  `json:"payouts"`
	BaseUnits string `json:"baseUnits"`
	Amount    string `json:"amount"` // in whole tokens
}
