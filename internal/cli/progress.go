package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progress draws a progress line on the terminal. Without a terminal, or with --json, it draws
// nothing.
type progress struct {
	w     io.Writer
	width func() int
	state func() progressState
	speed speedMeter

	stopped chan struct{}
	drawing sync.WaitGroup
}

// progressState is the content of the line.
type progressState struct {
	doing string  // such as Uploading
	done  float64 // from 0 to 1
	text  string  // such as "1 MB of 2 MB"
	bytes int64   // transferred so far by this process, for the speed
	left  int64   // bytes left, 0 if unknown
}

// startProgress draws the state ten times a second, until stop.
func startProgress(cmd *cobra.Command, state func() progressState) *progress {
	p := &progress{w: cmd.ErrOrStderr(), state: state, stopped: make(chan struct{})}
	terminal, ok := p.w.(*os.File)
	if wantsOutputJSON(cmd) || !ok || !term.IsTerminal(int(terminal.Fd())) || os.Getenv("TERM") == "dumb" {
		return p
	}
	p.width = func() int {
		width, _, err := term.GetSize(int(terminal.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
	p.drawing.Go(p.draw)
	return p
}

func (p *progress) draw() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.stopped:
			fmt.Fprint(p.w, "\r\x1b[K")
			return
		case <-tick.C:
		}
		state := p.state()
		line := renderProgress(state, p.speed.at(time.Now(), state.bytes), p.width()-1) // the last column would wrap
		fmt.Fprintf(p.w, "\r%s\x1b[K", line)
	}
}

// stop removes the line.
func (p *progress) stop() {
	close(p.stopped)
	p.drawing.Wait()
}

// renderProgress fits the line into width. It omits the time left first, then the speed.
func renderProgress(state progressState, bytesPerSecond float64, width int) string {
	done := min(max(state.done, 0), 1)
	parts := []string{fmt.Sprintf("%s  ", state.doing), "", fmt.Sprintf("  %3d %%  %s", int(done*100), state.text)}
	if bytesPerSecond >= 1 {
		parts = append(parts, "  "+formatBytes(int64(bytesPerSecond))+"/s")
		if seconds := float64(state.left) / bytesPerSecond; state.left > 0 && seconds < 24*3600 {
			parts = append(parts, "  "+formatDuration(time.Duration(seconds*float64(time.Second)))+" left")
		}
	}
	for len(strings.Join(parts, ""))+minBar > width && len(parts) > 3 {
		parts = parts[:len(parts)-1]
	}
	if room := width - len(strings.Join(parts, "")); room >= minBar {
		parts[1] = bar(done, min(room, maxBar))
	}
	line := strings.Join(parts, "")
	if runes := []rune(line); len(runes) > width {
		return string(runes[:max(width, 0)])
	}
	return line
}

const (
	minBar = 8
	maxBar = 32
)

// bar draws a bar in steps of half a character.
func bar(done float64, width int) string {
	halves := int(done * float64(2*width))
	full := strings.Repeat("━", halves/2)
	if halves%2 == 1 {
		full += "╸"
	}
	return full + strings.Repeat("─", width-(halves+1)/2)
}

// speedMeter measures the speed over the last seconds.
type speedMeter struct {
	samples []speedSample
}

type speedSample struct {
	at    time.Time
	bytes int64
}

const speedWindow = 4 * time.Second

func (s *speedMeter) at(now time.Time, bytes int64) (perSecond float64) {
	s.samples = append(s.samples, speedSample{now, bytes})
	for len(s.samples) > 2 && now.Sub(s.samples[1].at) >= speedWindow {
		s.samples = s.samples[1:]
	}
	first := s.samples[0]
	if elapsed := now.Sub(first.at).Seconds(); elapsed >= 0.5 {
		return max(0, float64(bytes-first.bytes)/elapsed)
	}
	return 0
}
