package sender_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

// An intent that the operator holds waits without an alarm, and is sent soon after its release.
func TestAnIntentThatIsHeldBack(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 1, sqliteDatabase(t))
	held := true
	r.config.Prepare = map[string]sender.Prepare{"close": func(ctx context.Context, intent store.Intent) (sortie.Address, []byte, error) {
		if held {
			return sortie.Address{}, nil, fmt.Errorf("%w: the books are compared", sender.ErrHeld)
		}
		return r.prepareClose(ctx, intent)
	}}
	r.restart()
	r.want(r.Missions...)
	for range 10 {
		r.step()
		r.clock.advance(3 * time.Second)
	}
	r.wantAlarm(sender.AlarmUnprepared, false)
	if got := r.intent(r.Missions[0]); got.Problem != "" || got.Status != store.IntentQueued {
		t.Errorf("held back: got %s with problem %q, want it queued without one", got.Status, got.Problem)
	}
	held = false
	r.step()
	if got := r.intent(r.Missions[0]); got.Status != store.IntentSent {
		t.Errorf("after the hold: got %s, want it sent", got.Status)
	}
}
