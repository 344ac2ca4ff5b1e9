package sortie

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// Doctor says what holds a mission up, who must act, and until when.
//
// It fails with not_found for an id that is not of this wallet.
func (c *Client) Doctor(ctx context.Context, id string) (Doctor, error) {
	var doctor Doctor
	err := c.send(ctx, call{method: http.MethodGet, path: missionPath(id) + "/doctor"}, &doctor)
	return doctor, err
}

// ConfirmFunding asks the service to look at the chain now instead of at its next turn, for
// instance after a funding transaction was mined. The transaction's hash is a hint and may be zero:
// funding is found by the contract's event.
//
// It fails with not_found for an id that is not of this wallet.
func (c *Client) ConfirmFunding(ctx context.Context, id string, transaction Hash) (FundingCheck, error) {
	request := call{method: http.MethodPost, path: missionPath(id) + "/confirm-funding"}
	if transaction != (Hash{}) {
		request.body = []byte(`{"transactionHash":"` + transaction.String() + `"}`)
	}
	var check FundingCheck
	err := c.send(ctx, request, &check)
	return check, err
}

// PageQuery selects a page of a list that has no filters. Its zero value selects the first.
type PageQuery struct {
	Limit  int    // 0: as many as the service gives at once
	Cursor string // the NextCursor of the page before
}

// apply adds the page to a path, and filters as pairs of name and value; empty ones are left out.
func (q PageQuery) apply(path string, filters ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(filters); i += 2 {
		if filters[i+1] != "" {
			values.Set(filters[i], filters[i+1])
		}
	}
	if q.Limit != 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		values.Set("cursor", q.Cursor)
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// Events gives one page of what happened to the wallet's missions, oldest first. Keep the page's
// NextCursor and ask with it again, now or next week: nothing is missed and nothing comes twice.
func (c *Client) Events(ctx context.Context, query PageQuery) (EventPage, error) {
	var page EventPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply("/api/external/events")}, &page)
	return page, err
}

// AllEvents walks through the events there are, from the query's cursor to the newest.
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

func missionPath(id string) string { return "/api/external/missions/" + url.PathEscape(id) }

// encodeReason is the body of a request that says why.
func encodeReason(reason string) ([]byte, error) {
	body, err := json.Marshal(DecisionRequest{Reason: reason})
	if err != nil {
		return nil, fmt.Errorf("encode reason: %w", err)
	}
	return body, nil
}
