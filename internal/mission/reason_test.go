package mission_test

import (
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

func TestReasons(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The place is private.":         "The place is private.",
		"  First.\r\nSecond.\rThird. ":  "First.\nSecond.\nThird.",
		strings.Repeat("ł", 1000) + " ": strings.Repeat("ł", 1000),
	} {
		for _, required := range []bool{false, true} {
			if got, err := mission.NormalizeReason(text, required); err != nil || got != want {
				t.Errorf("NormalizeReason(%.40q, %t): got %.40q, error %v; want %.40q", text, required, got, err, want)
			}
		}
	}
	for _, blank := range []string{"", " \n\t "} {
		if got, err := mission.NormalizeReason(blank, false); err != nil || got != "" {
			t.Errorf("NormalizeReason(%q, false): got %q, error %v; want an empty reason", blank, got, err)
		}
		_, err := mission.NormalizeReason(blank, true)
		wantCode(t, err, sortie.CodeValidationFailed)
	}
}

func TestNormalizeReasonRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("x", 1001), "escape \x1b[2J", "right-to-left \u202e override", "tag \U000E0041", "\u200b",
	} {
		got, err := mission.NormalizeReason(text, true)
		wantCode(t, err, sortie.CodeValidationFailed)
		if got != "" {
			t.Errorf("refused reason %.40q: got %.40q, want an empty one", text, got)
		}
	}
}
