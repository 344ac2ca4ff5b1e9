package sortie

import "encoding/json"

// Decision is what was decided about a mission in review. It is made once.
type Decision struct {
	ReviewStatus ReviewStatus `json:"reviewStatus"` // approved or rejected
	DecidedBy    string       `json:"decidedBy"`    // an operator's address; auto, reclaim or chain when no person decided
	Reason       string       `json:"reason"`
	DecidedAt    string       `json:"decidedAt"`
}

// Review is a mission as an operator sees it.
type Review struct {
	DraftID           string          `json:"draftId"`
	MissionID         string          `json:"missionId"`
	Creator           Address         `json:"creator"`
	Title             string          `json:"title"`
	Status            ListStatus      `json:"status"`
	ReviewStatus      ReviewStatus    `json:"reviewStatus"`
	FundingStatus     FundingStatus   `json:"fundingStatus"`
	Published         bool            `json:"published"`
	TotalBudget       Budget          `json:"totalBudget"`
	TargetCount       int             `json:"targetCount"`
	Funding           FundingDepth    `json:"funding"`
	NormalizedMission json.RawMessage `json:"normalizedMission"` // a [NormalizedMission]
	Warnings          []string        `json:"warnings"`          // what is allowed and probably not meant
	Decision          *Decision       `json:"decision"`          // nil until decided
	CreatedAt         string          `json:"createdAt"`
	UpdatedAt         string          `json:"updatedAt"`
}

// ReviewPage is one page of the missions that wait for a decision, oldest first.
type ReviewPage struct {
	OK      bool          `json:"ok"`
	Reviews []Review      `json:"reviews"`
	Summary ReviewSummary `json:"summary"`
}

// ReviewSummary describes a page of reviews.
type ReviewSummary struct {
	ReturnedReviews int     `json:"returnedReviews"`
	NextCursor      *string `json:"nextCursor"` // nil on the last page
	GeneratedAt     string  `json:"generatedAt"`
}

// ReviewDetail is the answer to a request for one review, and to a decision.
type ReviewDetail struct {
	OK     bool   `json:"ok"`
	Review Review `json:"review"`
}

// DecisionRequest is what an operator sends with a decision, or with the clearing of an incident.
type DecisionRequest struct {
	Reason string `json:"reason"` // shown to the creator; a rejection and a clearing need one
}

// AuditEntry is one thing that an operator, or the service in their name, did.
type AuditEntry struct {
	ID      int64           `json:"id"` // later ones have greater ones
	At      string          `json:"at"`
	Actor   string          `json:"actor"` // an operator's address; auto, reclaim or chain when no person acted
	Action  string          `json:"action"`
	Subject string          `json:"subject"` // the id of what it was done to
	Detail  json.RawMessage `json:"detail"`  // an object
}

// AuditPage is one page of the audit log, newest first.
type AuditPage struct {
	OK      bool         `json:"ok"`
	Entries []AuditEntry `json:"entries"`
	Summary AuditSummary `json:"summary"`
}

// AuditSummary describes a page of the audit log.
type AuditSummary struct {
	ReturnedEntries int     `json:"returnedEntries"`
	NextCursor      *string `json:"nextCursor"` // nil on the last page
	GeneratedAt     string  `json:"generatedAt"`
}

// ChainOverview is what the service knows about the chain it follows.
type ChainOverview struct {
	OK            bool             `json:"ok"`
	ChainID       uint64           `json:"chainId"`
	Factories     []Address        `json:"factories"`
	Position      *ChainPosition   `json:"position"` // nil before the first block was followed
	Halted        bool             `json:"halted"`   // publication, payouts and sends stand still until a person clears the incident
	Incidents     []Incident       `json:"incidents"`
	Sender        SenderBacklog    `json:"sender"`
	PayoutHalt    *PayoutHalt      `json:"payoutHalt"`    // nil while no operator has halted payouts
	LastReconcile *ReconcileReport `json:"lastReconcile"` // nil before the first
	Follower      *FollowerStatus  `json:"follower"`      // nil where the answering process is not the one that follows
	Sending       *SenderStatus    `json:"sending"`       // nil where the answering process is not the one that sends
	Warnings      []string         `json:"warnings"`      // about the configuration of the answering process
	GeneratedAt   string           `json:"generatedAt"`
}

// SenderStatus is how the process does that sends transactions.
type SenderStatus struct {
	Account    Address       `json:"account"`
	BalanceWei *string       `json:"balanceWei"` // nil before it was read
	DaysLeft   *float64      `json:"daysLeft"`   // for which the balance lasts at the present pace; nil while no pace is known
	Alarms     []SenderAlarm `json:"alarms"`
}

// SenderAlarm is something that keeps transactions from getting through, or soon will. It ends by
// itself.
type SenderAlarm struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// ChainPosition is how far the chain has been followed.
type ChainPosition struct {
	Start   uint64 `json:"start"` // nothing before it can concern the service
	Tip     uint64 `json:"tip"`   // the newest block whose events are applied
	TipHash Hash   `json:"tipHash"`
	TipTime string `json:"tipTime"`
	Head    uint64 `json:"head"` // the newest block of the node that is followed
	Final   uint64 `json:"final"`
}

// Incident is something that a person must look at. A halting one stops publication, payouts and
// sends until it is cleared.
type Incident struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Halting  bool   `json:"halting"`
	Detail   string `json:"detail"`
	OpenedAt string `json:"openedAt"`
}

// IncidentCleared is the answer to clearing an incident.
type IncidentCleared struct {
	OK     bool   `json:"ok"`
	ID     string `json:"id"`
	Halted bool   `json:"halted"` // another incident still halts the service
}

// SenderBacklog counts the transactions that the service has yet to see mined.
type SenderBacklog struct {
	Queued   int     `json:"queued"`
	Sent     int     `json:"sent"`
	OldestAt *string `json:"oldestAt"` // nil when there is none
}

// ReconcileReport is the outcome of one comparison of the contract's state with the database.
type ReconcileReport struct {
	FinishedAt string   `json:"finishedAt"`
	Checked    int      `json:"checked"`
	Repaired   int      `json:"repaired"`
	Alarms     []string `json:"alarms"`
}

// ReconcileRequested is the answer to a request for a comparison, which happens later: see
// [ChainOverview].
type ReconcileRequested struct {
	OK bool `json:"ok"`
}

// FollowerStatus is what the process that follows the chain sees.
type FollowerStatus struct {
	Node         string       `json:"node"` // which of the nodes is followed, without secrets
	Lag          uint64       `json:"lag"`  // blocks between tip and head
	Reorgs       uint64       `json:"reorgs"`
	LastProgress *string      `json:"lastProgress"` // nil before the first
	Alarms       []ChainAlarm `json:"alarms"`
}

// ChainAlarm is something about the nodes that is out of order now. It ends by itself when it is in
// order again.
type ChainAlarm struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	Since  string `json:"since"`
	Count  uint64 `json:"count"`
}
