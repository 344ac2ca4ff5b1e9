package api

import "net/http"

// chainOverview is what the rows say, and, where this process follows the chain, what it sees.
func (s *Server) chainOverview(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	overview, err := s.config.App.ChainOverview(x.r.Context(), x.wallet)
	if err != nil {
		return err
	}
	if s.config.Follower != nil {
		overview.Follower = s.config.Follower()
	}
	if s.config.Sender != nil {
		overview.Sending = s.config.Sender()
	}
	overview.Warnings = append([]string{}, s.config.Warnings...)
	return x.answerJSON(http.StatusOK, overview)
}

// reconcileChain answers 202: the comparison is a job, and takes as long as there are missions.
func (s *Server) reconcileChain(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	requested, err := s.config.App.RequestReconcile(x.r.Context(), x.wallet)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusAccepted, requested)
}

func (s *Server) clearIncident(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(x.body)
	if err != nil {
		return err
	}
	cleared, err := s.config.App.ClearIncident(x.r.Context(), x.wallet, x.r.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, cleared)
}
