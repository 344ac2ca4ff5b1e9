package chain_test

import (
	"testing"

	"github.com/sortie-labs/sortie/internal/store"
)

func TestEveryIntentIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 20, func(t *testing.T, r *rig) {
		r.want(r.missions...)
		blocks := r.drain(20)
		r.checkExactlyOnce(r.missions, 0)
		for _, id := range r.missions {
			intent := r.intent(id)
			if intent.Status != store.IntentDone || len(intent.Attempts) != 1 || intent.Problem != "" || intent.MinedBlock == 0 {
				t.Errorf("%s: %+v", id, intent)
			}
		}
		t.Logf("%d blocks", blocks)
	})
}
