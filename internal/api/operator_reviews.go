package api

import (
	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) listReviews(req *request, page app.Page) (sortie.ReviewPage, error) {
	return s.config.Operators.Reviews(req.http.Context(), req.wallet, page)
}

func (s *Server) showReview(req *request) (sortie.ReviewDetail, error) {
	return s.config.Operators.ReviewDetail(req.http.Context(), req.wallet, req.http.PathValue("id"))
}

func (s *Server) approveMission(req *request, reason string) (sortie.ReviewDetail, error) {
	return s.config.Operators.Approve(req.http.Context(), req.wallet, req.http.PathValue("id"), reason)
}

func (s *Server) rejectMission(req *request, reason string) (sortie.ReviewDetail, error) {
	return s.config.Operators.Reject(req.http.Context(), req.wallet, req.http.PathValue("id"), reason)
}

func (s *Server) closeMission(req *request, reason string) (sortie.MissionClose, error) {
	return s.config.Operators.CloseMission(req.http.Context(), req.order(), req.http.PathValue("id"), reason)
}
