package service

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/follower"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/sender"
)

// A kind that is missing from its list has no series before its first event.
func TestListsOfKindsAreComplete(t *testing.T) {
	t.Parallel()
	stored := map[string]string{
		"IncidentFollowerStuck": onchain.IncidentFollowerStuck, "IncidentEventsSetAside": onchain.IncidentEventsSetAside,
	}
	for name, c := range map[string]struct {
		sources, constant string
		kinds             []string
	}{
		"follower.AlarmKinds":    {"../follower/*.go", `Alarm[A-Z]\w*`, follower.AlarmKinds},
		"sender.AlarmKinds":      {"../sender/*.go", `Alarm[A-Z]\w*`, sender.AlarmKinds},
		"follower.IncidentKinds": {"../follower/*.go", `Incident[A-Z]\w*`, follower.IncidentKinds},
		"app.IncidentKinds":      {"../app/*.go", `incident[A-Z]\w*`, app.IncidentKinds},
	} {
		declared := regexp.MustCompile(`(?m)^(?:\t|const )` + c.constant + ` += (?:"(\w+)"|(?:store|onchain)\.(\w+))`)
		files, err := filepath.Glob(c.sources)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
				want = append(want, cmp.Or(match[1], stored[match[2]]))
			}
		}
		got := slices.Sorted(slices.Values(c.kinds))
		slices.Sort(want)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
