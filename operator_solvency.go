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
