package api

import "net/http"

func (s *Server) earnings(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	earnings, err := s.config.App.Earnings(req.http.Context(), req.wallet)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, earnings)
}
