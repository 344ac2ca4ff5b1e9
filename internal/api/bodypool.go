package api

import (
	"container/list"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// How many bodies are received at a time for each request that may be in flight: a body costs
// memory but no work.
const (
	bodiesPerRequest         = 4
	operatorBodiesPerRequest = 1
)

// bodyPool bounds how many bodies are received at a time, in all, of one address and of one IPv6
// /48. The sender of a body is unknown until it is complete, because the signature covers it. So no
// new body is refused: at a bound, it displaces the oldest body within that bound. An honest body
// arrives within a round trip; to displace it, an attacker has to start as many bodies as the bound
// allows in that time.
type bodyPool struct {
	size  int
	share int // of one address; 0: no bound

	mu     sync.Mutex
	queues map[netip.Prefix]*list.List // of *arrival, the oldest first; by address, by network and for everyone
}

// everyone is the network of all clients.
var everyone = netip.PrefixFrom(netip.IPv6Unspecified(), 0)

// arrival is a body that is being received.
type arrival struct {
	controller *http.ResponseController
	queued     []queued // empty when the body is complete or displaced
	displaced  bool
}

// queued is an arrival's element in one queue.
type queued struct {
	network netip.Prefix
	element *list.Element
}

// bodyBound is the limit on bodies of one network.
type bodyBound struct {
	network netip.Prefix
	limit   int
}

func newBodyPool(size, share int) *bodyPool {
	return &bodyPool{size: size, share: share, queues: make(map[netip.Prefix]*list.List)}
}

// bounds returns the bounds for a body of an address, the narrowest first.
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

// receive calls read, which reads the body of the request.
func (p *bodyPool) receive(req *request, read func() error) error {
	mine := p.begin(req)
	err := read()
	if p.end(mine) {
		return sortie.NewError(sortie.CodeServiceUnavailable, "too many bodies are being received, and the body of this request took too long; send it again").Because(err)
	}
	return err
}

func (p *bodyPool) begin(req *request) *arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := &arrival{controller: http.NewResponseController(req.ResponseWriter)}
	for _, bound := range p.bounds(req.address) {
		queue := p.queues[bound.network]
		if queue != nil && queue.Len() >= bound.limit {
			p.displace(queue.Front().Value.(*arrival))
			queue = p.queues[bound.network] // displace deletes a queue that becomes empty
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
	_ = oldest.controller.SetReadDeadline(time.Now()) // fails only without a connection
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

// prolong sets the deadline of a body. It reports false if the body was displaced.
func (p *bodyPool) prolong(mine *arrival, end time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !mine.displaced && mine.controller.SetReadDeadline(end) == nil
}

// end reports whether the body was displaced. If so, the connection's deadline has passed, and the
// request must fail even if the body is complete.
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

// bodyPools holds one pool for requests of operators and one for all others. A request belongs to
// the operators' pool if its path is an operator path and its wallet header names an operator. Any
// client can send such a header, so this pool has bounds too.
type bodyPools struct{ signed, operator *bodyPool }

func newBodyPools(inFlight int, limits *Limits) bodyPools {
	share := 0
	if limits != nil {
		share = limits.AddressBodies
	}
	return bodyPools{
		signed:   newBodyPool(bodiesPerRequest*inFlight, share),
		operator: newBodyPool(operatorBodiesPerRequest*inFlight, (share+operatorBodyShare-1)/operatorBodyShare),
	}
}

// operatorBodyShare divides the share of an address for the operators' pool.
const operatorBodyShare = 4

// bodyPool returns the pool for the body of a request.
func (s *Server) bodyPool(req *request, route route) *bodyPool {
	if route.access == operator {
		wallet, err := sortie.ParseAddress(req.http.Header.Get(sortie.HeaderWallet))
		if err == nil && s.config.Operators.IsOperator(wallet) {
			return s.bodies.operator
		}
	}
	return s.bodies.signed
}
