package sortie

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// The requests below are for operators: wallets on the service's list. For any other they fail with
// wallet_not_allowed.

// Reviews gives one page of the missions that wait for a decision, the one that waits longest
// first.
func (c *Client) Reviews(ctx context.Context, query PageQuery) (ReviewPage, error) {
	var page ReviewPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply("/api/operator/reviews")}, &page)
	return page, err
}

// AllReviews walks through every page.
func (c *Client) AllReviews(ctx context.Context, query PageQuery) iter.Seq2[Review, error] {
	return walk(query.Cursor, func(cursor string) ([]Review, *string, error) {
		query.Cursor = cursor
		page, err := c.Reviews(ctx, query)
		return page.Reviews, page.Summary.NextCursor, err
	})
}

// Review gives a mission of any creator, in review or not, by its draft id or mission id.
//
// It fails with not_found.
func (c *Client) Review(ctx context.Context, id string) (Review, error) {
	return c.review(ctx, call{method: http.MethodGet, path: "/api/operator/reviews/" + url.PathEscape(id)})
}

// Approve lets a funded mission be published, at once or when its funding is final; the reason may
// be empty. A decision is made once and is for good: the same one by the same operator again is
// answered as it was the first time.
//
// It fails with not_found, with wrong_state when the mission is not funded or was decided by
// somebody else or otherwise, and with service_unavailable when it would be published while an
// incident halts the service.
func (c *Client) Approve(ctx context.Context, id, reason string) (Review, error) {
	request := call{method: http.MethodPost, path: operatorMissionPath(id) + "/approve"}
	if reason != "" {
		var err error
		if request.body, err = encodeReason(reason); err != nil {
			return Review{}, err
		}
	}
	return c.review(ctx, request)
}

// Reject refuses a mission, for a reason that its creator is shown. If it is funded, now or later,
// the money goes back. As an approval, a rejection is made once.
//
// It fails with not_found, with validation_failed for a reason that is empty or too long, and with
// wrong_state when the mission was decided by somebody else or otherwise.
func (c *Client) Reject(ctx context.Context, id, reason string) (Review, error) {
	body, err := encodeReason(reason)
	if err != nil {
		return Review{}, err
	}
	return c.review(ctx, call{method: http.MethodPost, path: operatorMissionPath(id) + "/reject", body: body})
}

func (c *Client) review(ctx context.Context, request call) (Review, error) {
	var detail ReviewDetail
	err := c.send(ctx, request, &detail)
	return detail.Review, err
}

func operatorMissionPath(id string) string { return "/api/operator/missions/" + url.PathEscape(id) }

// CloseMission ends a published mission now, at its creator's request. What is submitted is still
// decided and what is accepted is paid; then the rest of its money goes back. Ended before: the
// answer says what it still waits for.
//
// It fails with not_found, and with wrong_state when the mission is not published or its money has
// left the contract.
func (c *Client) CloseMission(ctx context.Context, id, reason string) (MissionClose, error) {
	var answer MissionClose
	err := c.order(ctx, operatorMissionPath(id)+"/close", reason, &answer)
	return answer, err
}
