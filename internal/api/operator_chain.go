package api

import (
	"net/http"

	"github.com/sortie-labs/sortie"
)

// chainOverview answers with the stored state of the chain and, if this process follows the chain
// or sends transactions, with its current view.
func (s *Server) chainOverview(req *request) (sortie.ChainOverview, error) {
	overview, err := s.config.Operators.ChainOverview(req.http.Context(), req.wallet)
	if err != nil {
		return sortie.ChainOverview{}, err
	}
	if s.config.Follower != nil {
		overview.Follower = s.config.Follower()
	}
	if s.config.Sender != nil {
		overview.Sending = s.config.Sender()
	}
	overview.Warnings = append([]string{}, s.config.Warnings...)
	return overview, nil
}

// reconcileChain answers 202: a job does the comparison, which takes time for every mission.
func (s *Server) reconcileChain(req *request) error {
	requested, err := s.config.Operators.RequestReconcile(req.http.Context(), req.wallet)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusAccepted, requested)
}

func (s *Server) clearIncident(req *request, reason string) (sortie.IncidentCleared, error) {
	return s.config.Operators.ClearIncident(req.http.Context(), req.wallet, req.http.PathValue("id"), reason)
}
