package sortie

// DraftCreated is the answer to creating a draft.
type DraftCreated struct {
	Status        ListStatus    `json:"status"`
	DraftID       string        `json:"draftId"`
	MissionID     string        `json:"missionId"`
	ReviewStatus  ReviewStatus  `json:"reviewStatus"`
	FundingStatus FundingStatus `json:"fundingStatus"`
	NextAction    NextAction    `json:"nextAction"`
	FundingQuote  Quote         `json:"fundingQuote"`

	Replayed bool `json:"-"` // an earlier call created it, by the answer's header
}

// MissionStatus is the answer to a status request.
type MissionStatus struct {
	OK                bool              `json:"ok"`
	DraftID           string            `json:"draftId"`
	MissionID         string            `json:"missionId"`
	ReviewStatus      ReviewStatus      `json:"reviewStatus"`
	FundingStatus     FundingStatus     `json:"fundingStatus"`
	NextAction        NextAction        `json:"nextAction"`
	Published         bool              `json:"published"`
	NormalizedMission NormalizedMission `json:"normalizedMission"`
	FundingQuote      Quote             `json:"fundingQuote"`
}

// ListedDraft is one element of the draft list.
type ListedDraft struct {
	MissionStatus
	Status    ListStatus `json:"status"`
	CreatedAt string     `json:"createdAt"`
	UpdatedAt string     `json:"updatedAt"`
}

// DraftList is one page of a creator's drafts, newest first.
type DraftList struct {
	OK      bool          `json:"ok"`
	Drafts  []ListedDraft `json:"drafts"`
	Summary ListSummary   `json:"summary"`
}

// ListSummary describes a page of the draft list.
type ListSummary struct {
	ReturnedDrafts int     `json:"returnedDrafts"`
	NextCursor     *string `json:"nextCursor"` // nil on the last page
	GeneratedAt    string  `json:"generatedAt"`
}

// Preview is what a mission definition would become, without storing anything.
type Preview struct {
	OK                bool              `json:"ok"`
	NormalizedMission NormalizedMission `json:"normalizedMission"`
	TotalBudget       Budget            `json:"totalBudget"`
	Warnings          []string          `json:"warnings"`
}

// Budget is the money a mission locks.
type Budget struct {
	Token     Token  `json:"token"`
	Amount    string `json:"amount"`    // whole tokens
	BaseUnits string `json:"baseUnits"` // decimal integer
}

// MaxFieldErrors is how many wrong fields an error lists at most.
const MaxFieldErrors = 50

// FieldError is one fault of a mission definition.
type FieldError struct {
	Path    string `json:"path"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// FundingDepth describes a mission's funding on the chain.
type FundingDepth struct {
	Seen            bool    `json:"seen"`
	TransactionHash *Hash   `json:"transactionHash"` // nil until seen
	BlockNumber     *uint64 `json:"blockNumber"`     // nil until seen
	Confirmations   uint64  `json:"confirmations"`   // blocks on top of it, its own included; 0 until seen
	Required        uint64  `json:"required"`        // confirmations at which the review begins
	Locked          bool    `json:"locked"`          // final: publication needs it
}

// FundingCheck is the answer to confirm-funding: what the service knew before it read the chain
// again. Ask for the status later.
type FundingCheck struct {
	OK            bool          `json:"ok"`
	DraftID       string        `json:"draftId"`
	MissionID     string        `json:"missionId"`
	FundingStatus FundingStatus `json:"fundingStatus"`
	NextAction    NextAction    `json:"nextAction"`
	Funding       FundingDepth  `json:"funding"`
}
