package sortie

import "encoding/json"

// OpenMission is the public view of a published mission.
type OpenMission struct {
	MissionID         string          `json:"missionId"`
	NormalizedMission json.RawMessage `json:"normalizedMission"` // a [NormalizedMission]
	Reward            Reward          `json:"reward"`
	SlotsLeft         int             `json:"slotsLeft"`      // free now
	SlotsReserved     int             `json:"slotsReserved"`  // for files that are being uploaded or checked
	NextSlotAt        *string         `json:"nextSlotAt"`     // when a reserved slot may become free; nil while slots are left, or if unknown
	Open              bool            `json:"open"`           // takes submissions now; false if it is full, all reserved, ended, or not started
	DistanceMeters    *int64          `json:"distanceMeters"` // from the requested point to the middle of its area; nil without a point or an area
	PublishedAt       string          `json:"publishedAt"`
	StartsAt          string          `json:"startsAt"`
	EndsAt            string          `json:"endsAt"`
}

// OpenMissionDetail is the answer to a request for one mission.
type OpenMissionDetail struct {
	OK      bool        `json:"ok"`
	Mission OpenMission `json:"mission"`
}

// MissionFeed is one page of the missions with slots that are not accepted: nearest first if a
// point was given, otherwise newest first.
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
