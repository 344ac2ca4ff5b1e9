package api

import (
	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// missionLedger answers with the ledger of a published mission. It is public.
func (s *Server) missionLedger(req *request, page app.Page) (sortie.MissionLedger, error) {
	ledger, err := s.config.App.MissionLedger(req.http.Context(), req.http.PathValue("missionId"), page)
	if err != nil {
		return sortie.MissionLedger{}, err
	}
	req.Header().Set("Cache-Control", feedCaching)
	return ledger, nil
}
