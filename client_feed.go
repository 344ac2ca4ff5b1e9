package sortie

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// FeedQuery selects missions that take submissions. Its zero value selects all, newest first.
type FeedQuery struct {
	Near      *Point // missions within 100 km, nearest first, then those without an area
	MediaType MediaType
	Limit     int    // 0: the service's default
	Cursor    string // the NextCursor of the page before
}

// Feed returns one page of the published missions that take submissions. It needs no wallet.
//
// It fails with invalid_parameter for an invalid point.
func (c *Client) Feed(ctx context.Context, query FeedQuery) (MissionFeed, error) {
	near := ""
	if query.Near != nil {
		near = query.Near.Lat.String() + "," + query.Near.Lng.String()
	}
	page := PageQuery{Limit: query.Limit, Cursor: query.Cursor}
	var feed MissionFeed
	err := c.send(ctx, call{
		method: http.MethodGet, path: page.apply("/api/missions", "near", near, "mediaType", string(query.MediaType)), public: true,
	}, &feed)
	return feed, err
}

// AllFeed yields the missions of every page.
func (c *Client) AllFeed(ctx context.Context, query FeedQuery) iter.Seq2[OpenMission, error] {
	return walk(query.Cursor, func(cursor string) ([]OpenMission, *string, error) {
		query.Cursor = cursor
		page, err := c.Feed(ctx, query)
		return page.Missions, page.Summary.NextCursor, err
	})
}

// OpenMission returns the public view of a published mission, also when it takes no more
// submissions. It needs no wallet.
//
// It fails with not_found.
func (c *Client) OpenMission(ctx context.Context, missionID string) (OpenMission, error) {
	var detail OpenMissionDetail
	err := c.send(ctx, call{method: http.MethodGet, path: openMissionPath(missionID), public: true}, &detail)
	return detail.Mission, err
}

func openMissionPath(id string) string { return "/api/missions/" + url.PathEscape(id) }
