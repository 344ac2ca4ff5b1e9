package sortie

import (
	"context"
	"iter"
	"net/http"
)

// Events returns one page of the wallet's events, oldest first. Call it again with the page's
// NextCursor, at any later time, to get the events after it.
func (c *Client) Events(ctx context.Context, query PageQuery) (EventPage, error) {
	var page EventPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply("/api/external/events")}, &page)
	return page, err
}

// AllEvents yields all events from the query's cursor to the newest.
func (c *Client) AllEvents(ctx context.Context, query PageQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			page, err := c.Events(ctx, query)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, event := range page.Events {
				if !yield(event, nil) {
					return
				}
			}
			if len(page.Events) == 0 {
				return
			}
			query.Cursor = page.Summary.NextCursor
		}
	}
}
