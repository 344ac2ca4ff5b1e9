package api

import "net/http"

func (s *Server) listAudit(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	entries, err := s.config.App.Audit(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, entries)
}
