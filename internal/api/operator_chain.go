package api

import "net/http"

// chainOverview is what the rows say, and, where this process follows the chain, what it sees.
func (s *Server) chainOverview(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	overview, err := s.config.Operators.ChainOverview(req.http.Context(), req.wallet)
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
	return req.answerJSON(http.StatusOK, overview)
}

// reconcileChain answers 202: the comparison is a job, and takes as long as there are missions.
func (s *Server) reconcileChain(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	requested, err := s.config.Operators.RequestReconcile(req.http.Context(), req.wallet)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusAccepted, requested)
}

func (s *Server) clearIncident(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(req.body)
	if err != nil {
		return err
	}
	cleared, err := s.config.Operators.ClearIncident(req.http.Context(), req.wallet, req.http.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, cleared)
}
