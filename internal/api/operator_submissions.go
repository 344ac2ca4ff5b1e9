package api

import (
	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) submissionQueue(req *request) (none sortie.ReviewedSubmissionPage, err error) {
	query := app.QueueQuery{MissionID: req.query.Get("missionId")}
	if query.Page, err = req.parsePage(); err != nil {
		return none, err
	}
	if given := req.query.Get("status"); given != "" {
		if query.Status, err = oneOf("status", sortie.SubmissionStatus(given), sortie.SubmissionPending, sortie.SubmissionFlagged, sortie.SubmissionAccepted,
			sortie.SubmissionCurationAccepted, sortie.SubmissionRejected, sortie.SubmissionWithdrawn); err != nil {
			return none, err
		}
	}
	return s.config.Operators.SubmissionQueue(req.http.Context(), req.links(), req.wallet, query)
}

func (s *Server) reviewedSubmission(req *request) (sortie.ReviewedSubmissionDetail, error) {
	return s.config.Operators.ReviewedSubmission(req.http.Context(), req.links(), req.wallet, req.http.PathValue("id"))
}

func (s *Server) acceptSubmission(req *request, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return s.config.Operators.AcceptSubmission(req.http.Context(), req.links(), req.order(), req.http.PathValue("id"), reason)
}

func (s *Server) rejectSubmission(req *request, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return s.config.Operators.RejectSubmission(req.http.Context(), req.links(), req.order(), req.http.PathValue("id"), reason)
}

func (s *Server) flagSubmission(req *request, reason string) (sortie.ReviewedSubmissionDetail, error) {
	return s.config.Operators.FlagSubmission(req.http.Context(), req.links(), req.order(), req.http.PathValue("id"), reason)
}
