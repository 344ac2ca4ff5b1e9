package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// clockTest is a service whose clock may be wrong.
type clockTest struct {
	watch *clockWatch
	world time.Time
	ahead time.Duration // of the service's clock
	block uint64
}

func newClockTest(ahead time.Duration) *clockTest {
	c := &clockTest{world: time.Unix(1_770_000_000, 0), ahead: ahead}
	c.watch = newClockWatch(func() time.Time { return c.world.Add(c.ahead) }, true, slog.New(slog.DiscardHandler))
	c.world = c.world.Add(blocksFirst)
	return c
}

// look observes blocks every second of a chain with a fixed block time.
func (c *clockTest) look(seconds, blockTime int) {
	for second := range seconds {
		c.world = c.world.Add(time.Second)
		if blockTime > 0 && second%blockTime == 0 {
			c.block++
		}
		c.watch.observeBlock(c.block, c.timeOf(blockTime))
	}
}

// timeOf is the time of the newest block, which was made a second before it arrived.
func (c *clockTest) timeOf(int) time.Time { return c.world.Add(-time.Second) }

func (c *clockTest) requests(networks int, off time.Duration) {
	for i := range networks {
		address := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51 + byte(off/time.Minute), byte(i), 1}), 32)
		c.watch.observeRequest(address, c.world.Add(off))
	}
}

// requestsOf observes requests from addresses that the pattern makes of numbers.
func (c *clockTest) requestsOf(pattern string, addresses int, off time.Duration) {
	for i := range addresses {
		c.watch.observeRequest(netip.MustParsePrefix(fmt.Sprintf(pattern, i)), c.world.Add(off))
	}
}

func TestAClockThatIsOffIsNoticed(t *testing.T) {
	t.Parallel()
	const off = 10 * time.Minute
	for _, test := range []struct {
		name    string
		ahead   time.Duration
		run     func(*clockTest)
		inDoubt bool
		by      string
	}{
		{"right by blocks", 0, func(c *clockTest) { c.look(120, 12) }, false, "blocks"},
		{"ten minutes ahead of blocks", off, func(c *clockTest) { c.look(120, 12) }, true, "blocks"},
		{"ten minutes later than blocks", -off, func(c *clockTest) { c.look(120, 12) }, true, "blocks"},
		{"ten minutes ahead of fast blocks", off, func(c *clockTest) { c.look(120, 1) }, true, "blocks"},
		{"ten minutes later than blocks of ten minutes", -off, func(c *clockTest) { c.look(3600, 600) }, true, "blocks"},
		{"fifty seconds ahead of blocks", 50 * time.Second, func(c *clockTest) { c.look(120, 12) }, false, "blocks"},
		{"fifty seconds later than blocks", -50 * time.Second, func(c *clockTest) { c.look(120, 12) }, false, "blocks"},
		{"one block is not enough", off, func(c *clockTest) { c.look(12, 12) }, false, ""},
		{"a chain that makes no blocks", 0, func(c *clockTest) {
			made := c.world
			for range 7200 {
				c.world = c.world.Add(time.Second)
				c.watch.observeBlock(7, made)
			}
		}, false, ""},
		{"a chain that made no blocks and continues", 0, func(c *clockTest) {
			for range 1200 {
				c.world = c.world.Add(time.Second)
				c.watch.observeBlock(1, time.Unix(1_760_000_000, 0))
			}
			c.block = 1
			c.look(120, 12)
		}, false, "blocks"},
		{"a node that catches up with yesterday", 0, func(c *clockTest) {
			yesterday := c.world.Add(-24 * time.Hour)
			for i := range 120 {
				c.world = c.world.Add(time.Second)
				c.watch.observeBlock(uint64(i), yesterday.Add(time.Duration(i)*12*time.Second))
			}
		}, false, ""},
		{"a development chain that jumped", 0, func(c *clockTest) {
			c.watch.trustBlocks = false
			c.ahead = off
			c.look(120, 12)
		}, false, ""},
		{"put right since", off, func(c *clockTest) {
			c.look(120, 12)
			c.ahead = 0
			c.look(13, 12)
		}, false, ""},
		{"put right since, and looked at for a while", -off, func(c *clockTest) {
			c.look(120, 12)
			c.ahead = 0
			c.look(120, 12)
		}, false, "blocks"},
		{"out of doubt when the chain has been still for long", off, func(c *clockTest) {
			c.look(120, 12)
			c.world = c.world.Add(2 * time.Hour)
		}, false, ""},
		{"right by requests", 0, func(c *clockTest) { c.requests(20, 0) }, false, "requests"},
		{"ten minutes ahead of the requests of many", off, func(c *clockTest) { c.requests(5, 0) }, true, "requests"},
		{"ten minutes ahead of the requests of few", off, func(c *clockTest) { c.requests(4, 0) }, false, ""},
		{"requests of one address", 0, func(c *clockTest) {
			for range 100 {
				c.requests(1, off)
			}
		}, false, ""},
		{"requests that lie, among honest ones", 0, func(c *clockTest) { c.requests(10, off); c.requests(4, 0) }, false, "requests"},
		{"requests that lie, while blocks say that it is right", 0, func(c *clockTest) { c.look(120, 12); c.requests(60, off) }, false, "blocks"},
		{"requests of one IPv4 /24", 0, func(c *clockTest) { c.requestsOf("203.0.113.%d/32", 100, off) }, false, ""},
		{"requests of one IPv6 /48", 0, func(c *clockTest) { c.requestsOf("2001:db8:7:%x::/64", 100, off) }, false, ""},
		{"requests of many IPv6 /48", off, func(c *clockTest) { c.requestsOf("2001:db8:%x::/64", 5, 0) }, true, "requests"},
		{"requests of many networks that lie, after honest ones", 0, func(c *clockTest) {
			c.requests(20, 0)
			c.requestsOf("2001:db8:%x::/64", 1000, off)
		}, false, "requests"},
		{"requests that lie, and honest ones of long ago", off, func(c *clockTest) {
			c.requests(requestSources, -off)
			c.world = c.world.Add(requestLife + time.Second)
			c.requestsOf("2001:db8:%x::/64", 5, 0)
		}, true, "requests"},
		{"requests before blocks had the time to speak", off, func(c *clockTest) {
			c.world = c.world.Add(-time.Second)
			c.requests(20, 0)
		}, false, ""},
		{"requests at the start, where block times are not trusted", off, func(c *clockTest) {
			c.watch.trustBlocks = false
			c.world = c.world.Add(-blocksFirst)
			c.requests(20, 0)
		}, true, "requests"},
		{"requests after the clock was set back", -off, func(c *clockTest) {
			c.watch.started = c.watch.started.Add(off)
			c.watch.state()
			c.world = c.world.Add(blocksFirst)
			c.requests(20, 0)
		}, true, "requests"},
		{"requests of long ago", off, func(c *clockTest) { c.requests(20, 0); c.world = c.world.Add(time.Hour) }, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newClockTest(test.ahead)
			test.run(c)
			got := c.watch.state()
			if got.InDoubt != test.inDoubt || got.By != test.by || got.Known != (test.by != "") {
				t.Errorf("got %+v, want in doubt %t by %q", got, test.inDoubt, test.by)
			}
			if wrong := (got.Offset - test.ahead).Abs(); got.InDoubt && wrong > 2*time.Second {
				t.Errorf("got offset %s, want %s", got.Offset, test.ahead)
			}
		})
	}
}

func TestRequestsOfManyNetworksTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	c := newClockTest(0)
	for i := range 10_000 {
		c.watch.observeRequest(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), 32), c.world)
	}
	if got := len(c.watch.requests); got != requestSources {
		t.Errorf("%d networks are kept, want %d", got, requestSources)
	}
}

// TestAPhotoIsNotRejectedForAClockInDoubt submits an honest photo to a service whose clock is ten
// minutes late.
func TestAPhotoIsNotRejectedForAClockInDoubt(t *testing.T) {
	t.Parallel()
	const behind = 10 * time.Minute
	for _, test := range []struct {
		name    string
		noticed bool
		want    sortie.SubmissionStatus
	}{
		{"not noticed", false, sortie.SubmissionRejected},
		{"noticed by blocks", true, sortie.SubmissionFlagged},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := openTestMedia(t, sqliteDatabase(t), func(config *Config) { config.TrustBlockTime = true })
			draft := s.publish("k", 3, "")
			for block := range uint64(10) {
				s.pass(12 * time.Second)
				if test.noticed {
					s.ledger.ObserveBlock(block, s.clock().Add(behind))
				}
			}
			if got := s.app.Clock().InDoubt; got != test.noticed {
				t.Fatalf("the clock is in doubt: %t, want %t", got, test.noticed)
			}
			file := photo(1)
			declared, _, err := s.app.Declare(context.Background(), testBase, bob, testNetwork, draft.MissionID, "one", declaration(file, s.clock().Add(behind)))
			s.must(err)
			s.upload(declared, file)
			s.must(s.app.CheckSubmission(context.Background(), declared.SubmissionID))
			if got := s.submission(declared.SubmissionID); got.Status != test.want {
				t.Errorf("the submission is %s (%s), want %s", got.Status, fmt.Sprint(got.Reason), test.want)
			}
		})
	}
}
