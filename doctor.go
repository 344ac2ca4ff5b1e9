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
