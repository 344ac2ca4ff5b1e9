package api

import (
	"context"
	"net/http"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) listPayouts(req *request) error {
	page, err := req.parsePage("status", "missionId", "recipient")
	if err != nil {
		return err
	}
	query := app.PayoutQuery{Page: page, MissionID: req.query.Get("missionId")}
	if given := req.query.Get("status"); given != "" {
		if query.Status, err = oneOf("status", sortie.PayoutStatus(given), sortie.PayoutStatuses()...); err != nil {
			return err
		}
	}
	if given := req.query.Get("recipient"); given != "" {
		if query.Recipient, err = sortie.ParseAddress(given); err != nil || query.Recipient.IsZero() {
			return invalidParameter("recipient", "want an address that can be paid: 0x and 40 hex digits, with the right EIP-55 checksum where letters are of both cases")
		}
	}
	payouts, err := s.config.App.Payouts(req.http.Context(), req.wallet, query)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, payouts)
}

func (s *Server) showPayout(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	payout, err := s.config.App.Payout(req.http.Context(), req.wallet, req.http.PathValue("id"))
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, payout)
}

func (s *Server) retryPayout(req *request) error {
	return carryOut(req, func(ctx context.Context, order app.Order, reason string) (sortie.PayoutDetail, error) {
		return s.config.App.RetryPayout(ctx, order, req.http.PathValue("id"), reason)
	})
}

func (s *Server) haltPayouts(req *request) error   { return carryOut(req, s.config.App.HaltPayouts) }
func (s *Server) resumePayouts(req *request) error { return carryOut(req, s.config.App.ResumePayouts) }

func (s *Server) closeMission(req *request) error {
	return carryOut(req, func(ctx context.Context, order app.Order, reason string) (sortie.MissionClose, error) {
		return s.config.App.CloseMission(ctx, order, req.http.PathValue("id"), reason)
	})
}

// carryOut answers an order of an operator that has a reason and nothing else.
func carryOut[T any](req *request, do func(context.Context, app.Order, string) (T, error)) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(req.body)
	if err != nil {
		return err
	}
	answer, err := do(req.http.Context(), req.order(), reason)
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, answer)
}
