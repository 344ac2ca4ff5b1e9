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
			t.Errorf("progress in %d columns: got %q, want %q", width, got, want)
		}
	}
	for width := range 140 {
		for _, done := range []float64{-1, 0, 0.01, 0.5, 0.999, 1, 2} {
			state.done = done
			if got := renderProgress(state, 1_100_000, width); utf8.RuneCountInString(got) > width {
				t.Fatalf("progress of %v in %d columns: got %q, want at most %d characters", done, width, got, width)
			}
		}
	}
	if got := bar(1, 10); got != strings.Repeat("━", 10) {
		t.Errorf("full bar: got %q, want 10 full characters", got)
	}
	if got := bar(0.25, 10); got != "━━╸───────" {
		t.Errorf("bar of a quarter: got %q, want ━━╸───────", got)
	}
}

func TestTheSpeedCoversTheLastSeconds(t *testing.T) {
	t.Parallel()
	var meter speedMeter
	now := time.Unix(1770000000, 0)
	if speed := meter.at(now, 0); speed != 0 {
		t.Errorf("speed at the start: got %v, want 0", speed)
	}
	for second := 1; second <= 10; second++ { // fast at first, then slow
		bytes := int64(min(second, 5) * 1000)
		if second > 5 {
			bytes = 5000 + int64(second-5)*100
		}
		speed := meter.at(now.Add(time.Duration(second)*time.Second), bytes)
		if second == 5 && speed != 1000 || second == 10 && speed != 100 {
			t.Errorf("speed after %d s: got %v, want 1000 after 5 s and 100 after 10 s", second, speed)
		}
	}
	if speed := meter.at(now.Add(11*time.Second), 0); speed != 0 {
		t.Errorf("speed after a restart: got %v, want 0", speed)
	}
}

func TestProgressNeedsATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	startProgress(cmd, func() progressState { return progressState{doing: "Pulling"} }).stop()
	if out.Len() != 0 {
		t.Errorf("got %q, want nothing", out.String())
	}
}

func TestFormatBytesAndDuration(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1500: "1.5 kB", 2_000_000: "2.0 MB", 3_210_000_000: "3.21 GB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("formatBytes(%d): got %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-time.Second: "0 s", 59 * time.Second: "59 s", 90 * time.Second: "1 min", 47 * time.Hour: "47 h", 72 * time.Hour: "3 days"} {
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%v): got %s, want %s", d, got, want)
		}
	}
}
