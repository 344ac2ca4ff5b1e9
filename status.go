package sortie

import "slices"

// Token is a reward token by the name the API uses.
type Token string

// The reward tokens a mission can pay in.
const (
	TokenService Token = "SERVICE_TOKEN"
	TokenUSDC    Token = "USDC"
)

// Tokens lists every reward token.
func Tokens() []Token { return []Token{TokenService, TokenUSDC} }

// Valid reports whether t is a reward token, spelled exactly.
func (t Token) Valid() bool { return slices.Contains(Tokens(), t) }

// FundingStatus is the state of a mission's funding.
type FundingStatus string

// The funding statuses.
const (
	FundingPending  FundingStatus = "pending_funding" // not on chain, or not confirmed yet
	FundingFunded   FundingStatus = "funded"
	FundingRefunded FundingStatus = "refunded"
)

// ReviewStatus is the state of a mission's review.
type ReviewStatus string

// The review statuses.
const (
	ReviewDraft    ReviewStatus = "draft" // not up for review: unfunded
	ReviewInReview ReviewStatus = "in_review"
	ReviewApproved ReviewStatus = "approved"
	ReviewRejected ReviewStatus = "rejected"
)

// NextAction is what a creator's client must do or wait for.
type NextAction string

// The next actions.
const (
	ActionSendTransaction     NextAction = "send_create_funded_mission_transaction"
	ActionWaitForConfirmation NextAction = "wait_for_funding_confirmation"
	ActionWaitForReview       NextAction = "wait_for_review"
	ActionWaitForPublication  NextAction = "wait_for_publication"
	ActionFetchDeliverables   NextAction = "fetch_deliverables"
	ActionWaitForRefund       NextAction = "wait_for_refund"
	ActionNone                NextAction = "none"
)

// ListStatus is a filter of the draft list. Every draft has exactly one at any time.
type ListStatus string

// The list statuses.
const (
	ListPendingFunding      ListStatus = "pending_funding"
	ListFundedPendingReview ListStatus = "funded_pending_review"
	ListApprovedPendingLock ListStatus = "approved_pending_lock"
	ListPublished           ListStatus = "published"
	ListRejected            ListStatus = "rejected"
)

// ListStatuses lists every list status.
func ListStatuses() []ListStatus {
	return []ListStatus{ListPendingFunding, ListFundedPendingReview, ListApprovedPendingLock, ListPublished, ListRejected}
}

// Valid reports whether s is a list status, spelled exactly.
func (s ListStatus) Valid() bool { return slices.Contains(ListStatuses(), s) }

// VerificationStatus is the outcome of a submission.
type VerificationStatus string

// The verification statuses.
const (
	VerificationPending          VerificationStatus = "pending"
	VerificationFlagged          VerificationStatus = "flagged" // waits for an operator
	VerificationAccepted         VerificationStatus = "accepted"
	VerificationCurationAccepted VerificationStatus = "curation_accepted"
	VerificationRejected         VerificationStatus = "rejected"
	VerificationWithdrawn        VerificationStatus = "withdrawn"
)

// Deliverable reports whether a creator may see submissions in this status.
func (s VerificationStatus) Deliverable() bool {
	return s == VerificationAccepted || s == VerificationCurationAccepted
}
