package onchain

import (
	"math/big"

	"github.com/sortie-labs/sortie"
)

// EventKind is what a contract reported.
type EventKind string

// The kinds of event.
const (
	EventMissionFunded  EventKind = "mission_funded"
	EventSubmissionPaid EventKind = "submission_paid"
	EventPayoutDeferred EventKind = "payout_deferred"
	EventMissionClosed  EventKind = "mission_closed"
)

// Event is something that a contract reported on the canonical chain. It has exactly the one part
// of its kind; a payment is paid or deferred.
type Event struct {
	Block       uint64
	BlockHash   sortie.Hash
	LogIndex    uint64
	Transaction sortie.Hash
	Factory     sortie.Address
	Kind        EventKind
	MissionKey  sortie.Hash // zero where the event has none

	Funded  *MissionFunded
	Closed  *MissionClosed
	Payment *Payment
}

// MissionFunded is the funding of a mission.
type MissionFunded struct {
	MissionID      string
	Creator, Token sortie.Address
	Reward         *big.Int
	TargetCount    *big.Int
	Nonce          sortie.Hash
	ReclaimAfter   uint64 // Unix seconds
}

// MissionClosed is the end of a mission on chain.
type MissionClosed struct {
	Refund         *big.Int
	RefundDeferred bool  // the token refused the transfer: the creator claims it
	Reason         uint8 // 1: closed by the service, 2: reclaimed by its creator
}

// Payment is a reward, paid or deferred.
type Payment struct {
	SubmissionKey sortie.Hash
	Recipient     sortie.Address
	Slot          uint64
	Amount        *big.Int
}
