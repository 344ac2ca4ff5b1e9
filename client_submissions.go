package sortie

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
)

// Declare reserves a slot of a mission for a file and returns upload links: see
// [Client.UploadResumable]. The same declaration under the same idempotency key returns the same
// submission, with new links until the file is uploaded. Keep one key per file across retries.
//
// It fails with not_found; with mission_full, mission_closed and contributor_limit when there is no
// slot; with validation_failed, unsupported_media_type and payload_too_large; and with
// idempotency_conflict when the key was used for another declaration.
func (c *Client) Declare(ctx context.Context, missionID string, declaration Declaration, idempotencyKey string) (SubmissionDeclared, error) {
	body, err := json.Marshal(declaration)
	if err != nil {
		return SubmissionDeclared{}, fmt.Errorf("encode declaration: %w", err)
	}
	var declared SubmissionDeclared
	err = c.send(ctx, call{
		method: http.MethodPost, path: openMissionPath(missionID) + "/submissions", body: body, idempotencyKey: idempotencyKey,
	}, &declared)
	return declared, err
}

// MySubmissions returns one page of the wallet's submissions, newest first.
func (c *Client) MySubmissions(ctx context.Context, query PageQuery) (SubmissionPage, error) {
	var page SubmissionPage
	err := c.send(ctx, call{method: http.MethodGet, path: query.apply("/api/submissions")}, &page)
	return page, err
}

// AllMySubmissions yields the submissions of every page.
func (c *Client) AllMySubmissions(ctx context.Context, query PageQuery) iter.Seq2[Submission, error] {
	return walk(query.Cursor, func(cursor string) ([]Submission, *string, error) {
		query.Cursor = cursor
		page, err := c.MySubmissions(ctx, query)
		return page.Submissions, page.Summary.NextCursor, err
	})
}

// MySubmission returns a submission of the wallet: its status with the reason, and once its
// acceptance is final, the receipt.
//
// It fails with not_found for an id of another wallet.
func (c *Client) MySubmission(ctx context.Context, id string) (Submission, error) {
	return c.mySubmission(ctx, call{method: http.MethodGet, path: submissionPath(id)})
}

// Withdraw withdraws a submission and frees its slot. Repeating it returns the same answer.
//
// It fails with not_found, and with wrong_state when the submission was accepted or rejected.
func (c *Client) Withdraw(ctx context.Context, id string) (Submission, error) {
	return c.mySubmission(ctx, call{method: http.MethodPost, path: submissionPath(id) + "/withdraw"})
}

func (c *Client) mySubmission(ctx context.Context, request call) (Submission, error) {
	var detail SubmissionDetail
	err := c.send(ctx, request, &detail)
	return detail.Submission, err
}

func submissionPath(id string) string { return "/api/submissions/" + url.PathEscape(id) }
