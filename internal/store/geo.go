package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// NearSlots are slots with their distance from a point.
type NearSlots struct {
	OpenSlots
	Meters int64
}

// NearFilter selects a page of missions around a point that take submissions: nearest first, and at
// the same distance the oldest.
type NearFilter struct {
	Point       mission.MicroDegrees
	MediaType   sortie.MediaType // empty: any
	AfterMeters int64            // the last of the previous page, with its number; both 0: from the nearest
	AfterSeq    int64
	Limit       int
}

const (
	microDegree   = math.Pi / 180 / 1e6
	halfTurn      = 180_000_000 // in millionths of a degree
	quarterTurn   = 90_000_000
	bandHeight    = 100_000 // of a strip of latitude, in millionths of a degree: 11 km
	nearestRadius = 250.0   // meters
	farthest      = 100_000.0
	maxBands      = 20 // strips that a circle of the farthest radius touches
)

// latBand returns the strip of latitude that contains a point.
func latBand(lat int64) int64 {
	band := lat / bandHeight
	if lat%bandHeight < 0 {
		band--
	}
	return band
}

// SlotsNear reads a page of the missions within 100 km of a point that take submissions now.
//
// It searches circles of growing radius until it has a page, so that it reads few missions where
// there are many. Pages far from the point skip all nearer missions.
func (db *DB) SlotsNear(ctx context.Context, filter NearFilter) ([]NearSlots, error) {
	now := db.clock().UnixMicro()
	return read(ctx, db, func(r reader) ([]NearSlots, error) {
		nearest, err := r.nearest(filter, now)
		if err == nil {
			var found []NearSlots
			if found, err = r.withSlots(nearest); err == nil {
				return found, nil
			}
		}
		return nil, fmt.Errorf("read slots near a point: %w", err)
	})
}

// nearest finds the missions of the page.
func (r reader) nearest(filter NearFilter, now int64) ([]neighbor, error) {
	radius := max(nearestRadius, 2*float64(filter.AfterMeters))
	for {
		radius = min(radius, farthest)
		page := nearestPage{limit: filter.Limit, after: neighbor{filter.AfterMeters, filter.AfterSeq}, radius: int64(radius)}
		area := around(filter.Point, radius)
		for _, span := range area.spans {
			args := append(make([]any, 0, 4+maxBands), span[0], span[1], now, string(filter.MediaType))
			for i := range maxBands {
				args = append(args, min(area.firstBand+int64(i), area.lastBand))
			}
			err := r.each(selectNear, args, func(row scanner) error {
				var seq, lat, lng int64
				err := row.Scan(&seq, &lat, &lng)
				page.add(neighbor{metersBetween(filter.Point, mission.MicroDegrees{Lat: lat, Lng: lng}), seq})
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if len(page.neighbors) == page.limit || radius == farthest {
			return page.neighbors, nil
		}
		radius *= 4
	}
}

// withSlots reads the slots of neighbors. It leaves out those that were filled or closed in the
// meantime.
func (r reader) withSlots(neighbors []neighbor) ([]NearSlots, error) {
	bySeq := make(map[int64]OpenSlots, len(neighbors))
	numbers := make([]int64, len(neighbors))
	for i, n := range neighbors {
		numbers[i] = n.seq
	}
	err := lookups(numbers, func(args []any) error {
		found, err := r.openSlots(0, selectSlotsBySeq, args...)
		for _, slots := range found {
			bySeq[slots.Seq] = slots
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	near := make([]NearSlots, 0, len(neighbors))
	for _, n := range neighbors {
		if slots, found := bySeq[n.seq]; found {
			near = append(near, NearSlots{OpenSlots: slots, Meters: n.meters})
		}
	}
	return near, nil
}

// neighbor is a mission at a distance.
type neighbor struct{ meters, seq int64 }

func (n neighbor) compare(other neighbor) int {
	return cmp.Or(cmp.Compare(n.meters, other.meters), cmp.Compare(n.seq, other.seq))
}

// nearestPage keeps the nearest of any number of neighbors, in order.
type nearestPage struct {
	limit     int
	after     neighbor
	radius    int64 // meters; beyond it the search is not complete
	neighbors []neighbor
}

func (p *nearestPage) add(n neighbor) {
	if n.meters > p.radius || n.compare(p.after) <= 0 || p.limit <= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(p.neighbors, n, neighbor.compare)
	if at == p.limit {
		return
	}
	if len(p.neighbors) == p.limit {
		p.neighbors = p.neighbors[:p.limit-1]
	}
	p.neighbors = slices.Insert(p.neighbors, at, n)
}

// surroundings are the strips of latitude, and the spans of longitude in them, that a circle
// touches.
type surroundings struct {
	firstBand, lastBand int64
	spans               [][2]int64 // of longitude; two where the circle crosses the 180th meridian
}

func around(point mission.MicroDegrees, meters float64) surroundings {
	// Slightly larger than the circle: distances are rounded to meters, and coordinates to a tenth
	// of one.
	angle := (meters + 2) / mission.EarthRadius
	reach := int64(angle/microDegree) + 1
	south, north := point.Lat-reach, point.Lat+reach
	s := surroundings{firstBand: latBand(max(south, -quarterTurn)), lastBand: latBand(min(north, quarterTurn))}
	width := math.Sin(angle) / math.Cos(float64(point.Lat)*microDegree)
	if south <= -quarterTurn || north >= quarterTurn || width >= 1 {
		s.spans = [][2]int64{{-halfTurn, halfTurn}} // it contains a pole
		return s
	}
	reach = int64(math.Asin(width)/microDegree) + 1
	west, east := point.Lng-reach, point.Lng+reach
	switch {
	case west <= -halfTurn: // that meridian is both -180 and 180 degrees
		s.spans = [][2]int64{{-halfTurn, east}, {west + 2*halfTurn, halfTurn}}
	case east >= halfTurn:
		s.spans = [][2]int64{{west, halfTurn}, {-halfTurn, east - 2*halfTurn}}
	default:
		s.spans = [][2]int64{{west, east}}
	}
	return s
}

// metersBetween returns the distance of two points in whole meters.
func metersBetween(a, b mission.MicroDegrees) int64 {
	return int64(math.Round(mission.Distance(a, b)))
}

var (
	selectNear = preparedRead(`SELECT seq, lat, lng FROM mission_slots
WHERE listed AND lat_band IN (` + placeholders(5, maxBands) + `) AND lng >= $1 AND lng <= $2
	AND opens_at <= $3 AND ends_at > $3 AND ($4 = '' OR media_type = $4)`)
	selectSlotsBySeq = preparedRead(selectSlotsAndMission + `WHERE listed AND mission_slots.seq IN (` + placeholders(1, lookupSize) + `)`)
)
