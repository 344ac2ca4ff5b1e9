package api

import (
	"net/http"

	"github.com/sortie-labs/sortie"
)

// admit counts a request against its address, before anything is read or computed for it. Those
// with a link do not count: a page of deliverables has a hundred pictures.
func (s *Server) admit(x *exchange, route route) error {
	if route.access == public || route.access.byLink() {
		return nil
	}
	return s.limits.requests.take(x.address, s.config.Now()).refusal(x.Header())
}

// authenticate finds out who asks, and counts the request against the wallet. An address with too
// many failures is refused further failures, and questions to contract wallets, which cost a call
// of a node. A plain key's signature costs microseconds and is let in: a stranger at the same
// address must not lock out its other clients.
func (s *Server) authenticate(x *exchange, route route) error {
	now := s.config.Now()
	identity, err := s.config.Verifier.Verify(x.r.Context(), x.r, x.body, func(*http.Request) error {
		if err := s.limits.failures.look(x.address, now).refusal(x.Header()); err != nil {
			return err
		}
		return s.limits.contractChecks.take(x.address, now).refusal(x.Header())
	})
	if err != nil {
		s.observeRefusal(x, err)
		if sortie.ErrorCode(err).HTTPStatus() == http.StatusUnauthorized {
			return s.failAuthentication(x, err)
		}
		return err
	}
	x.wallet, x.base, x.digest = identity.Wallet, identity.Base, identity.Digest
	s.config.App.ObserveRequest(x.address, identity.SignedAt)
	limit := s.limits.reads
	if route.drafts {
		limit = s.limits.drafts
	}
	left := limit.take(x.wallet, now)
	left.writeHeaders(x.Header())
	return left.refusal(x.Header())
}

// takeDraftBytes counts the size of a posted draft against its address: wallets cost nothing, so
// one address could fill the disk with drafts of wallets that it makes up. It counts before the
// draft is stored, so that requests at the same time are bounded too; giveBack is for a draft that
// was not stored, so that refused requests lock out no other client of the address.
func (s *Server) takeDraftBytes(x *exchange) (giveBack func(), err error) {
	now := s.config.Now()
	if err := s.limits.draftKiB.take(x.address, now).refusal(x.Header()); err != nil {
		return nil, err
	}
	more := len(x.body) / 1024 // with the one that was taken, rounded up
	s.limits.draftKiB.charge(x.address, now, more)
	return func() { s.limits.draftKiB.giveBack(x.address, now, 1+more) }, nil
}

// failAuthentication counts a failed authentication against its address. It returns the failure, or
// the refusal of an address that has too many.
func (s *Server) failAuthentication(x *exchange, failure error) error {
	if err := s.limits.failures.take(x.address, s.config.Now()).refusal(x.Header()); err != nil {
		return err
	}
	return failure
}

// takeListShare takes one of the shares in lists that the wallet and its address have. Operators
// share none with other clients of their address.
func (s *Server) takeListShare(x *exchange, route route) (release func(), err error) {
	if route.access != operator {
		if err := s.limits.lists.take(x.address); err != nil {
			return nil, err
		}
	}
	releaseAddress := func() {
		if route.access != operator {
			s.limits.lists.release(x.address)
		}
	}
	if !route.access.isSigned() {
		return releaseAddress, nil
	}
	if err := s.limits.walletLists.take(x.wallet); err != nil {
		releaseAddress()
		return nil, err
	}
	return func() {
		s.limits.walletLists.release(x.wallet)
		releaseAddress()
	}, nil
}

// chargeCost counts a costly answer as several requests, of the address and of the wallet.
func (s *Server) chargeCost(x *exchange, route route) {
	cost := x.cost()
	if cost == 0 || route.access == public || route.access.byLink() {
		return
	}
	now := s.config.Now()
	s.limits.requests.charge(x.address, now, cost)
	if route.access.isSigned() {
		s.limits.reads.charge(x.wallet, now, cost)
	}
}

// observeRefusal tells what time a client has whose own key signed a request that was refused
// because of its timestamp: those say most about the service's clock.
func (s *Server) observeRefusal(x *exchange, refusal error) {
	if sortie.ErrorCode(refusal) != sortie.CodeTimestampOutOfRange {
		return
	}
	if signed, ok := s.config.Verifier.SignedAt(x.r, x.body); ok {
		s.config.App.ObserveRequest(x.address, signed)
	}
}

// requireOperator refuses wallets that are not on the operator list, before anything is looked up
// for them.
func (s *Server) requireOperator(x *exchange) error {
	if s.config.App.IsOperator(x.wallet) {
		return nil
	}
	return sortie.NewError(sortie.CodeWalletNotAllowed, "%s is not an operator of this service; sign with a wallet that is on its list (--operators)", x.wallet)
}
