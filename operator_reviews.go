package sortie

import "encoding/json"

// Decision is the decision about a mission. It cannot be changed.
type Decision struct {
	ReviewStatus ReviewStatus `json:"reviewStatus"` // approved or rejected
	DecidedBy    string       `json:"decidedBy"`    // an operator's address; auto, reclaim or chain if the service decided
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
	Warnings          []string        `json:"warnings"`          // allowed, but probably a mistake
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
