package sortie

import "encoding/json"

// EventType says what happened to a mission. New types may appear: a reader passes over those it
// does not know.
type EventType string

// The event types. Every change of a mission's state has exactly one event.
const (
	EventDraftCreated     EventType = "draft.created"
	EventFundingDetected  EventType = "funding.detected"  // in a block
	EventFundingConfirmed EventType = "funding.confirmed" // deep enough: the review begins
	EventFundingLocked    EventType = "funding.locked"    // final, and not published by it
	EventFundingReverted  EventType = "funding.reverted"  // a reorganization of the chain took it back
	EventMissionApproved  EventType = "mission.approved"  // and not published by it: the funding is not final yet
	EventMissionPublished EventType = "mission.published"
	EventMissionRejected  EventType = "mission.rejected"
	EventRefundConfirmed  EventType = "refund.confirmed"
	EventRefundReverted   EventType = "refund.reverted" // a reorganization of the chain took it back

	EventSubmissionAccepted EventType = "submission.accepted"
	EventSubmissionRevoked  EventType = "submission.revoked" // an acceptance was taken back before it was final
	EventPayoutSent         EventType = "payout.sent"        // a transaction that pays a submission was sent
	EventPayoutPaid         EventType = "payout.paid"        // a final block paid it
	EventPayoutDeferred     EventType = "payout.deferred"    // a final block made it a credit: the token refused the transfer
	EventMissionEnded       EventType = "mission.ended"      // an operator ended it early, at the creator's request
	EventMissionCompleted   EventType = "mission.completed"  // everything accepted is paid, and the rest of the money left the contract
)

// Event is something that happened to a mission of the wallet. Events are never changed or removed.
type Event struct {
	ID        string          `json:"id"` // the same in every answer, and nobody else's
	Type      EventType       `json:"type"`
	CreatedAt string          `json:"createdAt"`
	DraftID   string          `json:"draftId"` // empty in events about missions of other wallets, which pay this one
	MissionID string          `json:"missionId"`
	Data      json.RawMessage `json:"data"` // an object: the ids again, and the facts of this type
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
	// NextCursor is the position after the last event of this page. It is there on every page, the
	// last and an empty one included, because more will come: whoever keeps it and asks again later
	// misses nothing and sees nothing twice. A page with fewer events than the limit was the last
	// for now.
	NextCursor  string `json:"nextCursor"`
	GeneratedAt string `json:"generatedAt"`
}
