package follower

import (
	"testing"
	"time"
)

// The follower reports the time of every head, also of one that it refuses because its time is in
// the future.
func TestTheHeadsTimeIsHandedOver(t *testing.T) {
	t.Parallel()
	r := newTestChain(t, 1, 2)
	type head struct {
		number uint64
		at     time.Time
	}
	var seen []head
	r.follower.config.OnHead = func(number uint64, at time.Time) { seen = append(seen, head{number, at}) }
	r.mustSettle()
	r.later()
	r.chain.Mine()
	r.mustSettle()
	want := head{r.chain.Head(), r.clock.Now().UTC().Truncate(time.Second)}
	if len(seen) == 0 || seen[len(seen)-1] != want {
		t.Errorf("handed over %v, want the last to be %v", seen, want)
	}
	r.clock.Advance(-time.Hour)
	if err := r.settle(); err == nil {
		t.Error("a block an hour ahead is followed, want it refused")
	}
	if got := seen[len(seen)-1]; got != want {
		t.Errorf("handed over %v of the refused block, want %v", got, want)
	}
}
