package sortie

// Health says in one word how a mission is.
type Health string

// The healths.
const (
	HealthReady    Health = "ready"    // published: nothing holds it up
	HealthWaiting  Health = "waiting"  // on its way; somebody's turn has come
	HealthBlocked  Health = "blocked"  // it will not go on by itself
	HealthRejected Health = "rejected" // it will never be published
)

// Party is who must act for a mission to go on.
type Party string

// The parties.
const (
	PartyCreator      Party = "creator"
	PartyChain        Party = "chain" // blocks must be added; nobody can hurry them
	PartyOperator     Party = "operator"
	PartyContributors Party = "contributors"
	PartyNone         Party = "none"
)

// BlockerCode is a stable name of what holds a mission up. New ones may appear.
type BlockerCode string

// The blocker codes.
const (
	BlockerFundingMissing     BlockerCode = "funding_missing"     // no funding is on the chain
	BlockerFundingUnconfirmed BlockerCode = "funding_unconfirmed" // in a block, not deep enough for the review
	BlockerReviewPending      BlockerCode = "review_pending"      // the operator has not decided
	BlockerFundingNotFinal    BlockerCode = "funding_not_final"   // approved; the funding's block is not final
	BlockerMissionRejected    BlockerCode = "mission_rejected"    // the operator said no
	BlockerRefundPending      BlockerCode = "refund_pending"      // the money is on its way back
	BlockerRefundDeferred     BlockerCode = "refund_deferred"     // the token refused the refund: it waits in the contract
	BlockerMissionEnded       BlockerCode = "mission_ended"       // its time is over
	BlockerReclaimTooClose    BlockerCode = "reclaim_too_close"   // the money can be reclaimed before everything would be paid
	BlockerMissionClosed      BlockerCode = "mission_closed"      // its money left the contract
	BlockerServiceHalted      BlockerCode = "service_halted"      // an incident stops publication and payouts
	BlockerChainBehind        BlockerCode = "chain_behind"        // the service has not seen the newest blocks
	BlockerPayoutsHalted      BlockerCode = "payouts_halted"      // an operator halted payouts
	BlockerPayoutsOnTheWay    BlockerCode = "payouts_on_the_way"  // what is accepted is not paid for good yet
	BlockerPayoutsDeferred    BlockerCode = "payouts_deferred"    // recipients could not receive; the contract holds it for them
	BlockerPayoutsFailed      BlockerCode = "payouts_failed"      // set aside until an operator lets them be tried again
	BlockerUndecided          BlockerCode = "undecided"           // submissions that are in are not decided
	BlockerClosing            BlockerCode = "closing"             // everything is paid; the rest of the money is on its way back
)

// Blocker is one thing that holds a mission up.
type Blocker struct {
	Code    BlockerCode `json:"code"`
	Message string      `json:"message"` // for people: what, whose turn it is, until when
}

// Doctor says what holds a mission up, who must act, and until when.
type Doctor struct {
	OK        bool         `json:"ok"`
	Health    Health       `json:"health"`
	Summary   string       `json:"summary"`
	WaitingOn Party        `json:"waitingOn"`
	Blockers  []Blocker    `json:"blockers"` // the most important first
	Actions   []string     `json:"actions"`  // what the creator can do, in order
	Funding   FundingDepth `json:"funding"`
	// Money is where the money is; nil until the mission is published.
	Money *MissionMoney `json:"money"`
}

// FundingDepth says where in the chain a mission's funding is.
type FundingDepth struct {
	Seen            bool    `json:"seen"`
	TransactionHash *Hash   `json:"transactionHash"` // nil until seen
	BlockNumber     *uint64 `json:"blockNumber"`     // nil until seen
	Confirmations   uint64  `json:"confirmations"`   // blocks on top of it, its own included; 0 until seen
	Required        uint64  `json:"required"`        // confirmations at which the review begins
	Locked          bool    `json:"locked"`          // final: publication needs it
}

// FundingCheck is the answer to confirm-funding: what the service knew when it was asked to look.
// The look itself comes after the answer; ask for the status again.
type FundingCheck struct {
	OK            bool          `json:"ok"`
	DraftID       string        `json:"draftId"`
	MissionID     string        `json:"missionId"`
	FundingStatus FundingStatus `json:"fundingStatus"`
	NextAction    NextAction    `json:"nextAction"`
	Funding       FundingDepth  `json:"funding"`
}
