package api

import "net/http"

func (s *Server) listAudit(req *request) error {
	page, err := req.parsePage()
	if err != nil {
		return err
	}
	entries, err := s.config.Operators.Audit(req.http.Context(), req.wallet, page)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, entries)
}
