package api

import "net/http"

func (s *Server) earnings(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	earnings, err := s.config.App.Earnings(x.r.Context(), x.wallet)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, earnings)
}
