package app

import (
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A service clock that is wrong rejects honest work and signs quotes that are dead on arrival, and
// nothing on the machine notices. Two clocks from outside are compared with it:
//
//   - The time of new blocks, as they arrive. A chain that makes no blocks says nothing, nor does a node that catches up, nor a
//     development chain, which can jump.
//   - The timestamps of signed requests, by network: the /48 of an IPv6 address, the /24 of an IPv4 address. Wallets and
//     timestamps are anyone's choice, so they count only while blocks say nothing, and had the time to say something, and only
//     when many networks agree.
const (
	// MaxClockOffset is how far the service's clock may be from the others before it is in doubt.
	MaxClockOffset = time.Minute

	blockSamples     = 8
	minBlockSamples  = 3
	minSampleSpan    = 30 * time.Second // that the samples must cover
	minSampleGap     = 5 * time.Second  // between samples, so that fast chains cover the span
	blockSampleLife  = time.Hour
	maxArrivalGap    = 30 * time.Minute // between two looks, after which the arrival of a block was not seen
	blocksFirst      = 2 * time.Minute  // after the start, in which requests do not count where blocks can
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
	Offset  time.Duration // by which the service's clock is ahead of the others; negative: behind
	InDoubt bool          // Offset is more than MaxClockOffset, either way
	By      string        // what says so: blocks or requests
}

// clockWatch compares the service's clock with others. It is safe for concurrent use.
type clockWatch struct {
	now         func() time.Time
	trustBlocks bool
	log         *slog.Logger

	mutex    sync.Mutex
	started  time.Time
	lastSeen blockSample // the newest block that was seen
	blocks   []blockSample
	requests map[netip.Prefix]requestSample // the newest of each network
	doubted  bool                           // as was logged
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

// ObserveBlock tells of the newest block of the chain, each time that it is looked at.
func (l *Ledger) ObserveBlock(number uint64, at time.Time) { l.clock.observeBlock(number, at) }

// ObserveRequest tells of the timestamp of a signed request, and of the address that it came from.
func (a *App) ObserveRequest(address netip.Prefix, signed time.Time) {
	a.clock.observeRequest(address, signed)
}

// Clock says what is known about the service's clock. The log is told when it comes into doubt, so
// ask from time to time.
func (a *App) Clock() ClockState { return a.clock.state() }

func (c *clockWatch) observeBlock(number uint64, at time.Time) {
	if !c.trustBlocks {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.now()
	if now.Before(c.lastSeen.seen) { // the clock was set back: what was measured by it no longer counts
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
		return // when it arrived was not seen
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

// sawRequest keeps the newest request of each network. With all places taken, a new network
// replaces one that was silent for long: new networks cost an attacker little, and must not outvote
// those that are already heard.
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

// forgetRequests removes the requests of long ago.
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

// byBlocks compares with the blocks that arrived. They agree on an offset only if they came at the
// pace of the clock.
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

// tell logs when the clock comes into doubt, and when the doubt ends.
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
