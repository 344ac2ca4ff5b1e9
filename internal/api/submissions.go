package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sortie-labs/sortie"
)

func (s *Server) declareSubmission(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	key, err := idempotencyKey(x.r.Header)
	if err != nil {
		return err
	}
	declared, created, err := s.config.App.Declare(x.r.Context(), x.base, x.wallet, x.address, x.r.PathValue("missionId"), key, x.body)
	if err != nil {
		showReservationLimit(x.Header(), err)
		return err
	}
	header := x.Header()
	header.Set("Location", "/api/submissions/"+declared.SubmissionID)
	status := http.StatusCreated
	if !created {
		status = http.StatusOK
		header.Set("Idempotent-Replayed", "true")
	}
	return x.answerJSON(status, declared)
}

// showReservationLimit tells the limit of reservations as the other limits are told.
func showReservationLimit(header http.Header, err error) {
	var coded *sortie.Error
	if errors.As(err, &coded) && coded.Code == sortie.CodeRateLimited {
		header.Set("RateLimit-Policy", fmt.Sprintf(`"%s";q=%v;w=3600`, coded.Details["limit"], coded.Details["maxReservations"]))
		header.Set("RateLimit", fmt.Sprintf(`"%s";r=0;t=%v`, coded.Details["limit"], coded.Details["retryAfterSeconds"]))
	}
}

func (s *Server) ownSubmissions(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	submissions, err := s.config.App.Submissions(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, submissions)
}

func (s *Server) ownSubmission(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	submission, err := s.config.App.Submission(x.r.Context(), x.wallet, x.r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, submission)
}

func (s *Server) withdrawSubmission(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	id := x.r.PathValue("id")
	submission, err := s.config.App.Withdraw(x.r.Context(), x.wallet, id)
	if err != nil {
		return err
	}
	s.turns.end(x.r.Context(), id) // an upload that went on would keep its place for nothing
	s.config.App.DropUpload(id)
	return x.answerJSON(http.StatusOK, submission)
}
