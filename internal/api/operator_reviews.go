package api

import (
	"net/http"
)

func (s *Server) listReviews(req *request) error {
	page, err := req.parsePage()
	if err != nil {
		return err
	}
	reviews, err := s.config.Operators.Reviews(req.http.Context(), req.wallet, page)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, reviews)
}

func (s *Server) showReview(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	review, err := s.config.Operators.ReviewDetail(req.http.Context(), req.wallet, req.http.PathValue("id"))
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
	review, err := s.config.Operators.Approve(req.http.Context(), req.wallet, req.http.PathValue("id"), reason)
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
	review, err := s.config.Operators.Reject(req.http.Context(), req.wallet, req.http.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, review)
}
