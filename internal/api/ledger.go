package api

import "net/http"

// missionLedger shows everyone where the money of a published mission is.
func (s *Server) missionLedger(req *request) error {
	page, err := req.parsePage()
	if err != nil {
		return err
	}
	ledger, err := s.config.App.MissionLedger(req.http.Context(), req.http.PathValue("missionId"), page)
	if err != nil {
		return err
	}
	req.Header().Set("Cache-Control", feedCache)
	return req.answerJSON(http.StatusOK, ledger)
}
