package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func TestProgressFitsTheTerminal(t *testing.T) {
	t.Parallel()
	state := progressState{doing: "Uploading", done: 0.5, text: "4.4 MB of 8.8 MB", bytes: 4_400_000, left: 4_400_000}
	for width, want := range map[int]string{
		100: "Uploading  ━━━━━━━━━━━━━━━━────────────────   50 %  4.4 MB of 8.8 MB  1.1 MB/s  4 s left",
		60:  "Uploading  ━━━━━━━───────   50 %  4.4 MB of 8.8 MB  1.1 MB/s",
		45:  "Uploading  ━━━━╸────   50 %  4.4 MB of 8.8 MB",
		30:  "Uploading     50 %  4.4 MB of ",
	} {
		if got := renderProgress(state, 1_100_000, width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	for width := range 140 {
		for _, done := range []float64{-1, 0, 0.01, 0.5, 0.999, 1, 2} {
			state.done = done
			if got := renderProgress(state, 1_100_000, width); utf8.RuneCountInString(got) > width {
				t.Fatalf("%d columns, %v: %q", width, done, got)
			}
		}
	}
	if got := bar(1, 10); got != strings.Repeat("━", 10) {
		t.Errorf("all of it: %q", got)
	}
	if got := bar(0.25, 10); got != "━━╸───────" {
		t.Errorf("a quarter: %q", got)
	}
}

func TestTheSpeedIsThatOfTheLastSeconds(t *testing.T) {
	t.Parallel()
	var meter speedometer
	now := time.Unix(1770000000, 0)
	if speed := meter.at(now, 0); speed != 0 {
		t.Errorf("at the start: %v", speed)
	}
	for second := 1; second <= 10; second++ { // fast at first, then slow
		bytes := int64(min(second, 5) * 1000)
		if second > 5 {
			bytes = 5000 + int64(second-5)*100
		}
		speed := meter.at(now.Add(time.Duration(second)*time.Second), bytes)
		if second == 5 && speed != 1000 || second == 10 && speed != 100 {
			t.Errorf("after %d s: %v", second, speed)
		}
	}
	if speed := meter.at(now.Add(11*time.Second), 0); speed != 0 {
		t.Errorf("after it began again: %v", speed)
	}
}

func TestNothingIsDrawnWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	startProgress(cmd, func() progressState { return progressState{doing: "Pulling"} }).stop()
	if out.Len() != 0 {
		t.Errorf("%q", out.String())
	}
}

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1500: "1.5 kB", 2_000_000: "2.0 MB", 3_210_000_000: "3.21 GB"} {
		if got := inBytes(n); got != want {
			t.Errorf("%d bytes: %s", n, got)
		}
	}
	for d, want := range map[time.Duration]string{-time.Second: "0 s", 59 * time.Second: "59 s", 90 * time.Second: "1 min", 47 * time.Hour: "47 h", 72 * time.Hour: "3 days"} {
		if got := duration(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}
