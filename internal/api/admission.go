package api

import (
	"net/http"

	"github.com/sortie-labs/sortie"
)

// admit counts a request against the limit of its address, before its body is read. Requests with a
// link do not count, because a page of deliverables has a hundred images.
func (s *Server) admit(req *request, route route) error {
	if route.access == public || route.access.byLink() {
		return nil
	}
	return s.limits.requests.take(req.address, s.config.Now()).refusal(req.Header())
}

// authenticate verifies the signature and counts the request against its wallet. For an address
// with too many failures, checks of contract wallets are refused, because each costs a call of a
// node. Signatures of plain keys, which cost microseconds, are still accepted, so that one client
// cannot lock out the others of its address.
func (s *Server) authenticate(req *request, route route) error {
	now := s.config.Now()
	identity, err := s.config.Verifier.Verify(req.http.Context(), req.http, req.body, func(*http.Request) error {
		if err := s.limits.failures.peek(req.address, now).refusal(req.Header()); err != nil {
			return err
		}
		return s.limits.contractChecks.take(req.address, now).refusal(req.Header())
	})
	if err != nil {
		s.observeRefusal(req, err)
		if sortie.ErrorCode(err).HTTPStatus() == http.StatusUnauthorized {
			return s.failAuthentication(req, err)
		}
		return err
	}
	req.wallet, req.base, req.digest = identity.Wallet, identity.Base, identity.Digest
	s.config.App.ObserveRequest(req.address, identity.SignedAt)
	limit := s.limits.reads
	if route.drafts {
		limit = s.limits.drafts
	}
	left := limit.take(req.wallet, now)
	left.writeHeaders(req.Header())
	return left.refusal(req.Header())
}

// chargeDraftBytes counts the size of a draft against its address, because one address could
// otherwise fill the disk with drafts of new wallets. It counts before the draft is stored, so that
// concurrent requests are bounded. The caller calls refund if the draft was not stored.
func (s *Server) chargeDraftBytes(req *request) (refund func(), err error) {
	now := s.config.Now()
	if err := s.limits.draftKiB.take(req.address, now).refusal(req.Header()); err != nil {
		return nil, err
	}
	more := len(req.body) / 1024 // in addition to the 1 KiB above
	s.limits.draftKiB.charge(req.address, now, more)
	return func() { s.limits.draftKiB.refund(req.address, now, 1+more) }, nil
}

// failAuthentication counts a failed authentication against its address. It returns the failure, or
// a rate limit error if the address has too many.
func (s *Server) failAuthentication(req *request, failure error) error {
	if err := s.limits.failures.take(req.address, s.config.Now()).refusal(req.Header()); err != nil {
		return err
	}
	return failure
}

// acquireList counts a list as in flight for its address and its wallet. Lists of operators do not
// count against the address.
func (s *Server) acquireList(req *request, route route) (release func(), err error) {
	if route.access != operator {
		if err := s.limits.lists.acquire(req.address); err != nil {
			return nil, err
		}
	}
	releaseAddress := func() {
		if route.access != operator {
			s.limits.lists.release(req.address)
		}
	}
	if !route.access.isSigned() {
		return releaseAddress, nil
	}
	if err := s.limits.walletLists.acquire(req.wallet); err != nil {
		releaseAddress()
		return nil, err
	}
	return func() {
		s.limits.walletLists.release(req.wallet)
		releaseAddress()
	}, nil
}

// chargeCost counts a large answer as several requests of the address and of the wallet.
func (s *Server) chargeCost(req *request, route route) {
	cost := req.cost()
	if cost == 0 || route.access == public || route.access.byLink() {
		return
	}
	now := s.config.Now()
	s.limits.requests.charge(req.address, now, cost)
	if route.access.isSigned() {
		s.limits.reads.charge(req.wallet, now, cost)
	}
}

// observeRefusal records the clock of a client whose signature is valid but whose timestamp was
// refused. Such requests show best whether the service's own clock is wrong.
func (s *Server) observeRefusal(req *request, refusal error) {
	if sortie.ErrorCode(refusal) != sortie.CodeTimestampOutOfRange {
		return
	}
	if signed, ok := s.config.Verifier.SignedAt(req.http, req.body); ok {
		s.config.App.ObserveRequest(req.address, signed)
	}
}

// requireOperator refuses wallets that are not on the operator list.
func (s *Server) requireOperator(req *request) error {
	if s.config.Operators.IsOperator(req.wallet) {
		return nil
	}
	return sortie.NewError(sortie.CodeWalletNotAllowed, "%s is not an operator of this service; sign with a wallet on its operator list", req.wallet)
}
