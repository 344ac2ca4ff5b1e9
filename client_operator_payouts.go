package sortie

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// The requests below are for operators.

// PayoutQuery chooses payouts. Empty members choose all.
type PayoutQuery struct {
	Status    PayoutStatus
	MissionID string // or a draft id
	Recipient string // an address
	Cursor    string // empty: the newest
	Limit     int    // 1 to 100; 0: 50
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

// Payouts returns one page of payouts, newest first.
//
// It fails with not_found for a mission that is not published.
func (c *Client) Payouts(ctx context.Context, query PayoutQuery) (PayoutPage, error) {
	var page PayoutPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply(payoutsPath)}, &page)
	return page, err
}

// AllPayouts yields the payouts of every page.
func (c *Client) AllPayouts(ctx context.Context, query PayoutQuery) iter.Seq2[ListedPayout, error] {
	return walk(query.Cursor, func(cursor string) ([]ListedPayout, *string, error) {
		query.Cursor = cursor
		page, err := c.Payouts(ctx, query)
		return page.Payouts, page.Summary.NextCursor, err
	})
}

// Payout returns the payout of a submission: its state, what it waits for, and the transactions
// that were signed for it.
//
// It fails with not_found when the submission has no payout.
func (c *Client) Payout(ctx context.Context, submissionID string) (PayoutDetail, error) {
	var detail PayoutDetail
	err := c.send(ctx, call{method: http.MethodGet, path: payoutsPath + "/" + url.PathEscape(submissionID)}, &detail)
	return detail, err
}

// RetryPayout queues a payout that was set aside again.
//
// It fails with not_found, with validation_failed for a reason that is empty or too long, and with
// wrong_state when the payout was not set aside, or its mission's money has left the contract.
func (c *Client) RetryPayout(ctx context.Context, submissionID, reason string) (PayoutDetail, error) {
	var detail PayoutDetail
	err := c.order(ctx, payoutsPath+"/"+url.PathEscape(submissionID)+"/retry", reason, &detail)
	return detail, err
}

// HaltPayouts stops new settlements and closings of published missions until
// [Client.ResumePayouts]. Transactions that are sent already are followed to their end. If payouts
// are halted already, the answer is the existing halt.
func (c *Client) HaltPayouts(ctx context.Context, reason string) (PayoutsHalted, error) {
	var answer PayoutsHalted
	err := c.order(ctx, payoutsPath+"/halt", reason, &answer)
	return answer, err
}

// ResumePayouts ends the halt of [Client.HaltPayouts]. It clears no incident.
func (c *Client) ResumePayouts(ctx context.Context, reason string) (PayoutsHalted, error) {
	var answer PayoutsHalted
	err := c.order(ctx, payoutsPath+"/resume", reason, &answer)
	return answer, err
}
