package sortie

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// The requests below are for operators.

// QueueQuery selects submissions of all contributors. Its zero value selects those that wait for an
// operator.
type QueueQuery struct {
	Status    SubmissionStatus // empty: flagged
	MissionID string           // empty: of every mission
	Limit     int              // 0: the service's default
	Cursor    string           // the NextCursor of the page before
}

// Submissions returns one page of submissions with links to their media, oldest first.
func (c *Client) Submissions(ctx context.Context, query QueueQuery) (ReviewedSubmissionPage, error) {
	page := PageQuery{Limit: query.Limit, Cursor: query.Cursor}
	path := page.apply("/api/operator/submissions", "status", string(query.Status), "missionId", query.MissionID)
	var submissions ReviewedSubmissionPage
	err := c.send(ctx, call{method: http.MethodGet, path: path}, &submissions)
	return submissions, err
}

// AllSubmissions yields the submissions of every page.
func (c *Client) AllSubmissions(ctx context.Context, query QueueQuery) iter.Seq2[ReviewedSubmission, error] {
	return walk(query.Cursor, func(cursor string) ([]ReviewedSubmission, *string, error) {
		query.Cursor = cursor
		page, err := c.Submissions(ctx, query)
		return page.Submissions, page.Summary.NextCursor, err
	})
}

// Submission returns a submission of any contributor, with links to its media.
//
// It fails with not_found.
func (c *Client) Submission(ctx context.Context, id string) (ReviewedSubmission, error) {
	return c.submission(ctx, call{method: http.MethodGet, path: operatorSubmissionPath(id)})
}

// AcceptSubmission accepts a flagged submission; the reason may be empty. When the acceptance is
// final its receipt is signed; until then it can be taken back with [Client.RejectSubmission] or
// [Client.FlagSubmission].
//
// It fails with not_found, and with wrong_state when the submission is not flagged.
func (c *Client) AcceptSubmission(ctx context.Context, id, reason string) (ReviewedSubmission, error) {
	return c.decide(ctx, id, "accept", reason)
}

// RejectSubmission rejects a submission, or takes an acceptance back, for a reason that its
// contributor is shown.
//
// It fails with not_found, with validation_failed for a reason that is empty or too long, and with
// wrong_state when the acceptance is final, or the submission was rejected or withdrawn.
func (c *Client) RejectSubmission(ctx context.Context, id, reason string) (ReviewedSubmission, error) {
	return c.decide(ctx, id, "reject", reason)
}

// FlagSubmission leaves a submission to an operator's decision: one that is being checked, or one
// whose acceptance is not final.
//
// It fails as [Client.RejectSubmission] does.
func (c *Client) FlagSubmission(ctx context.Context, id, reason string) (ReviewedSubmission, error) {
	return c.decide(ctx, id, "flag", reason)
}

func (c *Client) decide(ctx context.Context, id, decision, reason string) (ReviewedSubmission, error) {
	request := call{method: http.MethodPost, path: operatorSubmissionPath(id) + "/" + decision}
	if reason != "" {
		var err error
		if request.body, err = encodeReason(reason); err != nil {
			return ReviewedSubmission{}, err
		}
	}
	return c.submission(ctx, request)
}

func (c *Client) submission(ctx context.Context, request call) (ReviewedSubmission, error) {
	var detail ReviewedSubmissionDetail
	err := c.send(ctx, request, &detail)
	return detail.Submission, err
}

func operatorSubmissionPath(id string) string {
	return "/api/operator/submissions/" + url.PathEscape(id)
}
