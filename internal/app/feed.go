package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// Point is a place on the earth in millionths of a degree.
type Point struct{ Lat, Lng int64 }

// FeedQuery selects a page of the missions that take submissions: nearest first with a point, otherwise newest first.
type FeedQuery struct {
	Near      *Point
	MediaType sortie.MediaType // empty: any
	Page
}

// Feed gives a page of the missions that take submissions.
func (a *App) Feed(ctx context.Context, query FeedQuery) (sortie.MissionFeed, error) {
	return sortie.MissionFeed{}, errNotBuilt
}

// OpenMission gives a published mission as everybody sees it.
func (a *App) OpenMission(ctx context.Context, missionID string) (sortie.OpenMissionDetail, error) {
	return sortie.OpenMissionDetail{}, errNotBuilt
}
