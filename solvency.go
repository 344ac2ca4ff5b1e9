package sortie

// SolvencyStatus says in one word whether the books agree with the chain.
type SolvencyStatus string

// The solvency statuses.
const (
	SolvencyAgrees     SolvencyStatus = "agrees"
	SolvencyMismatch   SolvencyStatus = "mismatch"    // payouts are halted until an operator clears the incident
	SolvencyNotChecked SolvencyStatus = "not_checked" // the last check could not be completed: it did not pass
)

// Solvency is the outcome of the last comparison of the database with the chain, and a page of
// missions that were compared for this answer.
type Solvency struct {
	OK bool `json:"ok"`
	SolvencyReport
	Missions []MissionBooks  `json:"missions"` // newest first
	Summary  SolvencySummary `json:"summary"`
}

// SolvencyReport is the outcome of one comparison of all books with the chain.
type SolvencyReport struct {
	Status          SolvencyStatus `json:"status"`
	Agrees          bool           `json:"agrees"`      // true only if everything was compared and nothing differs
	Problem         string         `json:"problem"`     // why not everything was compared; empty if it was
	CheckedAt       *string        `json:"checkedAt"`   // when it ended; nil before the first
	CompletedAt     *string        `json:"completedAt"` // when the last one ended that compared everything; nil before the first
	BlockNumber     *uint64        `json:"blockNumber"` // as of which both sides were read
	BlockHash       *Hash          `json:"blockHash"`
	IntervalSeconds int64          `json:"intervalSeconds"` // between comparisons
	MissionsChecked int            `json:"missionsChecked"` // those whose money is in the contract, all of them, and a part of the others
	MismatchCount   int            `json:"mismatchCount"`
	Mismatches      []BookMismatch `json:"mismatches"` // the first 100
	Tokens          []TokenBooks   `json:"tokens"`
}

// BookMismatch is one thing that is not the same in the database and in the contract.
type BookMismatch struct {
	MissionID string  `json:"missionId"` // empty where it is about a token as a whole
	DraftID   string  `json:"draftId"`
	Factory   Address `json:"factoryAddress"`
	Token     Token   `json:"token"`
	What      string  `json:"what"`
	Expected  string  `json:"expected"` // what the contract says, or follows from the rest; amounts are in base units
	Found     string  `json:"found"`    // what the database says
}

// TokenBooks are the sums of all missions of a token in one factory. Funded is paid, deferred,
// remaining and refunded together.
type TokenBooks struct {
	Factory             Address  `json:"factoryAddress"`
	Token               Token    `json:"token"`
	TokenAddress        Address  `json:"tokenAddress"`
	Decimals            int      `json:"decimals"`
	OpenMissions        int64    `json:"openMissions"`
	ClosedMissions      int64    `json:"closedMissions"` // whose money has left the contract for good
	Database            BookSums `json:"database"`
	BalanceBaseUnits    *string  `json:"balanceBaseUnits"` // of the factory; nil if it could not be read
	CreditsBaseUnits    *string  `json:"creditsBaseUnits"` // deferred payments and refunds of these missions' people that were not claimed
	ObligationBaseUnits *string  `json:"obligationBaseUnits"`
	Covered             *bool    `json:"covered"` // the balance is at least the obligation: missions of others are in the same factory
}

// BookSums are amounts in base units, from the database.
type BookSums struct {
	FundedBaseUnits    string `json:"fundedBaseUnits"`
	PaidBaseUnits      string `json:"paidBaseUnits"`
	DeferredBaseUnits  string `json:"deferredBaseUnits"`
	RemainingBaseUnits string `json:"remainingBaseUnits"`
	RefundedBaseUnits  string `json:"refundedBaseUnits"`
}

// ContractSums are amounts in base units, from the contract, which counts deferred payments as
// paid.
type ContractSums struct {
	FundedBaseUnits          string `json:"fundedBaseUnits"`
	PaidAndDeferredBaseUnits string `json:"paidAndDeferredBaseUnits"`
	RemainingBaseUnits       string `json:"remainingBaseUnits"`
	RefundedBaseUnits        string `json:"refundedBaseUnits"`
}

// MissionBooks are the books of one mission.
type MissionBooks struct {
	MissionID  string         `json:"missionId"`
	DraftID    string         `json:"draftId"`
	Factory    Address        `json:"factoryAddress"`
	MissionKey Hash           `json:"missionKey"`
	Token      Token          `json:"token"`
	Closed     bool           `json:"closed"`
	Database   BookSums       `json:"database"`
	Chain      *ContractSums  `json:"chain"`  // nil if the contract could not be asked
	Agrees     *bool          `json:"agrees"` // nil likewise: not checked is not passed
	Mismatches []BookMismatch `json:"mismatches"`
}

// SolvencySummary describes the page of missions.
type SolvencySummary struct {
	ReturnedMissions int     `json:"returnedMissions"`
	BlockNumber      *uint64 `json:"blockNumber"` // as of which they were read; nil before the chain was followed
	Problem          string  `json:"problem"`     // why the contract could not be asked
	NextCursor       *string `json:"nextCursor"`  // nil on the last page
	GeneratedAt      string  `json:"generatedAt"`
}

// MissionLedger is where the money of a published mission is. Funded is paid, deferred, remaining
// and refunded together.
type MissionLedger struct {
	OK           bool    `json:"ok"`
	MissionID    string  `json:"missionId"`
	ChainID      uint64  `json:"chainId"`
	Factory      Address `json:"factoryAddress"`
	MissionKey   Hash    `json:"missionKey"` // the contract's name of the mission
	Token        Token   `json:"token"`
	TokenAddress Address `json:"tokenAddress"`
	Decimals     int     `json:"decimals"`
	BookSums
	RewardBaseUnits string          `json:"rewardBaseUnits"`
	TargetCount     int             `json:"targetCount"`
	PaidCount       int             `json:"paidCount"`     // in final blocks
	DeferredCount   int             `json:"deferredCount"` // likewise
	AcceptedCount   int             `json:"acceptedCount"`
	Final           bool            `json:"final"`   // nothing will change any more
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

// MissionMoney is where the money of a published mission is, for its creator, in base units. Funded
// is spent, committed, left and refunded together.
type MissionMoney struct {
	Token     Token  `json:"token"`
	Decimals  int    `json:"decimals"`
	Funded    string `json:"funded"`
	Spent     string `json:"spent"`     // paid or deferred in final blocks
	Committed string `json:"committed"` // accepted and not paid yet
	Left      string `json:"left"`      // for further acceptances, or to come back
	Refunded  string `json:"refunded"`
}
