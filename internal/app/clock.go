package app

import (
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A wrong service clock rejects honest work and signs quotes that have expired, and nothing on the
// machine detects it. Two outside clocks are compared with it:
//
//   - The times of new blocks, as they arrive. A chain without new blocks, a node that catches up
//     and a development chain, whose time can jump, do not count.
//   - The timestamps of signed requests, by network: the /48 of an IPv6 address, the /24 of an IPv4
//     address. Clients choose wallets and timestamps freely, so requests count only while blocks do
//     not, and only when many networks agree.
const (
	// MaxClockOffset is how far the service's clock may be from the others before it is in doubt.
	MaxClockOffset = time.Minute

	blockSamples     = 8
	minBlockSamples  = 3
	minSampleSpan    = 30 * time.Second // that the samples must span
	minSampleGap     = 5 * time.Second  // between samples, so that fast chains cover the span
	blockSampleLife  = time.Hour
	maxArrivalGap    = 30 * time.Minute // between two observations; after more, the arrival of a block was not observed
	blocksFirst      = 2 * time.Minute  // after the start, during which only blocks count
	requestSources   = 64
	ipv4SourceBits   = 24
	minSources       = 5
	requestLife      = 10 * time.Minute
	agreeingPercent  = 80
	catchUpTolerance = 15 * time.Second
)

// ClockState is what is known about the service's clock.
type ClockState struct {
	Known   bool
	Offset  time.Duration // by which the service's clock is ahead of the others; negative: it is late
	InDoubt bool          // Offset is more than MaxClockOffset, either way
	By      string        // the source: blocks or requests
}

// clockWatch compares the service's clock with others. It is safe for concurrent use.
type clockWatch struct {
	now         func() time.Time
	trustBlocks bool
	log         *slog.Logger

	mutex    sync.Mutex
	started  time.Time
	lastSeen blockSample // the newest observed block
	blocks   []blockSample
	requests map[netip.Prefix]requestSample // the newest of each network
	doubted  bool                           // as it was logged
}

type blockSample struct {
	number   uint64
	at, seen time.Time // by the block, and by the service's clock
}

func (s blockSample) ahead() time.Duration { return s.seen.Sub(s.at) }

type requestSample struct {
	ahead time.Duration
	seen  time.Time
}

func newClockWatch(now func() time.Time, trustBlocks bool, log *slog.Logger) *clockWatch {
	return &clockWatch{now: now, started: now(), trustBlocks: trustBlocks, log: log, requests: make(map[netip.Prefix]requestSample)}
}

// ObserveBlock records the newest block of the chain, each time that the follower reads it.
func (l *Ledger) ObserveBlock(number uint64, at time.Time) { l.clock.observeBlock(number, at) }

// ObserveRequest records the timestamp of a signed request and the address of its client.
func (a *App) ObserveRequest(address netip.Prefix, signed time.Time) {
	a.clock.observeRequest(address, signed)
}

// Clock returns what is known about the service's clock, and logs when it comes into doubt: call it
// periodically.
func (a *App) Clock() ClockState { return a.clock.state() }

func (c *clockWatch) observeBlock(number uint64, at time.Time) {
	if !c.trustBlocks {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.now()
	if now.Before(c.lastSeen.seen) { // the clock was set back: discard its samples
		c.lastSeen, c.blocks = blockSample{}, nil
	}
	last := c.lastSeen
	if number <= last.number && now.Sub(last.seen) <= maxArrivalGap {
		if number == last.number {
			c.lastSeen.seen = now // it is still the newest
		}
		return
	}
	c.lastSeen = blockSample{number: number, at: at, seen: now}
	if now.Sub(last.seen) > maxArrivalGap { // also at the start
		return // its arrival was not observed
	}
	if len(c.blocks) > 0 && now.Sub(c.blocks[len(c.blocks)-1].seen) < minSampleGap {
		return
	}
	if c.blocks = append(c.blocks, c.lastSeen); len(c.blocks) > blockSamples {
		c.blocks = slices.Delete(c.blocks, 0, 1)
	}
}

// sourceOf is the network that counts as one source of requests: one customer may own all of it.
func sourceOf(address netip.Prefix) netip.Prefix {
	bits := siteBits
	if address.Addr().Is4() {
		bits = ipv4SourceBits
	}
	source, err := address.Addr().Prefix(bits)
	if err != nil {
		return address
	}
	return source
}

// observeRequest keeps the newest request of each network. When the table is full, a new network
// replaces one that was silent for long: new networks cost an attacker little and must not outvote
// known ones.
func (c *clockWatch) observeRequest(address netip.Prefix, signed time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now, source := c.now(), sourceOf(address)
	if _, known := c.requests[source]; !known && len(c.requests) >= requestSources {
		c.forgetRequests(now)
		if len(c.requests) >= requestSources {
			return
		}
	}
	c.requests[source] = requestSample{ahead: now.Sub(signed), seen: now}
}

// forgetRequests removes old requests.
func (c *clockWatch) forgetRequests(now time.Time) {
	maps.DeleteFunc(c.requests, func(_ netip.Prefix, sample requestSample) bool { return now.Sub(sample.seen).Abs() > requestLife })
}

func (c *clockWatch) state() ClockState {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	state := c.evaluate(c.now())
	c.logChange(state)
	return state
}

func (c *clockWatch) evaluate(now time.Time) ClockState {
	if state := c.byBlocks(now); state.Known {
		return state
	}
	if now.Before(c.started) { // the clock was set back
		c.started = now
	}
	if c.trustBlocks && now.Sub(c.started) < blocksFirst {
		return ClockState{}
	}
	return c.byRequests(now)
}

// byBlocks compares the clock with the blocks that arrived. They agree on an offset only if they
// arrived at the pace of the clock.
func (c *clockWatch) byBlocks(now time.Time) ClockState {
	c.blocks = slices.DeleteFunc(c.blocks, func(s blockSample) bool { return now.Sub(s.seen) > blockSampleLife })
	if len(c.blocks) < minBlockSamples {
		return ClockState{}
	}
	first, last := c.blocks[0], c.blocks[len(c.blocks)-1]
	passed, made := last.seen.Sub(first.seen), last.at.Sub(first.at)
	if passed < minSampleSpan || (made-passed).Abs() > passed/2+catchUpTolerance {
		return ClockState{}
	}
	offsets := make([]time.Duration, len(c.blocks))
	for i, sample := range c.blocks {
		offsets[i] = sample.ahead()
	}
	slices.Sort(offsets)
	lowest, highest := offsets[0], offsets[len(offsets)-1]
	return ClockState{
		Known: true, Offset: offsets[len(offsets)/2], InDoubt: lowest > MaxClockOffset || highest < -MaxClockOffset, By: "blocks",
	}
}

func (c *clockWatch) byRequests(now time.Time) ClockState {
	c.forgetRequests(now)
	var offsets []time.Duration
	ahead, behind := 0, 0
	for _, sample := range c.requests {
		offsets = append(offsets, sample.ahead)
		switch {
		case sample.ahead > MaxClockOffset:
			ahead++
		case sample.ahead < -MaxClockOffset:
			behind++
		}
	}
	if len(offsets) < minSources {
		return ClockState{}
	}
	slices.Sort(offsets)
	return ClockState{
		Known: true, Offset: offsets[len(offsets)/2], InDoubt: max(ahead, behind)*100 >= len(offsets)*agreeingPercent, By: "requests",
	}
}

// logChange logs when the clock comes into doubt, and when the doubt ends.
func (c *clockWatch) logChange(state ClockState) {
	if state.InDoubt == c.doubted {
		return
	}
	c.doubted = state.InDoubt
	if state.InDoubt {
		c.log.Error("the clock of this machine is in doubt: synchronize it; until then what fails a check of time is flagged, not rejected",
			"aheadSeconds", int(state.Offset.Seconds()), "by", state.By)
		return
	}
	c.log.Info("the clock of this machine is no longer in doubt")
}
