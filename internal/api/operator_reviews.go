package api

import (
	"net/http"
)

func (s *Server) listReviews(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	reviews, err := s.config.App.Reviews(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, reviews)
}

func (s *Server) showReview(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	review, err := s.config.App.ReviewDetail(x.r.Context(), x.wallet, x.r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, review)
}

func (s *Server) approveMission(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(x.body)
	if err != nil {
		return err
	}
	review, err := s.config.App.Approve(x.r.Context(), x.wallet, x.r.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, review)
}

func (s *Server) rejectMission(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(x.body)
	if err != nil {
		return err
	}
	review, err := s.config.App.Reject(x.r.Context(), x.wallet, x.r.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, review)
}
