package api

import (
	"net/http"
)

func (s *Server) events(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	events, err := s.config.App.Events(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, events)
}
