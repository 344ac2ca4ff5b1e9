package mission

import (
	"github.com/sortie-labs/sortie"
)

// Depth is how deep a mission's funding is in the chain.
type Depth string

// The depths, each including those before it.
const (
	DepthNone      Depth = "none"
	DepthSeen      Depth = "seen"      // in a block
	DepthConfirmed Depth = "confirmed" // deep enough for the review to begin
	DepthLocked    Depth = "locked"    // final
)

// Decision is the operator's decision about a mission. It is made once and is final, except that an
// approval lapses when the mission could not be published in time.
type Decision string

// The decisions.
const (
	DecisionNone     Decision = "none"
	DecisionApproved Decision = "approved"
	DecisionRejected Decision = "rejected"
)

// State is the state of a draft: its funding on chain and the operator's decision. The statuses of
// the API follow from it; see [State.View].
type State struct {
	Depth    Depth
	Decision Decision
	Refunded bool // the money went back to the creator
}

// Created is the state of a new draft.
func Created() State { return State{Depth: DepthNone, Decision: DecisionNone} }

// View holds the statuses that the API shows for a state.
type View struct {
	Funding    sortie.FundingStatus
	Review     sortie.ReviewStatus
	Published  bool
	NextAction sortie.NextAction
	List       sortie.ListStatus
}

// View returns the state's row in the protocol's table of states.
func (s State) View() View {
	switch {
	case s.Refunded:
		return View{sortie.FundingRefunded, sortie.ReviewRejected, false, sortie.ActionNone, sortie.ListRejected}
	case s.Decision == DecisionRejected && s.funded():
		return View{sortie.FundingFunded, sortie.ReviewRejected, false, sortie.ActionWaitForRefund, sortie.ListRejected}
	case s.Decision == DecisionRejected:
		return View{sortie.FundingPending, sortie.ReviewRejected, false, sortie.ActionNone, sortie.ListRejected}
	case s.Depth == DepthSeen:
		return View{sortie.FundingPending, sortie.ReviewDraft, false, sortie.ActionWaitForConfirmation, sortie.ListPendingFunding}
	case !s.funded():
		return View{sortie.FundingPending, sortie.ReviewDraft, false, sortie.ActionSendTransaction, sortie.ListPendingFunding}
	case s.Decision != DecisionApproved:
		return View{sortie.FundingFunded, sortie.ReviewInReview, false, sortie.ActionWaitForReview, sortie.ListFundedPendingReview}
	case s.Depth != DepthLocked:
		return View{sortie.FundingFunded, sortie.ReviewApproved, false, sortie.ActionWaitForPublication, sortie.ListApprovedPendingLock}
	default:
		return View{sortie.FundingFunded, sortie.ReviewApproved, true, sortie.ActionFetchDeliverables, sortie.ListPublished}
	}
}

func (s State) funded() bool { return s.Depth == DepthConfirmed || s.Depth == DepthLocked }

// QuoteLive reports whether the funding quote is renewed. Otherwise the last quote is kept.
func (s State) QuoteLive() bool { return !s.funded() && s.Decision != DecisionRejected }

// AwaitsPublication reports whether the mission is neither rejected nor published.
func (s State) AwaitsPublication() bool {
	return s.Decision != DecisionRejected && !s.View().Published
}

// Valid reports whether s is a state that events can lead to.
func (s State) Valid() bool {
	switch s.Depth {
	case DepthNone, DepthSeen, DepthConfirmed, DepthLocked:
	default:
		return false
	}
	switch s.Decision {
	case DecisionNone, DecisionApproved, DecisionRejected:
	default:
		return false
	}
	return !s.Refunded || s.funded() && s.Decision == DecisionRejected
}

// RefundDue reports whether the money must be returned to the creator and no transaction has done
// it: closed is whether the mission is closed on chain, which refunds it, at any depth.
func (s State) RefundDue(closed bool) bool {
	return s.Decision == DecisionRejected && s.funded() && !s.Refunded && !closed
}

// Event is an event that may change a state.
type Event string

