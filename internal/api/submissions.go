package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) declareSubmission(req *request) error {
	key, err := idempotencyKey(req.http.Header)
	if err != nil {
		return err
	}
	declared, created, err := s.config.App.Declare(req.http.Context(), req.links(), req.wallet, req.address, req.http.PathValue("missionId"), key, req.body)
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

// showReservationLimit sets the RateLimit headers for the limit of reservations.
func showReservationLimit(header http.Header, err error) {
	var coded *sortie.Error
	if errors.As(err, &coded) && coded.Code == sortie.CodeRateLimited {
		header.Set("RateLimit-Policy", fmt.Sprintf(`"%s";q=%v;w=3600`, coded.Details["limit"], coded.Details["maxReservations"]))
		header.Set("RateLimit", fmt.Sprintf(`"%s";r=0;t=%v`, coded.Details["limit"], coded.Details["retryAfterSeconds"]))
	}
}

func (s *Server) ownSubmissions(req *request, page app.Page) (sortie.SubmissionPage, error) {
	return s.config.App.Submissions(req.http.Context(), req.wallet, page)
}

func (s *Server) ownSubmission(req *request) (sortie.SubmissionDetail, error) {
	return s.config.App.Submission(req.http.Context(), req.wallet, req.http.PathValue("id"))
}

func (s *Server) withdrawSubmission(req *request) (sortie.SubmissionDetail, error) {
	id := req.http.PathValue("id")
	submission, err := s.config.App.Withdraw(req.http.Context(), req.wallet, id)
	if err != nil {
		return sortie.SubmissionDetail{}, err
	}
	s.uploadLocks.takeOver(req.http.Context(), id) // ends an upload that is no longer needed
	s.config.App.DropUpload(id)
	return submission, nil
}
