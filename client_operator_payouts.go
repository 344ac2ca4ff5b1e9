package sortie

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// The requests below are for operators, too.

// PayoutQuery chooses payouts. Empty members choose all.
type PayoutQuery struct {
	Status    PayoutStatus
	MissionID string // or a draft id
	Recipient string // an address
	Cursor    string // empty: from the newest
	Limit     int    // of a page, 1 to 100; 0: 50
}

func (q PayoutQuery) apply(path string) string {
	values := url.Values{}
	for name, value := range map[string]string{"status": string(q.Status), "missionId": q.MissionID, "recipient": q.Recipient, "cursor": q.Cursor} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

const payoutsPath = "/api/operator/payouts"

// Payouts gives one page of payouts, newest first.
//
// It fails with not_found for a mission that is not published.
func (c *Client) Payouts(ctx context.Context, query PayoutQuery) (PayoutPage, error) {
	var page PayoutPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply(payoutsPath)}, &page)
	return page, err
}

// AllPayouts walks through every page.
func (c *Client) AllPayouts(ctx context.Context, query PayoutQuery) iter.Seq2[ListedPayout, error] {
	return walk(query.Cursor, func(cursor string) ([]ListedPayout, *string, error) {
		query.Cursor = cursor
		page, err := c.Payouts(ctx, query)
		return page.Payouts, page.Summary.NextCursor, err
	})
}

// Payout gives everything about the payout of a submission: what it waits for, and the transactions
// that were signed for it.
//
// It fails with not_found when the submission has no payout.
func (c *Client) Payout(ctx context.Context, submissionID string) (PayoutDetail, error) {
	var detail PayoutDetail
	err := c.send(ctx, call{method: http.MethodGet, path: payoutsPath + "/" + url.PathEscape(submissionID)}, &detail)
	return detail, err
}

// RetryPayout lets a payout that was set aside be sent again.
//
// It fails with not_found, with validation_failed for a reason that is empty or too long, and with
// wrong_state when the payout was not set aside, or its mission's money has left the contract.
func (c *Client) RetryPayout(ctx context.Context, submissionID, reason string) (PayoutDetail, error) {
	var detail PayoutDetail
	err := c.order(ctx, payoutsPath+"/"+url.PathEscape(submissionID)+"/retry", reason, &detail)
	return detail, err
}

// HaltPayouts stops new settlements and closings of published missions until
// [Client.ResumePayouts]. What is sent already is followed to its end. Halted before: the answer is
// the halt that holds.
func (c *Client) HaltPayouts(ctx context.Context, reason string) (PayoutsHalted, error) {
	var answer PayoutsHalted
	err := c.order(ctx, payoutsPath+"/halt", reason, &answer)
	return answer, err
}

// ResumePayouts ends the halt of [Client.HaltPayouts]. Incidents that halt the service stay.
func (c *Client) ResumePayouts(ctx context.Context, reason string) (PayoutsHalted, error) {
	var answer PayoutsHalted
	err := c.order(ctx, payoutsPath+"/resume", reason, &answer)
	return answer, err
}
