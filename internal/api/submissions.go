package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sortie-labs/sortie"
)

func (s *Server) declareSubmission(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	key, err := idempotencyKey(req.http.Header)
	if err != nil {
		return err
	}
	declared, created, err := s.config.App.Declare(req.http.Context(), req.base, req.wallet, req.address, req.http.PathValue("missionId"), key, req.body)
	if err != nil {
		showReservationLimit(req.Header(), err)
		return err
	}
	header := req.Header()
	header.Set("Location", "/api/submissions/"+declared.SubmissionID)
	status := http.StatusCreated
	if !created {
		status = http.StatusOK
		header.Set("Idempotent-Replayed", "true")
	}
	return req.answerJSON(status, declared)
}

// showReservationLimit tells the limit of reservations as the other limits are told.
func showReservationLimit(header http.Header, err error) {
	var coded *sortie.Error
	if errors.As(err, &coded) && coded.Code == sortie.CodeRateLimited {
		header.Set("RateLimit-Policy", fmt.Sprintf(`"%s";q=%v;w=3600`, coded.Details["limit"], coded.Details["maxReservations"]))
		header.Set("RateLimit", fmt.Sprintf(`"%s";r=0;t=%v`, coded.Details["limit"], coded.Details["retryAfterSeconds"]))
	}
}

func (s *Server) ownSubmissions(req *request) error {
	page, err := req.parsePage()
	if err != nil {
		return err
	}
	submissions, err := s.config.App.Submissions(req.http.Context(), req.wallet, page)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, submissions)
}

func (s *Server) ownSubmission(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	submission, err := s.config.App.Submission(req.http.Context(), req.wallet, req.http.PathValue("id"))
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, submission)
}

func (s *Server) withdrawSubmission(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	id := req.http.PathValue("id")
	submission, err := s.config.App.Withdraw(req.http.Context(), req.wallet, id)
	if err != nil {
		return err
	}
	s.turns.end(req.http.Context(), id) // an upload that went on would keep its place for nothing
	s.config.App.DropUpload(id)
	return req.answerJSON(http.StatusOK, submission)
}
