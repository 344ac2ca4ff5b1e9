package api

import (
	"context"
	"net/http"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) submissionQueue(req *request) error {
	page, err := req.parsePage("status", "missionId")
	if err != nil {
		return err
	}
	query := app.QueueQuery{MissionID: req.query.Get("missionId"), Page: page}
	if given := req.query.Get("status"); given != "" {
		if query.Status, err = oneOf("status", sortie.SubmissionStatus(given), sortie.SubmissionPending, sortie.SubmissionFlagged, sortie.SubmissionAccepted,
			sortie.SubmissionCurationAccepted, sortie.SubmissionRejected, sortie.SubmissionWithdrawn); err != nil {
			return err
		}
	}
	submissions, err := s.config.Operators.SubmissionQueue(req.http.Context(), req.base, req.wallet, query)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, submissions)
}

func (s *Server) reviewedSubmission(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	submission, err := s.config.Operators.ReviewedSubmission(req.http.Context(), req.base, req.wallet, req.http.PathValue("id"))
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, submission)
}

func (s *Server) acceptSubmission(req *request) error {
	return s.decideSubmission(req, s.config.Operators.AcceptSubmission)
}

func (s *Server) rejectSubmission(req *request) error {
	return s.decideSubmission(req, s.config.Operators.RejectSubmission)
}

func (s *Server) flagSubmission(req *request) error {
	return s.decideSubmission(req, s.config.Operators.FlagSubmission)
}

// decision is one of the use cases in which an operator decides about a submission.
type decision func(ctx context.Context, base string, order app.Order, id, reason string) (sortie.ReviewedSubmissionDetail, error)

func (s *Server) decideSubmission(req *request, decide decision) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(req.body)
	if err != nil {
		return err
	}
	submission, err := decide(req.http.Context(), req.base, req.order(), req.http.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, submission)
}

// order is the signed request as what its operator wants done.
func (req *request) order() app.Order { return app.Order{Operator: req.wallet, Request: req.digest} }
