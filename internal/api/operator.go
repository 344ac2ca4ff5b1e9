package api

import (
	"net/http"

	"github.com/sortie-labs/sortie"
)

// requireOperator refuses wallets that are not on the operator list, before anything is looked up
// for them.
func (s *Server) requireOperator(x *exchange) error {
	if s.config.Operators.IsOperator(x.wallet) {
		return nil
	}
	return sortie.NewError(sortie.CodeWalletNotAllowed, "%s is not an operator of this service; sign with a wallet that is on its list (--operators)", x.wallet)
}

func (s *Server) listReviews(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	reviews, err := s.config.Operators.Reviews(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, reviews)
}

func (s *Server) showReview(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	review, err := s.config.Operators.ReviewDetail(x.r.Context(), x.wallet, x.r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, review)
}

func (s *Server) approveMission(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(x.body)
	if err != nil {
		return err
	}
	review, err := s.config.Operators.Approve(x.r.Context(), x.wallet, x.r.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, review)
}

func (s *Server) rejectMission(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(x.body)
	if err != nil {
		return err
	}
	review, err := s.config.Operators.Reject(x.r.Context(), x.wallet, x.r.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, review)
}

func (s *Server) listAudit(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	entries, err := s.config.Operators.Audit(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, entries)
}

// chainOverview is what the rows say, and, where this process follows the chain, what it sees.
func (s *Server) chainOverview(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	overview, err := s.config.Operators.ChainOverview(x.r.Context(), x.wallet)
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
	requested, err := s.config.Operators.RequestReconcile(x.r.Context(), x.wallet)
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
	cleared, err := s.config.Operators.ClearIncident(x.r.Context(), x.wallet, x.r.PathValue("id"), reason)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, cleared)
}
