package api

import (
	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) listPayouts(req *request) (none sortie.PayoutPage, err error) {
	query := app.PayoutQuery{MissionID: req.query.Get("missionId")}
	if query.Page, err = req.parsePage(); err != nil {
		return none, err
	}
	if given := req.query.Get("status"); given != "" {
		if query.Status, err = oneOf("status", sortie.PayoutStatus(given), sortie.PayoutStatuses()...); err != nil {
			return none, err
		}
	}
	if given := req.query.Get("recipient"); given != "" {
		if query.Recipient, err = sortie.ParseAddress(given); err != nil || query.Recipient.IsZero() {
			return none, invalidParameter("recipient", "must be an address other than zero: 0x and 40 hex digits, with a valid EIP-55 checksum if letters have both cases")
		}
	}
	return s.config.Operators.Payouts(req.http.Context(), req.wallet, query)
}

func (s *Server) showPayout(req *request) (sortie.PayoutDetail, error) {
	return s.config.Operators.Payout(req.http.Context(), req.wallet, req.http.PathValue("id"))
}

func (s *Server) retryPayout(req *request, reason string) (sortie.PayoutDetail, error) {
	return s.config.Operators.RetryPayout(req.http.Context(), req.order(), req.http.PathValue("id"), reason)
}

func (s *Server) haltPayouts(req *request, reason string) (sortie.PayoutsHalted, error) {
	return s.config.Operators.HaltPayouts(req.http.Context(), req.order(), reason)
}

func (s *Server) resumePayouts(req *request, reason string) (sortie.PayoutsHalted, error) {
	return s.config.Operators.ResumePayouts(req.http.Context(), req.order(), reason)
}
