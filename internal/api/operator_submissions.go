package api

import (
	"context"
	"net/http"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) submissionQueue(x *exchange) error {
	page, err := x.parsePage("status", "missionId")
	if err != nil {
		return err
	}
	query := app.QueueQuery{MissionID: x.query.Get("missionId"), Page: page}
	if given := x.query.Get("status"); given != "" {
		if query.Status, err = oneOf("status", sortie.SubmissionStatus(given), sortie.SubmissionPending, sortie.SubmissionFlagged, sortie.SubmissionAccepted,
			sortie.SubmissionCurationAccepted, sortie.SubmissionRejected, sortie.SubmissionWithdrawn); err != nil {
			return err
		}
	}
	submissions, err := s.config.App.SubmissionQueue(x.r.Context(), x.base, x.wallet, query)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, submissions)
}

func (s *Server) reviewedSubmission(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	submission, err := s.config.App.ReviewedSubmission(x.r.Context(), x.base, x.wallet, x.r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, submission)
}

func (s *Server) acceptSubmission(x *exchange) error {
	return s.decideSubmission(x, s.config.App.AcceptSubmission)
}

func (s *Server) rejectSubmission(x *exchange) error {
	return s.decideSubmission(x, s.config.App.RejectSubmission)
}

func (s *Server) flagSubmission(x *exchange) error {
	return s.decideSubmission(x, s.config.App.FlagSubmission)
}

// decision is one of the use cases in which an operator decides about a submission.
type decision func(ctx context.Context, base string, order app.Order, id, reason string) (sortie.ReviewedSubmissionDetail, error)

func (s *Server) decideSubmission(x *exchange, decide decision) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(x.body)
	if err != nil {
		return err
	}
	submission, err := decide(x.r.Context(), x.base, x.order(), x.r.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, submission)
}

// order is the signed request as what its operator wants done.
func (x *exchange) order() app.Order { return app.Order{Operator: x.wallet, Request: x.digest} }
