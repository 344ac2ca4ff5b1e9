package sortie

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// The requests below are for operators: wallets on the service's list. For other wallets they fail
// with wallet_not_allowed.

// Reviews returns one page of the missions that wait for a decision, oldest first.
func (c *Client) Reviews(ctx context.Context, query PageQuery) (ReviewPage, error) {
	var page ReviewPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply("/api/operator/reviews")}, &page)
	return page, err
}

// AllReviews yields the reviews of every page.
func (c *Client) AllReviews(ctx context.Context, query PageQuery) iter.Seq2[Review, error] {
	return walk(query.Cursor, func(cursor string) ([]Review, *string, error) {
		query.Cursor = cursor
		page, err := c.Reviews(ctx, query)
		return page.Reviews, page.Summary.NextCursor, err
	})
}

// Review returns a mission of any creator, in review or not, by its draft id or mission id.
//
// It fails with not_found.
func (c *Client) Review(ctx context.Context, id string) (Review, error) {
	return c.review(ctx, call{method: http.MethodGet, path: "/api/operator/reviews/" + url.PathEscape(id)})
}

// Approve approves a funded mission: it is published at once, or when its funding is final. The
// reason may be empty. A decision cannot be changed; repeating it as the same operator returns the
// first answer.
//
// It fails with not_found, with wrong_state when the mission is not funded or has another decision,
// and with service_unavailable when it would be published while an incident halts the service.
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

// Reject rejects a mission, for a reason that its creator is shown. If it is funded, now or later,
// it is refunded. Like an approval, a rejection cannot be changed.
//
// It fails with not_found, with validation_failed for a reason that is empty or too long, and with
// wrong_state when the mission has another decision.
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

// CloseMission ends a published mission now, at its creator's request. Existing submissions are
// still decided and paid; then the rest of its money is refunded. The answer says what the mission
// still waits for, also when it has ended already.
//
// It fails with not_found, and with wrong_state when the mission is not published or is closed in
// the contract.
func (c *Client) CloseMission(ctx context.Context, id, reason string) (MissionClose, error) {
	var answer MissionClose
	err := c.order(ctx, operatorMissionPath(id)+"/close", reason, &answer)
	return answer, err
}
