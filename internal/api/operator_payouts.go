package api

import (
	"context"
	"net/http"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) listPayouts(x *exchange) error {
	page, err := x.parsePage("status", "missionId", "recipient")
	if err != nil {
		return err
	}
	query := app.PayoutQuery{Page: page, MissionID: x.query.Get("missionId")}
	if given := x.query.Get("status"); given != "" {
		if query.Status, err = oneOf("status", sortie.PayoutStatus(given), sortie.PayoutQueued, sortie.PayoutSent, sortie.PayoutPaid,
			sortie.PayoutDeferred, sortie.PayoutFailed); err != nil {
			return err
		}
	}
	if given := x.query.Get("recipient"); given != "" {
		if query.Recipient, err = sortie.ParseAddress(given); err != nil || query.Recipient.IsZero() {
			return invalidParameter("recipient", "want an address that can be paid: 0x and 40 hex digits, with the right EIP-55 checksum where letters are of both cases")
		}
	}
	payouts, err := s.config.Operators.Payouts(x.r.Context(), x.wallet, query)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, payouts)
}

func (s *Server) showPayout(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	payout, err := s.config.Operators.Payout(x.r.Context(), x.wallet, x.r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, payout)
}

func (s *Server) retryPayout(x *exchange) error {
	return carryOut(x, func(ctx context.Context, order app.Order, reason string) (sortie.PayoutDetail, error) {
		return s.config.Operators.RetryPayout(ctx, order, x.r.PathValue("id"), reason)
	})
}

func (s *Server) haltPayouts(x *exchange) error { return carryOut(x, s.config.Operators.HaltPayouts) }
func (s *Server) resumePayouts(x *exchange) error {
	return carryOut(x, s.config.Operators.ResumePayouts)
}

func (s *Server) closeMission(x *exchange) error {
	return carryOut(x, func(ctx context.Context, order app.Order, reason string) (sortie.MissionClose, error) {
		return s.config.Operators.CloseMission(ctx, order, x.r.PathValue("id"), reason)
	})
}

// carryOut answers an order of an operator that has a reason and nothing else.
func carryOut[T any](x *exchange, do func(context.Context, app.Order, string) (T, error)) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(x.body)
	if err != nil {
		return err
	}
	answer, err := do(x.r.Context(), x.order(), reason)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, answer)
}
