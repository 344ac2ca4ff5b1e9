package api

import "net/http"

func (s *Server) solvency(req *request) error {
	page, err := req.parsePage()
	if err != nil {
		return err
	}
	solvency, err := s.config.Operators.Solvency(req.http.Context(), req.wallet, page)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, solvency)
}
