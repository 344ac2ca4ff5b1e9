package api

import (
	"net/http"
)

func (s *Server) events(req *request) error {
	page, err := req.parsePage()
	if err != nil {
		return err
	}
	events, err := s.config.App.Events(req.http.Context(), req.wallet, page)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, events)
}
