package devnet

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func second(at time.Time) uint64 { return uint64(at.Unix()) }

func TestPaceOfTheNextBlock(t *testing.T) {
	t.Parallel()
	usual := pace{interval: time.Second, lead: defaultClockLead}
	cases := []struct {
		name     string
		pace     pace
		headTime uint64
		waiting  time.Time
		want     time.Duration // after noon, when the head was sealed
	}{
		{"idle, at the back of the window", usual, second(noon) - 12, time.Time{}, time.Second},
		{"idle, at the middle of the window", usual, second(noon) - 6, time.Time{}, time.Second},
		{"idle, in the front half: slower", usual, second(noon) - 5, time.Time{}, 1100 * time.Millisecond},
		{"a transaction: at once", usual, second(noon) - 12, noon.Add(300 * time.Millisecond), 315 * time.Millisecond},
		{"a transaction, one second of room left", usual, second(noon) + 1, noon.Add(300 * time.Millisecond), 315 * time.Millisecond},
		{"a transaction at the front edge: wait for the clock", usual, second(noon) + 2, noon.Add(300 * time.Millisecond), time.Second},
		{"idle at the front edge", usual, second(noon) + 2, time.Time{}, 1100 * time.Millisecond},
		{"a transaction just before an idle block", usual, second(noon) - 12, noon.Add(999 * time.Millisecond), time.Second},
		{"clock set back by ten seconds", usual, second(noon) + 10, noon, 9 * time.Second},
		{"long interval", pace{time.Hour, defaultClockLead}, second(noon) - 12, time.Time{}, time.Hour},
		{"any lead", pace{10 * time.Millisecond, time.Hour}, second(noon) + 3000, noon, 11 * time.Millisecond},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.pace.due(c.headTime, noon, c.waiting).Sub(noon); got != c.want {
				t.Errorf("next block is due after %s, want %s", got, c.want)
			}
		})
	}
}

func TestPaceOfTimestamps(t *testing.T) {
	t.Parallel()
	usual := pace{interval: time.Second, lead: defaultClockLead}
	for _, c := range []struct {
		name           string
		headTime, want uint64
	}{
		{"after a long stop", second(noon) - 86400, second(noon) - 12},
		{"inside the window", second(noon) - 7, second(noon) - 6},
		{"ahead", second(noon) + 1, second(noon) + 2},
	} {
		if got := usual.timestamp(c.headTime, noon.Add(900*time.Millisecond)); got != c.want {
			t.Errorf("%s: timestamp is noon%+d s, want noon%+d s", c.name, int64(got-second(noon)), int64(c.want-second(noon)))
		}
	}
}

// TestPaceHoldsTheClock lets transactions arrive at random moments of random traffic and looks at
// every block.
func TestPaceHoldsTheClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		usual := pace{interval: time.Second, lead: defaultClockLead}
		busy := rapid.IntRange(1, 3000).Draw(t, "mean gap between transactions, ms")
		now, head, sealedAt := noon, second(noon)-12, noon
		var waiting time.Time
		arrival := now
		for range 200 {
			gap := rapid.IntRange(0, 2*busy).Draw(t, "gap")
			arrival = arrival.Add(time.Duration(gap) * time.Millisecond)
			for due := usual.due(head, sealedAt, waiting); !due.After(arrival); due = usual.due(head, sealedAt, waiting) {
				if longest := 1100*time.Millisecond + time.Millisecond; due.Sub(sealedAt) > longest {
					t.Fatalf("%s between two blocks, want at most %s", due.Sub(sealedAt), longest)
				}
				if !waiting.IsZero() && due.Sub(waiting) > time.Second+gatherTime {
					t.Fatalf("a transaction waits %s", due.Sub(waiting))
				}
				now = due
				timestamp := usual.timestamp(head, now)
				if timestamp <= head {
					t.Fatalf("timestamp %d after %d", timestamp, head)
				}
				if lead := ahead(timestamp, now); lead > defaultClockLead {
					t.Fatalf("a block is %s ahead of the clock", lead)
				} else if lead < -clockLag-time.Second {
					t.Fatalf("a block is %s late, want at most %s", -lead, clockLag+time.Second)
				}
				head, sealedAt, waiting = timestamp, now, time.Time{}
			}
			now = arrival
			if waiting.IsZero() {
				waiting = now
			}
		}
	})
}
