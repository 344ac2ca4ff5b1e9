package api

import (
	"net/http"
)

func (s *Server) listReviews(req *request) error {
	page, err := req.parsePage()
	if err != nil {
		return err
	}
	reviews, err := s.config.App.Reviews(req.http.Context(), req.wallet, page)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, reviews)
}

func (s *Server) showReview(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	review, err := s.config.App.ReviewDetail(req.http.Context(), req.wallet, req.http.PathValue("id"))
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, review)
}

func (s *Server) approveMission(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(req.body)
	if err != nil {
		return err
	}
	review, err := s.config.App.Approve(req.http.Context(), req.wallet, req.http.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, review)
}

func (s *Server) rejectMission(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(req.body)
	if err != nil {
		return err
	}
	review, err := s.config.App.Reject(req.http.Context(), req.wallet, req.http.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, review)
}
