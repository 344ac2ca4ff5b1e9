package sortie

// SolvencyStatus is the result of comparing the books with the chain.
type SolvencyStatus string

// The solvency statuses.
const (
	SolvencyAgrees     SolvencyStatus = "agrees"
	SolvencyMismatch   SolvencyStatus = "mismatch"    // payouts are halted until an operator clears the incident
	SolvencyNotChecked SolvencyStatus = "not_checked" // the last comparison was not completed
)

// Solvency is the outcome of the last comparison of the books with the chain, and a page of
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
	Agrees          bool           `json:"agrees"`      // everything was compared and nothing differs
	Problem         string         `json:"problem"`     // why the comparison is incomplete; empty if it is complete
	CheckedAt       *string        `json:"checkedAt"`   // of the last comparison; nil before the first
	CompletedAt     *string        `json:"completedAt"` // of the last complete comparison; nil before the first
	BlockNumber     *uint64        `json:"blockNumber"` // both sides were read as of this block
	BlockHash       *Hash          `json:"blockHash"`
	IntervalSeconds int64          `json:"intervalSeconds"` // between comparisons
	MissionsChecked int            `json:"missionsChecked"` // all open missions, and a part of the closed ones
	MismatchCount   int            `json:"mismatchCount"`
	Mismatches      []BookMismatch `json:"mismatches"` // the first 100
	Tokens          []TokenBooks   `json:"tokens"`
}

// BookMismatch is one difference between the database and the contract.
type BookMismatch struct {
	MissionID string  `json:"missionId"` // empty if it concerns a whole token
	DraftID   string  `json:"draftId"`
	Factory   Address `json:"factoryAddress"`
	Token     Token   `json:"token"`
	What      string  `json:"what"`
	Expected  string  `json:"expected"` // the contract's value, or derived from other rows; amounts are in base units
	Found     string  `json:"found"`    // the database's value
}

// TokenBooks are the sums of all missions of a token in one factory. Funded is the sum of paid,
// deferred, remaining and refunded.
type TokenBooks struct {
	Factory             Address  `json:"factoryAddress"`
	Token               Token    `json:"token"`
	TokenAddress        Address  `json:"tokenAddress"`
	Decimals            int      `json:"decimals"`
	OpenMissions        int64    `json:"openMissions"`
	ClosedMissions      int64    `json:"closedMissions"` // closed in a final block
	Database            BookSums `json:"database"`
	BalanceBaseUnits    *string  `json:"balanceBaseUnits"` // of the factory; nil if it could not be read
	CreditsBaseUnits    *string  `json:"creditsBaseUnits"` // unclaimed deferred credits of these missions
	ObligationBaseUnits *string  `json:"obligationBaseUnits"`
	Covered             *bool    `json:"covered"` // the balance is at least the obligation; the factory may hold other missions too
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
	Chain      *ContractSums  `json:"chain"`  // nil if the contract could not be read
	Agrees     *bool          `json:"agrees"` // nil if not compared
	Mismatches []BookMismatch `json:"mismatches"`
}

// SolvencySummary describes the page of missions.
type SolvencySummary struct {
	ReturnedMissions int     `json:"returnedMissions"`
	BlockNumber      *uint64 `json:"blockNumber"` // the missions were read as of this block; nil before the first block
	Problem          string  `json:"problem"`     // why the contract could not be read
	NextCursor       *string `json:"nextCursor"`  // nil on the last page
	GeneratedAt      string  `json:"generatedAt"`
}
