package sortie

import "encoding/json"

// EventType is the kind of an event. New types may be added: ignore those you do not know.
type EventType string

// The event types. Every change of a mission's state has exactly one event.
const (
	EventDraftCreated     EventType = "draft.created"
	EventFundingDetected  EventType = "funding.detected"  // in a block
	EventFundingConfirmed EventType = "funding.confirmed" // the review begins
	EventFundingLocked    EventType = "funding.locked"    // final; not sent if this publishes the mission
	EventFundingReverted  EventType = "funding.reverted"  // a reorganization of the chain took it back
	EventMissionApproved  EventType = "mission.approved"  // not sent if this publishes the mission
	EventMissionPublished EventType = "mission.published"
	EventMissionRejected  EventType = "mission.rejected"
	EventRefundConfirmed  EventType = "refund.confirmed"
	EventRefundReverted   EventType = "refund.reverted" // a reorganization of the chain took it back

	EventSubmissionAccepted EventType = "submission.accepted"
	EventSubmissionRevoked  EventType = "submission.revoked" // an acceptance was taken back before it was final
	EventPayoutSent         EventType = "payout.sent"        // a transaction that pays a submission was sent
	EventPayoutPaid         EventType = "payout.paid"        // a final block paid it
	EventPayoutDeferred     EventType = "payout.deferred"    // a final block made it a deferred credit: the token refused the transfer
	EventMissionEnded       EventType = "mission.ended"      // an operator ended it early, at the creator's request
	EventMissionCompleted   EventType = "mission.completed"  // the close is final
)

// Event is one change that concerns the wallet. Events are never changed.
type Event struct {
	ID        string          `json:"id"` // unique and stable
	Type      EventType       `json:"type"`
	CreatedAt string          `json:"createdAt"`
	DraftID   string          `json:"draftId"` // empty in a contributor's events
	MissionID string          `json:"missionId"`
	Data      json.RawMessage `json:"data"` // an object: the ids, and the facts of this type
}

// EventPage is one page of the wallet's events, oldest first.
type EventPage struct {
	OK      bool         `json:"ok"`
	Events  []Event      `json:"events"`
	Summary EventSummary `json:"summary"`
}

// EventSummary describes a page of events.
type EventSummary struct {
	ReturnedEvents int `json:"returnedEvents"`
	// NextCursor is the position after the last event of this page. Every page has one, also an
	// empty page: a client that asks again with it misses no event and gets none twice. A page with
	// fewer events than the limit is the newest.
	NextCursor  string `json:"nextCursor"`
	GeneratedAt string `json:"generatedAt"`
}
