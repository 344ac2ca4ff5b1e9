package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

const siegeTime = 8 * time.Second // no further round of kills begins after this

// onEveryEngine runs a test for each database engine, all on one development chain. The environment
// configures a service with an empty database.
func onEveryEngine(t *testing.T, test func(t *testing.T, environment []string)) {
	t.Parallel()
	dev := startDev(t)
	for engine, database := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "sortie.db") },
		"postgres": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, dev.serveEnvironment(t, database(t)))
		})
	}
}

// All callers post the same key at once. The first kill of a round happens before or after the key
// has a draft.
func TestKillLeavesOneDraftPerKey(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, environment []string) {
		s := startKillTest(t, environment)
		client := s.client(newKey(t))
		for started, round := time.Now(), 0; round < 2 || (round < 6 && time.Since(started) < siegeTime); round++ {
			key := fmt.Sprintf("Round %d", round)
			s.created.Store(0)
			s.postWhile(func(_, _ int) (*sortie.Client, string) { return client, key }, func() {
				s.killAfter(1 + rand.IntN(callers))
				s.killAfter(1 + rand.IntN(4*callers))
			})
			if created := s.created.Load(); created > 1 {
				t.Errorf("the key of round %d was answered %d times with 201 Created", round, created)
			}
		}
		s.checkAcknowledged()
	})
}

// Every caller creates draft after draft.
func TestKillLosesNoAcknowledgedDraft(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, environment []string) {
		s := startKillTest(t, environment)
		s.postWhile(s.newKeyEachTurn(), func() {
			for started, kills := time.Now(), 0; kills < 4 || (kills < 12 && time.Since(started) < siegeTime); kills++ {
				s.killAfter(1 + rand.IntN(8*callers))
			}
		})
		s.checkAcknowledged()
	})
}

// An operator stops the service under load, during a request whose body has not arrived yet.
func TestSIGTERMFinishesRequests(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, environment []string) {
		s := startKillTest(t, environment)
		s.postWhile(s.newKeyEachTurn(), func() {
			s.awaitMoments(4 * callers)
			finish := s.beginPost(newKey(t), "Begun before the stop")
			if err := s.service.command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			s.service.await(t, "refusal of new connections", s.service.refusesConnections)
			finish()
			s.service.awaitStopped(t)
			s.service = launchServe(t, environment...)
		})
		s.checkAcknowledged()
	})
}

// awaitStopped waits for a clean stop.
func (s *server) awaitStopped(t *testing.T) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		t.Fatalf("the service still runs after %s", patience)
	}
	if state := s.command.ProcessState; state.ExitCode() != 0 {
		t.Errorf("the service ended with %s, want exit code 0", state)
	}
}
