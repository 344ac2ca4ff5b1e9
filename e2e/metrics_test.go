package e2e

import (
	"bufio"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var metricName = regexp.MustCompile(`\bsortie_[a-z_]+`)

// metricNames are the metrics that the service shows now.
func (f *following) metricNames() map[string]bool {
	f.t.Helper()
	response, err := http.Get(f.service.url + "/metrics")
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	names := map[string]bool{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "#") {
			names[metricName.FindString(lines.Text())] = true
		}
	}
	return names
}

// An alert on a missing series never fires, so every documented metric exists before its first
// event.
func TestDocumentedMetricsExistFromTheStart(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, name := range metricName.FindAllString(string(text), -1) {
		documented[name] = true
	}
	if len(documented) < 10 {
		t.Fatalf("operating.md names %d metrics, want more: %v", len(documented), documented)
	}
	chain := startAnvil(t)
	f := follow(t, chain, chain.keepingFiles(sqliteIn(t), t.TempDir()))
	f.awaitTip() // before that the age of the tip is unknown
	shown := f.metricNames()
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !shown[name] {
			t.Errorf("%s is documented, and absent at the start", name)
		}
	}
	for series, labels := range map[string][]string{
		"sortie_chain_alarms": {"unreachable", "node_out_of_use"}, "sortie_chain_alarms_total": {"bad_answer"},
		"sortie_sender_alarms": {"balance_low"}, "sortie_incidents": {"finality_broken", "terms_differ"},
	} {
		for _, label := range labels {
			if got := f.metric(series, `"`+label+`"`); got != 0 {
				t.Errorf("%s of kind %s: got %v, want 0", series, label, got)
			}
		}
	}
}
