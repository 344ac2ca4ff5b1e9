// Package onchain holds the nouns of the chain: blocks, events of the contracts, fundings, and how
// far the chain was followed. It has no behaviour and does no I/O.
package onchain

import (
	"errors"
	"time"

	"github.com/sortie-labs/sortie"
)

// Errors of a ledger.
var (
	// ErrNotFound says that the ledger has no such row.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the row changed since it was read.
	ErrConflict = errors.New("changed concurrently: read it again")
)

const (
	// DefaultConfirmations is how many blocks, its own included, a funding needs before it is
	// reviewed.
	DefaultConfirmations = 2
	// KeptBlocks is how many final blocks are stored, to find the common ancestor if finality
	// breaks.
	KeptBlocks = 1024
)

// Block is a block of a chain.
type Block struct {
	Number uint64
	Hash   sortie.Hash
	Time   time.Time
}

// Position is how far a chain was followed.
type Position struct {
	ChainID uint64
	Start   uint64 // the block after which following began
	Tip     Block  // the newest block whose events are applied
	Head    uint64 // the newest block that the node had
	Final   uint64 // the newest block that was final
	Version int64  // grows with every move
}

// Advance is one move of a position: everything above After is removed, then Blocks and Events are
// added. The new tip is the last of Blocks, or After if there are none.
type Advance struct {
	ChainID     uint64
	Was         Position // the position before
	After       Block    // Was.Tip, or below it after a reorganization
	Blocks      []Block
	Events      []Event
	Head, Final uint64
}

// Place is a place in the order of the chain: a block, and a number that orders what is in it.
type Place struct{ Block, Index uint64 }

// Incident kinds that more than one package needs. None of them halts the service.
const (
	// IncidentFollowerStuck is a chain that advances and cannot be followed. It is resolved when
	// following works again.
	IncidentFollowerStuck = "follower_stuck"
	// IncidentEventsSetAside is a block that was followed without a part of its events.
	IncidentEventsSetAside = "events_set_aside"
)