// The events. Chain events report what the canonical chain contains now.
const (
	FundingSeen      Event = "funding_seen"
	FundingConfirmed Event = "funding_confirmed"
	FundingLocked    Event = "funding_locked"
	FundingReverted  Event = "funding_reverted" // a reorganization removed the funding
	Approved         Event = "approved"
	Rejected         Event = "rejected"
	Lapsed           Event = "lapsed" // the mission was not published while that was possible: see [PublishBy]
	RefundConfirmed  Event = "refund_confirmed"
	RefundReverted   Event = "refund_reverted" // a reorganization removed the refund
)

// Events lists every event.
func Events() []Event {
	return []Event{FundingSeen, FundingConfirmed, FundingLocked, FundingReverted, Approved, Rejected, Lapsed, RefundConfirmed, RefundReverted}
}

// Apply returns the state after an event.
//
// A chain event that reports what the state already contains changes nothing, and earlier events
// may be missing: the follower reads blocks again after a restart, and many at once after an
// outage. A second decision is refused, so that the second operator learns of the first one.
//
// The error is a [*sortie.Error] of code wrong_state, with details.event and the statuses. The
// state is then unchanged.
func Apply(s State, event Event) (State, error) {
	next, allowed := s.after(event)
	if allowed {
		return next, nil
	}
	view := s.View()
	return s, sortie.NewError(sortie.CodeWrongState,
		"The mission's review status is %s and its funding status %s: %s.", view.Review, view.Funding, s.advice(event)).
		Detail("event", event).Detail("reviewStatus", view.Review).Detail("fundingStatus", view.Funding)
}

// advice returns what to do about a refused event.
func (s State) advice(event Event) string {
	if (event == Approved || event == Rejected) && s.Decision == DecisionNone {
		return "it can be decided about when its funding is confirmed"
	}
	return "read its status again, it can no longer be " + string(event)
}

func (s State) after(event Event) (next State, allowed bool) {
	next = s
	switch event {
	case FundingSeen:
		if s.Depth == DepthNone {
			next.Depth = DepthSeen
		}
	case FundingConfirmed:
		if s.Depth != DepthLocked {
			next.Depth = DepthConfirmed
		}
	case FundingLocked:
		next.Depth = DepthLocked
	case FundingReverted:
		next.Depth, next.Refunded = DepthNone, false // without a funding there is no refund
	case Approved:
		next.Decision = DecisionApproved
		return next, s.Decision == DecisionNone && s.funded()
	case Rejected:
		next.Decision = DecisionRejected
		return next, s.Decision == DecisionNone
	case Lapsed: // also after an approval, until the mission is published
		next.Decision = DecisionRejected
		return next, s.AwaitsPublication()
	case RefundConfirmed:
		next.Refunded = true
		return next, s.Decision == DecisionRejected && s.funded()
	case RefundReverted:
		next.Refunded = false
	default:
		return s, false
	}
	return next, true
}

// Type returns the API's event type for an event that led to a state.
func (e Event) Type(after State) sortie.EventType {
	published := after.View().Published
	switch e {
	case FundingSeen:
		return sortie.EventFundingDetected
	case FundingConfirmed:
		return sortie.EventFundingConfirmed
	case FundingLocked:
		if published {
			return sortie.EventMissionPublished
		}
		return sortie.EventFundingLocked
	case FundingReverted:
		return sortie.EventFundingReverted
	case Approved:
		if published {
			return sortie.EventMissionPublished
		}
		return sortie.EventMissionApproved
	case Rejected, Lapsed:
		return sortie.EventMissionRejected
	case RefundConfirmed:
		return sortie.EventRefundConfirmed
	case RefundReverted:
		return sortie.EventRefundReverted
	}
	return ""
}

// BreaksFinality reports whether the event reverts a funding that was final. The state follows the
// chain, but finality can no longer be relied on: payouts must stop until an operator has checked.
func BreaksFinality(s State, event Event) bool {
	return s.Depth == DepthLocked && event == FundingReverted
}
