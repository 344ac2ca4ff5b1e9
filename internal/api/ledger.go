package api

import "net/http"

// missionLedger shows everyone where the money of a published mission is.
func (s *Server) missionLedger(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	ledger, err := s.config.App.MissionLedger(x.r.Context(), x.r.PathValue("missionId"), page)
	if err != nil {
		return err
	}
	x.Header().Set("Cache-Control", feedCache)
	return x.answerJSON(http.StatusOK, ledger)
}
