package api

import (
	"net/http"

	"github.com/sortie-labs/sortie"
)

// admit counts a request against its address, before anything is read or computed for it. Those
// with a link do not count: a page of deliverables has a hundred pictures.
func (s *Server) admit(req *request, route route) error {
	if route.access == public || route.access.byLink() {
		return nil
	}
	return s.limits.requests.take(req.address, s.config.Now()).refusal(req.Header())
}

// authenticate finds out who asks, and counts the request against the wallet. An address with too
// many failures is refused further failures, and questions to contract wallets, which cost a call
// of a node. A plain key's signature costs microseconds and is let in: a stranger at the same
// address must not lock out its other clients.
func (s *Server) authenticate(req *request, route route) error {
	now := s.config.Now()
	identity, err := s.config.Verifier.Verify(req.http.Context(), req.http, req.body, func(*http.Request) error {
		if err := s.limits.failures.look(req.address, now).refusal(req.Header()); err != nil {
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

// takeDraftBytes counts the size of a posted draft against its address: wallets cost nothing, so
// one address could fill the disk with drafts of wallets that it makes up. It counts before the
// draft is stored, so that requests at the same time are bounded too; giveBack is for a draft that
// was not stored, so that refused requests lock out no other client of the address.
func (s *Server) takeDraftBytes(req *request) (giveBack func(), err error) {
	now := s.config.Now()
	if err := s.limits.draftKiB.take(req.address, now).refusal(req.Header()); err != nil {
		return nil, err
	}
	more := len(req.body) / 1024 // with the one that was taken, rounded up
	s.limits.draftKiB.charge(req.address, now, more)
	return func() { s.limits.draftKiB.giveBack(req.address, now, 1+more) }, nil
}

// failAuthentication counts a failed authentication against its address. It returns the failure, or
// the refusal of an address that has too many.
func (s *Server) failAuthentication(req *request, failure error) error {
	if err := s.limits.failures.take(req.address, s.config.Now()).refusal(req.Header()); err != nil {
		return err
	}
	return failure
}

// takeListShare takes one of the shares in lists that the wallet and its address have. Operators
// share none with other clients of their address.
func (s *Server) takeListShare(req *request, route route) (release func(), err error) {
	if route.access != operator {
		if err := s.limits.lists.take(req.address); err != nil {
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
	if err := s.limits.walletLists.take(req.wallet); err != nil {
		releaseAddress()
		return nil, err
	}
	return func() {
		s.limits.walletLists.release(req.wallet)
		releaseAddress()
	}, nil
}

// chargeCost counts a costly answer as several requests, of the address and of the wallet.
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

// observeRefusal tells what time a client has whose own key signed a request that was refused
// because of its timestamp: those say most about the service's clock.
func (s *Server) observeRefusal(req *request, refusal error) {
	if sortie.ErrorCode(refusal) != sortie.CodeTimestampOutOfRange {
		return
	}
	if signed, ok := s.config.Verifier.SignedAt(req.http, req.body); ok {
		s.config.App.ObserveRequest(req.address, signed)
	}
}

// requireOperator refuses wallets that are not on the operator list, before anything is looked up
// for them.
func (s *Server) requireOperator(req *request) error {
	if s.config.Operators.IsOperator(req.wallet) {
		return nil
	}
	return sortie.NewError(sortie.CodeWalletNotAllowed, "%s is not an operator of this service; sign with a wallet that is on its list (--operators)", req.wallet)
}
