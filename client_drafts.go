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

// Preview validates and normalizes a mission without storing anything.
//
// It fails with validation_failed, unsupported_reward_token and creator_mismatch.
func (c *Client) Preview(ctx context.Context, mission Mission) (Preview, error) {
	definition, err := json.Marshal(mission)
	if err != nil {
		return Preview{}, fmt.Errorf("encode mission: %w", err)
	}
	return c.PreviewJSON(ctx, definition)
}

// PreviewJSON is [Client.Preview] for a definition in JSON.
func (c *Client) PreviewJSON(ctx context.Context, definition json.RawMessage) (Preview, error) {
	var preview Preview
	err := c.send(ctx, call{method: http.MethodPost, path: "/api/external/missions/preview", body: definition}, &preview)
	return preview, err
}

// CreateDraft creates a draft, or returns the draft that the same idempotency key created before.
// Keep the key across retries, so that the mission is created once. Check the quote with
// [VerifyQuote] before funding.
//
// It fails with validation_failed, unsupported_reward_token, creator_mismatch, and with
// idempotency_conflict when the key was used for a different mission.
func (c *Client) CreateDraft(ctx context.Context, mission Mission, idempotencyKey string) (DraftCreated, error) {
	definition, err := json.Marshal(mission)
	if err != nil {
		return DraftCreated{}, fmt.Errorf("encode mission: %w", err)
	}
	return c.CreateDraftJSON(ctx, definition, idempotencyKey)
}

// CreateDraftJSON is [Client.CreateDraft] for a definition in JSON, which is sent unchanged.
func (c *Client) CreateDraftJSON(ctx context.Context, definition json.RawMessage, idempotencyKey string) (DraftCreated, error) {
	var created DraftCreated
	var replayed bool
	err := c.send(ctx, call{
		method: http.MethodPost, path: "/api/external/missions/drafts", body: definition, idempotencyKey: idempotencyKey, replayed: &replayed,
	}, &created)
	created.Replayed = replayed
	return created, err
}

// Mission returns the current state of a mission by its draft id or mission id, with a valid quote
// while it is unfunded.
//
// It fails with not_found for an id of another wallet.
func (c *Client) Mission(ctx context.Context, id string) (MissionStatus, error) {
	var status MissionStatus
	err := c.send(ctx, call{method: http.MethodGet, path: missionPath(id)}, &status)
	return status, err
}

// ListQuery selects drafts. Its zero value selects all.
type ListQuery struct {
	Status ListStatus
	Limit  int    // 1-1000; 0: the service's default
	Cursor string // the NextCursor of the page before
}

// Drafts returns one page of the wallet's drafts, newest first. A page ends at the limit or at 4
// MiB; there are more pages while Summary.NextCursor is not nil. [Client.AllDrafts] reads all of
// them.
func (c *Client) Drafts(ctx context.Context, query ListQuery) (DraftList, error) {
	values := url.Values{}
	if query.Status != "" {
		values.Set("status", string(query.Status))
	}
	if query.Limit != 0 {
		values.Set("limit", strconv.Itoa(query.Limit))
	}
	if query.Cursor != "" {
		values.Set("cursor", query.Cursor)
	}
	path := "/api/external/missions"
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	var list DraftList
	err := c.send(ctx, call{method: http.MethodGet, path: path}, &list)
	return list, err
}

// AllDrafts yields the drafts of every page.
func (c *Client) AllDrafts(ctx context.Context, query ListQuery) iter.Seq2[ListedDraft, error] {
	return walk(query.Cursor, func(cursor string) ([]ListedDraft, *string, error) {
		query.Cursor = cursor
		page, err := c.Drafts(ctx, query)
		return page.Drafts, page.Summary.NextCursor, err
	})
}

// ConfirmFunding asks the service to read the chain now, for instance after a funding transaction
// was mined. The transaction's hash may be zero: the service finds the funding by the contract's
// event.
//
// It fails with not_found for an id of another wallet.
func (c *Client) ConfirmFunding(ctx context.Context, id string, transaction Hash) (FundingCheck, error) {
	request := call{method: http.MethodPost, path: missionPath(id) + "/confirm-funding"}
	if transaction != (Hash{}) {
		request.body = []byte(`{"transactionHash":"` + transaction.String() + `"}`)
	}
	var check FundingCheck
	err := c.send(ctx, request, &check)
	return check, err
}

func missionPath(id string) string { return "/api/external/missions/" + url.PathEscape(id) }
