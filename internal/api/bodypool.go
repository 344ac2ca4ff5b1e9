package api

import (
	"container/list"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// How many bodies are received at a time, for each place of work: one costs memory, but no work.
const (
	bodiesPerPlace         = 4
	operatorBodiesPerPlace = 1
)

// bodyPool bounds how many bodies are received at a time, in all, of one address and of one IPv6
// /48. Nothing is known about who sends a body before it is complete, because the signature covers
// it. So no new body is refused: where a bound is reached, the body that has been arriving for
// longest within that bound gives way. An honest one arrives within a round trip; to displace it,
// an attacker would have to begin as many bodies as the bound allows in that time.
type bodyPool struct {
	size  int
	share int // of one address; 0: as many as there are places

	mu     sync.Mutex
	queues map[netip.Prefix]*list.List // of *arrival, the oldest first; by address, by network and for everyone
}

// everyone is the network of all clients.
var everyone = netip.PrefixFrom(netip.IPv6Unspecified(), 0)

// arrival is a body that is being received.
type arrival struct {
	controller *http.ResponseController
	queued     []queued // empty once the body is complete or gave way
	displaced  bool
}

// queued is an arrival's place in one queue.
type queued struct {
	network netip.Prefix
	element *list.Element
}

// bodyBound is the largest number of bodies of a network.
type bodyBound struct {
	network netip.Prefix
	most    int
}

func newBodyPool(size, share int) *bodyPool {
	return &bodyPool{size: size, share: share, queues: make(map[netip.Prefix]*list.List)}
}

// bounds are those that hold for a body of an address, the narrowest first.
func (p *bodyPool) bounds(address netip.Prefix) []bodyBound {
	all := bodyBound{everyone, p.size}
	if p.share == 0 {
		return []bodyBound{all}
	}
	own := bodyBound{address, p.share}
	if network, ok := networkOf(address); ok {
		return []bodyBound{own, {network, networkShares * p.share}, all}
	}
	return []bodyBound{own, all}
}

// receive runs read, which receives the body of a request.
func (p *bodyPool) receive(req *request, read func() error) error {
	mine := p.begin(req)
	err := read()
	if p.end(mine) {
		return sortie.NewError(sortie.CodeServiceUnavailable, "too many requests are being received, and the body of this one took too long; send it again").Because(err)
	}
	return err
}

func (p *bodyPool) begin(req *request) *arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := &arrival{controller: http.NewResponseController(req.ResponseWriter)}
	for _, bound := range p.bounds(req.address) {
		queue := p.queues[bound.network]
		if queue != nil && queue.Len() >= bound.most {
			p.displace(queue.Front().Value.(*arrival))
			queue = p.queues[bound.network] // the last of a queue takes the queue with it
		}
		if queue == nil {
			queue = list.New()
			p.queues[bound.network] = queue
		}
		mine.queued = append(mine.queued, queued{bound.network, queue.PushBack(mine)})
	}
	return mine
}

func (p *bodyPool) displace(oldest *arrival) {
	p.remove(oldest)
	oldest.displaced = true
	_ = oldest.controller.SetReadDeadline(time.Now()) // only a writer without a connection cannot
}

func (p *bodyPool) remove(a *arrival) {
	for _, at := range a.queued {
		queue := p.queues[at.network]
		if queue.Remove(at.element); queue.Len() == 0 {
			delete(p.queues, at.network)
		}
	}
	a.queued = nil
}

// prolong gives a body until end, and reports whether it may be received until then.
func (p *bodyPool) prolong(mine *arrival, end time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !mine.displaced && mine.controller.SetReadDeadline(end) == nil
}

// end reports whether the body was displaced. Its connection has a deadline in the past then: the
// request cannot go on, even if the body is complete.
func (p *bodyPool) end(mine *arrival) (displaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(mine)
	return mine.displaced
}

// len is how many bodies are being received.
func (p *bodyPool) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all := p.queues[everyone]; all != nil {
		return all.Len()
	}
	return 0
}

// bodyPools are the pools of bodies: one for the requests of operators, and one for all others. A
// request belongs to the operators' pool if its path is one of theirs and its wallet header names
// one of them; anyone can write that, which is why the pool has shares and displaces.
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
func (s *Server) bodyPool(req *request, route route) *bodyPool {
	if route.access == operator {
		wallet, err := sortie.ParseAddress(req.http.Header.Get(sortie.HeaderWallet))
		if err == nil && s.config.Operators.IsOperator(wallet) {
			return s.bodies.operator
		}
	}
	return s.bodies.signed
}
