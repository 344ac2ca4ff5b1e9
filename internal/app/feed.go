package app

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// MicroDegrees is a point on the earth in millionths of a degree.
type MicroDegrees = mission.MicroDegrees

// FeedQuery selects a page of the missions that take submissions: nearest first with a point,
// otherwise newest first.
type FeedQuery struct {
	Near      *MicroDegrees
	MediaType sortie.MediaType // empty: any
	Page
}

// Feed returns a page of the missions that are open and not full of accepted submissions: all of
// them, or those within 100 km of a point followed by those that can be done anywhere. A mission
// whose slots are all reserved is listed and marked.
//
// It fails with invalid_cursor for a cursor of another list.
func (a *App) Feed(ctx context.Context, query FeedQuery) (sortie.MissionFeed, error) {
	if query.Near != nil {
		return a.feedNear(ctx, query)
	}
	list := "feed\n" + string(query.MediaType)
	before, err := a.cursors.open(list, query.Cursor)
	if err != nil {
		return sortie.MissionFeed{}, err
	}
	limit := query.limit()
	// One row more than the limit shows whether there is another page; here and below.
	open, err := a.store.OpenSlots(ctx, store.OpenFilter{MediaType: query.MediaType, BeforeSeq: before, Limit: limit + 1, MaxBytes: maxPageBytes})
	if err != nil {
		return sortie.MissionFeed{}, storeError(err)
	}
	feed := a.newFeed()
	err = feed.addOpen(a, open, limit, func(before int64) string { return a.cursors.seal(list, before) })
	return feed.MissionFeed, err
}

func (a *App) feedNear(ctx context.Context, query FeedQuery) (sortie.MissionFeed, error) {
	list := fmt.Sprintf("near\n%s\n%d\n%d", query.MediaType, query.Near.Lat, query.Near.Lng)
	position, err := a.cursors.open(list, query.Cursor)
	if err != nil {
		return sortie.MissionFeed{}, err
	}
	if position < 0 {
		return a.feedAnywhere(ctx, query, list, a.newFeed(), -position)
	}
	limit := query.limit()
	filter := store.NearFilter{Point: *query.Near, MediaType: query.MediaType, Limit: limit + 1}
	filter.AfterMeters, filter.AfterSeq = fromNearPosition(position)
	near, err := a.store.SlotsNear(ctx, filter)
	if err != nil {
		return sortie.MissionFeed{}, storeError(err)
	}
	feed := a.newFeed()
	for i, slots := range near {
		if i == limit || !feed.hasRoom(slots.OpenSlots) {
			feed.next(a.cursors.seal(list, nearPosition(near[i-1])))
			return feed.MissionFeed, nil
		}
		if err := feed.add(a, slots.OpenSlots, &slots.Meters); err != nil {
			return sortie.MissionFeed{}, err
		}
	}
	return a.feedAnywhere(ctx, query, list, feed, 0)
}

// feedAnywhere fills a page with the missions that can be done anywhere, newest first, from a
// mission number down. In a list by distance they follow the missions near the point and have
// positions below zero.
func (a *App) feedAnywhere(ctx context.Context, query FeedQuery, list string, feed *feed, before int64) (sortie.MissionFeed, error) {
	room := query.limit() - len(feed.Missions)
	open, err := a.store.OpenSlots(ctx, store.OpenFilter{MediaType: query.MediaType, Anywhere: true, BeforeSeq: before, Limit: room + 1, MaxBytes: maxPageBytes})
	if err != nil {
		return sortie.MissionFeed{}, storeError(err)
	}
	err = feed.addOpen(a, open, room, func(before int64) string { return a.cursors.seal(list, -before) })
	return feed.MissionFeed, err
}

// A position in a list by distance is the distance, which is at most 100 km, and the number of the
// mission among those at it.
const nearSeqBits = 44

func nearPosition(slots store.NearSlots) int64 { return slots.Meters<<nearSeqBits | slots.Seq }

func fromNearPosition(position int64) (meters, seq int64) {
	return position >> nearSeqBits, position & (1<<nearSeqBits - 1)
}

// feed is a page of the feed under construction.
type feed struct {
	sortie.MissionFeed
	bytes pageBytes
}

// hasRoom reports whether the page has room for another mission, and takes it.
func (f *feed) hasRoom(slots store.OpenSlots) bool { return f.bytes.add(len(slots.Mission)) }

func (a *App) newFeed() *feed {
	return &feed{MissionFeed: sortie.MissionFeed{OK: true, Missions: []sortie.OpenMission{}, Summary: sortie.FeedSummary{GeneratedAt: sortie.FormatTime(a.now())}}}
}

func (f *feed) add(a *App, slots store.OpenSlots, meters *int64) error {
	open, err := a.openMission(slots)
	if err != nil {
		return err
	}
	open.DistanceMeters = meters
	f.Missions = append(f.Missions, open)
	f.Summary.ReturnedMissions++
	return nil
}

// addOpen adds missions without a distance, as many as there is room for, and a cursor when there
// are more.
func (f *feed) addOpen(a *App, open []store.OpenSlots, room int, cursor func(before int64) string) error {
	before := int64(math.MaxInt64)
	for i, slots := range open {
		if i == room || !f.hasRoom(slots) {
			f.next(cursor(before))
			break
		}
		if err := f.add(a, slots, nil); err != nil {
			return err
		}
		before = slots.Seq
	}
	return nil
}

func (f *feed) next(cursor string) { f.Summary.NextCursor = &cursor }

// OpenMission returns a published mission as the public sees it, also when it is full or has ended.
//
// It fails with not_found.
func (a *App) OpenMission(ctx context.Context, missionID string) (sortie.OpenMissionDetail, error) {
	slots, err := a.publishedSlots(ctx, missionID)
	if err != nil {
		return sortie.OpenMissionDetail{}, err
	}
	open, err := a.openMission(slots)
	if err != nil {
		return sortie.OpenMissionDetail{}, err
	}
	return sortie.OpenMissionDetail{OK: true, Mission: open}, nil
}

func (a *App) openMission(slots store.OpenSlots) (sortie.OpenMission, error) {
	var summary sortie.DeliverablesMission
	if err := json.Unmarshal(slots.Summary, &summary); err != nil {
		return sortie.OpenMission{}, fmt.Errorf("read the summary of mission %s: %w", slots.MissionID, err)
	}
	open := sortie.OpenMission{
		MissionID: slots.MissionID, NormalizedMission: slots.Mission, Reward: summary.Reward, SlotsLeft: slots.Left(), SlotsReserved: slots.Reserved,
		Open: slots.Open(a.now()), PublishedAt: sortie.FormatTime(slots.PublishedAt), StartsAt: sortie.FormatTime(slots.OpensAt), EndsAt: sortie.FormatTime(slots.EndsAt),
	}
	if slots.FreeAt != nil {
		next := sortie.FormatTime(freeAt(*slots.FreeAt))
		open.NextSlotAt = &next
	}
	return open, nil
}
