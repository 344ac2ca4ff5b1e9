package api

import (
	"container/list"
	"net/http"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// How many bodies are received at a time, for each place of work: one costs memory, but no work.
const (
	bodiesPerPlace         = 4
	operatorBodiesPerPlace = 1
)

// bodyPool bounds how many bodies are received at a time. Nothing is known about who sends a body before it is complete, because
// the signature covers it. So a full pool refuses no new body: the body that has been arriving for longest gives way. An honest one
// arrives within a round trip; to displace it, an attacker would have to begin as many bodies as the pool has places in that time.
type bodyPool struct {
	size   int
	shares *shares // of one address

	mu      sync.Mutex
	arrives list.List // of *arrival, the oldest first
}

// arrival is a body that is being received.
type arrival struct {
	controller *http.ResponseController
	displaced  bool
}

func newBodyPool(size, share int) *bodyPool { return &bodyPool{size: size, shares: newShares(share)} }

// receive runs read, which receives the body of a request.
func (p *bodyPool) receive(x *exchange, read func() error) error {
	if err := p.shares.take(x.address); err != nil {
		return err
	}
	defer p.shares.release(x.address)
	mine := &arrival{controller: http.NewResponseController(x.ResponseWriter)}
	element := p.begin(mine)
	err := read()
	if p.end(element) {
		return sortie.NewError(sortie.CodeServiceUnavailable, "too many requests are being received, and the body of this one took too long; send it again").Because(err)
	}
	return err
}

func (p *bodyPool) begin(mine *arrival) *list.Element {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.arrives.Len() >= p.size {
		oldest := p.arrives.Remove(p.arrives.Front()).(*arrival)
		oldest.displaced = true
		_ = oldest.controller.SetReadDeadline(time.Now()) // only a writer without a connection cannot
	}
	return p.arrives.PushBack(mine)
}

// end reports whether the body was displaced. Its connection has a deadline in the past then: the request cannot go on, even if the
// body is complete.
func (p *bodyPool) end(element *list.Element) (displaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := element.Value.(*arrival)
	if !mine.displaced {
		p.arrives.Remove(element)
	}
	return mine.displaced
}

// len is how many bodies are being received.
func (p *bodyPool) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arrives.Len()
}

// bodyPools are the pools of bodies: one for the requests of operators, and one for all others. A request belongs to the
// operators' pool if its path is one of theirs and its wallet header names one of them; anyone can write that, which is why the
// pool has shares and displaces.
type bodyPools struct{ signed, operator *bodyPool }

func newBodyPools(inFlight int, limits *Limits) bodyPools {
	share := 0
	if limits != nil {
		share = limits.AddressBodies
	}
	return bodyPools{
		signed:   newBodyPool(bodiesPerPlace*inFlight, share),
		operator: newBodyPool(operatorBodiesPerPlace*inFlight, (share+operatorBodyShare-1)/operatorBodyShare),
	}
}

// operatorBodyShare is by how much the share of an address in the operators' pool is smaller.
const operatorBodyShare = 4

// bodyPool is the pool for the body of a request.
func (s *Server) bodyPool(x *exchange, route route) *bodyPool {
	if route.access == operator {
		wallet, err := sortie.ParseAddress(x.r.Header.Get(sortie.HeaderWallet))
		if err == nil && s.config.App.IsOperator(wallet) {
			return s.bodies.operator
		}
	}
	return s.bodies.signed
}
