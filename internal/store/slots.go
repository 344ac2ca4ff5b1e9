package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sortie-labs/sortie"
)

// Slots are a published mission as contributors and deliverables see it: what it takes, and how much of that is taken.
type Slots struct {
	DraftID, MissionID           string
	Seq                          int64 // missions published later have greater ones
	Creator                      sortie.Address
	Target, PerContributor       int
	Reserved, Accepted, Finals   int // accepted includes those that are final
	MediaType                    sortie.MediaType
	Lat, Lng                     *int64 // millionths of a degree; nil: anywhere
	OpensAt, EndsAt, PublishedAt time.Time
	ClosedAt, CompletedAt        *time.Time
	Summary                      json.RawMessage // the mission as deliverables show it
}

// Left is how many submissions the mission still takes, whatever the time.
func (s Slots) Left() int { return s.Target - s.Accepted - s.Reserved }

// Open reports whether the mission takes submissions at a time.
func (s Slots) Open(now time.Time) bool {
	return s.Left() > 0 && s.ClosedAt == nil && s.CompletedAt == nil && !now.Before(s.OpensAt) && now.Before(s.EndsAt)
}

// OpenSlots are slots with the mission they are for.
type OpenSlots struct {
	Slots
	Mission json.RawMessage // normalized, as answers carry it
}

// NearSlots are slots with their distance from a point.
type NearSlots struct {
	OpenSlots
	Meters int64
}

// OpenFilter chooses a page of missions that take submissions, newest first.
type OpenFilter struct {
	MediaType sortie.MediaType // empty: any
	BeforeSeq int64            // 0: from the newest
	Limit     int
}

// NearFilter chooses a page of missions around a point that take submissions, nearest first, behind those at a distance with
// numbers up to AfterSeq.
type NearFilter struct {
	Lat, Lng    int64            // millionths of a degree
	MediaType   sortie.MediaType // empty: any
	AfterMeters int64
	AfterSeq    int64 // 0, with no meters: from the nearest
	Limit       int
}

// PublishSlots opens a mission to contributors. Of one that has slots already nothing changes.
func (tx *Tx) PublishSlots(slots Slots) error { return errUnwritten }

// CloseSlots notes that a mission was closed on the chain, or that it was not after all.
func (tx *Tx) CloseSlots(draftID string, closed bool) error { return errUnwritten }

// CompleteSlots notes that nothing will change about a mission's submissions any more, if that is so, and tells whether it was
// this call that noted it.
func (tx *Tx) CompleteSlots(draftID string) (completed bool, err error) { return false, errUnwritten }

// SlotsOf reads the slots of a draft's mission. Not published: [ErrNotFound].
func (db *DB) SlotsOf(ctx context.Context, draftID string) (Slots, error) {
	return Slots{}, errUnwritten
}

// SlotsOf is [DB.SlotsOf] inside the transaction.
func (tx *Tx) SlotsOf(draftID string) (Slots, error) { return Slots{}, errUnwritten }

// SlotsByMission reads the slots of a mission with what it is about. Not published: [ErrNotFound].
func (db *DB) SlotsByMission(ctx context.Context, missionID string) (OpenSlots, error) {
	return OpenSlots{}, errUnwritten
}

// SlotsByMission is [DB.SlotsByMission] inside the transaction.
func (tx *Tx) SlotsByMission(missionID string) (OpenSlots, error) { return OpenSlots{}, errUnwritten }

// OpenSlots reads a page of the missions that take submissions now.
func (db *DB) OpenSlots(ctx context.Context, filter OpenFilter) ([]OpenSlots, error) {
	return nil, errUnwritten
}

// SlotsNear reads a page of the missions within 100 km of a point that take submissions now.
func (db *DB) SlotsNear(ctx context.Context, filter NearFilter) ([]NearSlots, error) {
	return nil, errUnwritten
}

// SlotsToComplete reads up to limit drafts of missions that [Tx.CompleteSlots] would complete at a time.
func (db *DB) SlotsToComplete(ctx context.Context, at time.Time, limit int) (draftIDs []string, err error) {
	return nil, errUnwritten
}

// UnpublishedSlots reads up to limit drafts that are published and have no slots, from the time before there were any.
func (db *DB) UnpublishedSlots(ctx context.Context, limit int) ([]Draft, error) {
	return nil, errUnwritten
}
