package api

import "net/http"

func (s *Server) solvency(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	solvency, err := s.config.App.Solvency(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, solvency)
}
