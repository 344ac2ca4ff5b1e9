package sortie

// Earnings is what a contributor was paid and will be.
type Earnings struct {
	OK          bool            `json:"ok"`
	Wallet      Address         `json:"wallet"`
	Tokens      []TokenEarnings `json:"tokens"` // those that anything was earned in
	GeneratedAt string          `json:"generatedAt"`
}

// TokenEarnings is what a contributor earned in one token.
type TokenEarnings struct {
	Token    Token        `json:"token"`
	Decimals int          `json:"decimals"`
	Since    string       `json:"since"` // when the first payout was queued
	Paid     EarnedAmount `json:"paid"`
	OnTheWay EarnedAmount `json:"onTheWay"` // accepted for good and not paid yet
	Deferred EarnedAmount `json:"deferred"` // kept by the contract as a credit, claimed or not
	Failed   EarnedAmount `json:"failed"`   // set aside until an operator lets them be tried again
	Advice   string       `json:"advice"`   // what to do about deferred and failed ones; empty if there are none
}

// EarnedAmount is a number of payouts and their sum.
type EarnedAmount struct {
	Payouts   int64  `json:"payouts"`
	BaseUnits string `json:"baseUnits"`
	Amount    string `json:"amount"` // in whole tokens
}
