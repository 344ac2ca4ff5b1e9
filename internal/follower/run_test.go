package follower

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// waits replaces time: the test receives and ends every wait.
type waits struct{ asked chan wait }

type wait struct {
	length time.Duration
	over   chan time.Time
}

func (w waits) after(d time.Duration) <-chan time.Time {
	one := wait{d, make(chan time.Time, 1)}
	w.asked <- one
	return one.over
}

// running is a testChain whose follower runs.
type running struct {
	*testChain
	waits  waits
	cancel context.CancelFunc
	ended  chan error
}

func run(t *testing.T, r *testChain) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	run := &running{r, waits{make(chan wait)}, cancel, make(chan error, 1)}
	r.follower.after = run.waits.after
	go func() { run.ended <- r.follower.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for {
			select {
			case <-run.waits.asked:
			case err := <-run.ended:
				if err != nil {
					t.Error(err)
				}
				return
			}
		}
	})
	return run
}

// next returns the wait after the current step.
func (r *running) next() wait { return <-r.waits.asked }

func (w wait) end() { w.over <- time.Time{} }

func TestRunFollowsAndCanBeWoken(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	var tips []uint64
	r.follower.config.OnProgress = func(p Progress) { tips = append(tips, p.Position.Tip.Number) }
	r.chain.MineEmpty(3)
	running := run(t, r)
	pause := running.next()
	r.canonical()
	if pause.length != minInterval {
		t.Errorf("first wait: got %s, want the minimum", pause.length)
	}
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	pause.end()
	running.next()
	r.canonical()

	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(2)))
	for range 10 { // many calls count as one
		r.follower.Wake()
	}
	if gap := running.next(); gap.length != minGap {
		t.Errorf("wait after Wake: got %s, want the minimum gap", gap.length)
	} else {
		gap.end()
	}
	running.next().end()
	r.canonical()
	running.next()
	if !slices.Equal(tips, []uint64{3, 4, 5}) {
		t.Errorf("progress: got tips %v, want 3, 4, 5", tips)
	}
}

// While nodes are down, the waits grow and Wake has no effect. The backoff ends when they are back.
func TestRunBacksOff(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.mustSettle()
	r.nodes[0].SetLie(chaintest.Lie{HTTP: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }})
	running := run(t, r)
	longest := time.Duration(0)
	for i := range 20 {
		r.follower.Wake()
		pause := running.next()
		if ideal := min(minInterval<<i, maxBackoff); pause.length < ideal/2 || pause.length > ideal {
			t.Errorf("wait %d is %s, want about %s", i, pause.length, ideal)
		}
		longest = max(longest, pause.length)
		pause.end()
	}
	if longest < maxBackoff/2 {
		t.Errorf("longest wait: got %s, want about the maximum", longest)
	}
	r.nodes[0].SetLie(chaintest.Lie{})
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	running.next().end() // one step that failed before
	for {
		pause := running.next()
		if pause.length <= minInterval {
			break
		}
		pause.end()
	}
	r.canonical()
}

func TestRunContinuesAfterAConflict(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, Finalized)
	r.mustSettle()
	r.ledger.failure = onchain.ErrConflict
	r.chain.Mine(chaintest.FundingLog(chaintest.Terms(1)))
	running := run(t, r)
	pause := running.next()
	if pause.length > minInterval {
		t.Errorf("wait after a conflict: got %s, want at most the minimum interval", pause.length)
	}
	r.ledger.mutex.Lock()
	r.ledger.failure = nil
	r.ledger.mutex.Unlock()
	pause.end()
	running.next()
	r.canonical()
}

func TestIntervalFollowsTheBlocks(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_790_000_000, 0)
	for blockTime, want := range map[time.Duration]time.Duration{
		250 * time.Millisecond: minInterval, time.Second: 250 * time.Millisecond, 2 * time.Second: 500 * time.Millisecond,
		12 * time.Second: maxInterval, 24 * time.Hour: maxInterval, -time.Hour: minInterval,
	} {
		var p pace
		for i := range uint64(100) {
			p.observe(onchain.Block{Number: i, Time: at}, onchain.Block{Number: i + 1, Time: at.Add(blockTime)})
		}
		if got := p.interval(); got < want-want/50 || got > want+want/50 {
			t.Errorf("for blocks every %s it looks every %s, want %s", blockTime, got, want)
		}
	}
}

// The first block of a chain may be much older than the second, and a chain may have been stopped.
func TestAGapIsNoPace(t *testing.T) {
	t.Parallel()
	var p pace
	at := time.Unix(1_790_000_000, 0)
	step := func(number uint64, gap time.Duration) {
		p.observe(onchain.Block{Number: number, Time: at}, onchain.Block{Number: number + 1, Time: at.Add(gap)})
	}
	step(0, 300*24*time.Hour)
	for i := range uint64(5) {
		step(1+i, time.Second)
	}
	if got := p.interval(); got > 300*time.Millisecond {
		t.Errorf("interval five blocks after a gap: got %s, want at most 300ms", got)
	}
	step(6, time.Hour)
	if got := p.interval(); got > 500*time.Millisecond {
		t.Errorf("interval after a gap: got %s, want at most 500ms", got)
	}
}

func TestFinalityIsReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Finality{"finalized": Finalized, "1": 1, "64": 64} {
		got, err := ParseFinality(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("parse %s: got %v, %v, want the same text", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1.5", "latest", "99999999999"} {
		if got, err := ParseFinality(text); err == nil {
			t.Errorf("parse %q: got %v, want an error", text, got)
		}
	}
}

func TestStateIsTheWorstOfTheAlarms(t *testing.T) {
	t.Parallel()
	for want, kinds := range map[string][]string{
		StateOK: {AlarmNoFinality}, StateBehind: {AlarmStalled, AlarmBehind}, StateUnavailable: {AlarmBehind, AlarmUnreachable},
		StateDisagreement: {AlarmUnreachable, AlarmBadAnswer, AlarmStalled},
	} {
		var status Status
		for _, kind := range kinds {
			status.Alarms = append(status.Alarms, Alarm{Kind: kind})
		}
		if got := status.State(); got != want {
			t.Errorf("%v is %s, want %s", kinds, got, want)
		}
	}
}
