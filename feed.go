package sortie

import "encoding/json"

// OpenMission is a published mission as everyone sees it.
type OpenMission struct {
	MissionID         string          `json:"missionId"`
	NormalizedMission json.RawMessage `json:"normalizedMission"` // a [NormalizedMission]
	Reward            Reward          `json:"reward"`
	SlotsLeft         int             `json:"slotsLeft"`      // free now
	SlotsReserved     int             `json:"slotsReserved"`  // for files that are on their way or not decided about
	NextSlotAt        *string         `json:"nextSlotAt"`     // when a reserved slot may be free; nil while slots are left, and when that is unknown
	Open              bool            `json:"open"`           // takes submissions now; false for a mission that is full, all reserved, over, or not begun
	DistanceMeters    *int64          `json:"distanceMeters"` // from the asked-for point to the middle of its area; nil without either
	PublishedAt       string          `json:"publishedAt"`
	StartsAt          string          `json:"startsAt"`
	EndsAt            string          `json:"endsAt"`
}

// OpenMissionDetail is the answer to a request for one mission.
type OpenMissionDetail struct {
	OK      bool        `json:"ok"`
	Mission OpenMission `json:"mission"`
}

// MissionFeed is one page of the missions that are not full of accepted submissions: nearest first
// where a point was asked for, otherwise newest first.
type MissionFeed struct {
	OK       bool          `json:"ok"`
	Missions []OpenMission `json:"missions"`
	Summary  FeedSummary   `json:"summary"`
}

// FeedSummary describes a page of the feed.
type FeedSummary struct {
	ReturnedMissions int     `json:"returnedMissions"`
	NextCursor       *string `json:"nextCursor"` // nil on the last page
	GeneratedAt      string  `json:"generatedAt"`
}

// Point is a place on the earth, in degrees.
type Point struct {
	Lat, Lng json.Number
}
