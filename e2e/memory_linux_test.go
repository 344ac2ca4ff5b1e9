package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// idleMemory is the goal for the anonymous memory of an idle `serve`: heaps and stacks.
// Pages of the program file do not count: the kernel can share and drop them.
const idleMemory = 40 << 20

// TestAnIdleServiceIsSmall reads RssAnon of a service that runs all its parts and has no requests.
func TestAnIdleServiceIsSmall(t *testing.T) {
	t.Parallel()
	dev := startDev(t)
	files := t.TempDir()
	s := startServe(t, append(dev.serveEnvironment(t, "sqlite:"+filepath.Join(files, "sortie.db")),
		"SORTIE_SETTLER=dev:7", "SORTIE_SENDER=dev:8", "SORTIE_MEDIA=file:"+filepath.Join(files, "media"),
		"SORTIE_MEDIA_ISOLATION=best-effort")...)
	settled := []*regexp.Regexp{
		regexp.MustCompile(`(?m)^sortie_chain_following 1$`),
		regexp.MustCompile(`(?m)^sortie_sender_sending 1$`),
		regexp.MustCompile(`(?m)^sortie_books_agree 1$`),
	}
	s.await(t, "the follower, the sender and the comparison of the books", func() bool {
		metrics := getText(t, s.url+"/metrics")
		for _, figure := range settled {
			if !figure.MatchString(metrics) {
				return false
			}
		}
		return true
	})
	got := anonymousMemory(t, s.command.Process.Pid)
	t.Logf("RssAnon of an idle serve: %.1f MiB", float64(got)/(1<<20))
	if got >= idleMemory {
		t.Errorf("RssAnon of an idle serve: got %.1f MiB, want less than %d MiB", float64(got)/(1<<20), idleMemory>>20)
	}
}

// anonymousMemory returns RssAnon of a process in bytes.
func anonymousMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		t.Fatalf("RssAnon in /proc/%d/status: %v", pid, err)
	}
	return kilobytes << 10
}
