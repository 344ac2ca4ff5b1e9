package sortie

// MissionLedger is the account of a published mission's money. Funded is the sum of paid, deferred,
// remaining and refunded.
type MissionLedger struct {
	OK           bool    `json:"ok"`
	MissionID    string  `json:"missionId"`
	ChainID      uint64  `json:"chainId"`
	Factory      Address `json:"factoryAddress"`
	MissionKey   Hash    `json:"missionKey"` // the contract's key of the mission
	Token        Token   `json:"token"`
	TokenAddress Address `json:"tokenAddress"`
	Decimals     int     `json:"decimals"`
	BookSums
	RewardBaseUnits string          `json:"rewardBaseUnits"`
	TargetCount     int             `json:"targetCount"`
	PaidCount       int             `json:"paidCount"`     // in final blocks
	DeferredCount   int             `json:"deferredCount"` // likewise
	AcceptedCount   int             `json:"acceptedCount"`
	Final           bool            `json:"final"`   // nothing can change
	Funding         *LedgerEntry    `json:"funding"` // nil while a reorganization has taken it
	Closing         *LedgerEntry    `json:"closing"` // nil while the mission is open
	Payments        []LedgerPayment `json:"payments"`
	Summary         LedgerSummary   `json:"summary"`
}

// LedgerEntry is a transaction that moved a mission's money.
type LedgerEntry struct {
	TransactionHash Hash   `json:"transactionHash"`
	BlockNumber     uint64 `json:"blockNumber"`
	Final           bool   `json:"final"`
}

// LedgerPayment is a payment of one slot that is in a block.
type LedgerPayment struct {
	Slot            uint32       `json:"slot"`
	Recipient       Address      `json:"recipient"`
	SubmissionKey   Hash         `json:"submissionKey"` // as in the contract's event
	AmountBaseUnits string       `json:"amountBaseUnits"`
	Status          PayoutStatus `json:"status"` // sent until the block is final, then paid or deferred
	TransactionHash Hash         `json:"transactionHash"`
	BlockNumber     uint64       `json:"blockNumber"`
}

// LedgerSummary describes the page of payments.
type LedgerSummary struct {
	ReturnedPayments int     `json:"returnedPayments"`
	NextCursor       *string `json:"nextCursor"` // nil on the last page
	GeneratedAt      string  `json:"generatedAt"`
}
