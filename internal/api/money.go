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

func (s *Server) earnings(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	earnings, err := s.config.App.Earnings(x.r.Context(), x.wallet)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, earnings)
}

func (s *Server) solvency(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	solvency, err := s.config.Operators.Solvency(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, solvency)
}
