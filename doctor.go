package sortie

// Health is the state of a mission in one word.
type Health string

// The healths.
const (
	HealthReady    Health = "ready"    // published: it waits for nothing
	HealthWaiting  Health = "waiting"  // in progress: a party must act
	HealthBlocked  Health = "blocked"  // it does not continue by itself
	HealthRejected Health = "rejected" // it will never be published
)

// Party is who must act next.
type Party string

// The parties.
const (
	PartyCreator      Party = "creator"
	PartyChain        Party = "chain" // blocks must be added
	PartyOperator     Party = "operator"
	PartyContributors Party = "contributors"
	PartyNone         Party = "none"
)

// BlockerCode is a stable name of what a mission waits for. New codes may be added.
type BlockerCode string

// The blocker codes.
const (
	BlockerFundingMissing     BlockerCode = "funding_missing"     // no funding is on the chain
	BlockerFundingUnconfirmed BlockerCode = "funding_unconfirmed" // in a block, not deep enough for the review
	BlockerReviewPending      BlockerCode = "review_pending"      // the operator has not decided
	BlockerFundingNotFinal    BlockerCode = "funding_not_final"   // approved; the funding's block is not final
	BlockerMissionRejected    BlockerCode = "mission_rejected"    // an operator rejected it
	BlockerRefundPending      BlockerCode = "refund_pending"      // the refund is not final
	BlockerRefundDeferred     BlockerCode = "refund_deferred"     // the token refused the refund: it is a deferred credit
	BlockerMissionEnded       BlockerCode = "mission_ended"       // the end of the mission has passed
	BlockerReclaimTooClose    BlockerCode = "reclaim_too_close"   // the money can be reclaimed before everything would be paid
	BlockerMissionClosed      BlockerCode = "mission_closed"      // it is closed in the contract
	BlockerServiceHalted      BlockerCode = "service_halted"      // an incident stops publication and payouts
	BlockerChainBehind        BlockerCode = "chain_behind"        // the service has not seen the newest blocks
	BlockerPayoutsHalted      BlockerCode = "payouts_halted"      // an operator halted payouts
	BlockerPayoutsOnTheWay    BlockerCode = "payouts_on_the_way"  // payouts are not final yet
	BlockerPayoutsDeferred    BlockerCode = "payouts_deferred"    // the token refused transfers: the contract keeps deferred credits
	BlockerPayoutsFailed      BlockerCode = "payouts_failed"      // set aside until an operator retries them
	BlockerUndecided          BlockerCode = "undecided"           // submissions wait for a decision
	BlockerClosing            BlockerCode = "closing"             // everything is paid; the close is not final
)

// Blocker is one thing that a mission waits for.
type Blocker struct {
	Code    BlockerCode `json:"code"`
	Message string      `json:"message"` // for people: what, who must act, until when
}

// Doctor is what a mission waits for, who must act, and until when.
type Doctor struct {
	OK        bool         `json:"ok"`
	Health    Health       `json:"health"`
	Summary   string       `json:"summary"`
	WaitingOn Party        `json:"waitingOn"`
	Blockers  []Blocker    `json:"blockers"` // the most important first
	Actions   []string     `json:"actions"`  // what the creator can do, in order
	Funding   FundingDepth `json:"funding"`
	// Money is the state of the mission's money; nil until it is published.
	Money *MissionMoney `json:"money"`
}

// MissionMoney is the state of a published mission's money, in base units. Funded is the sum of
// Spent, Committed, Left and Refunded.
type MissionMoney struct {
	Token     Token  `json:"token"`
	Decimals  int    `json:"decimals"`
	Funded    string `json:"funded"`
	Spent     string `json:"spent"`     // paid or deferred in final blocks
	Committed string `json:"committed"` // accepted and not paid yet
	Left      string `json:"left"`      // for further acceptances, or a refund
	Refunded  string `json:"refunded"`
}
