package e2e

import (
	"slices"
	"sync"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

const (
	crowd = 60 // contributors
	slots = 12 // that they race for
)

// Many contributors race for the slots of a mission. Each slot is given to one contributor, and the
// others get mission_full.
func TestContributorsRaceForSlots(t *testing.T) {
	t.Parallel()
	for engine, database := range map[string]func(*testing.T) string{"sqlite": sqliteIn, "postgres": func(t *testing.T) string { return pgtest.Database(t) }} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			chain := startAnvil(t)
			f := follow(t, chain, chain.keepingFiles(database(t), t.TempDir()))
			wanted := photoMission(slots)
			wanted.MaxSubmissionsPerContributor = 1
			mission := f.publish(wanted)
			winners := f.race(mission)
			if len(winners) != slots {
				t.Fatalf("contributors with one of %d slots: got %d", slots, len(winners))
			}
			var taken []uint32
			for _, winner := range winners {
				f.awaitStatus(winner, sortie.SubmissionAccepted)
				f.service.await(t, "receipt", func() bool { return f.own(winner).Receipt != nil })
				taken = append(taken, f.own(winner).Receipt.Payments[0].Slot)
			}
			slices.Sort(taken)
			for i, slot := range taken {
				if slot != uint32(i) {
					t.Fatalf("slots: got %v, want each once", taken)
				}
			}
			if delivered := f.delivered(mission); len(delivered) != slots {
				t.Errorf("delivered are %d submissions, want %d", len(delivered), slots)
			}
			f.mineUntil(func() bool { return f.count(mission, sortie.EventMissionCompleted) > 0 })
			if completed := f.count(mission, sortie.EventMissionCompleted); completed != 1 {
				t.Errorf("the mission was completed %d times, want 1", completed)
			}
		})
	}
}

// race submits a photo for every contributor at once and returns the submissions that got a slot.
func (f *following) race(d drafted) (winners []submission) {
	f.t.Helper()
	contributors, photos := make([]*sortie.Client, crowd), make([]file, crowd)
	for i := range crowd {
		contributors[i], photos[i] = f.stranger(), photo(i)
	}
	var lock sync.Mutex
	var running sync.WaitGroup
	for i := range crowd {
		running.Go(func() {
			s, err := f.tryToDeclare(contributors[i], d, photos[i])
			switch {
			case isCode(err, sortie.CodeMissionFull):
				return
			case err == nil:
				err = f.upload(s)
			}
			if err != nil {
				f.t.Errorf("contributor %d: %v", i, err)
				return
			}
			lock.Lock()
			defer lock.Unlock()
			winners = append(winners, s)
		})
	}
	running.Wait()
	return winners
}

// stranger is a contributor with a new wallet.
func (f *following) stranger() *sortie.Client {
	f.t.Helper()
	client, err := sortie.NewClient(f.service.url, newKey(f.t), sortie.WithAttempts(1))
	if err != nil {
		f.t.Fatal(err)
	}
	return client
}

// count is the number of a mission's events of a type.
func (f *following) count(d drafted, kind sortie.EventType) (count int) {
	f.t.Helper()
	for event, err := range f.creator.AllEvents(f.ctx, sortie.PageQuery{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		if event.DraftID == d.draftID && event.Type == kind {
			count++
		}
	}
	return count
}
