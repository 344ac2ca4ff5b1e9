package api

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"
)

// logBook keeps the lines of a log for a test to read.
type logBook struct{ lines chan string }

func newLogBook() logBook { return logBook{make(chan string, 10_000)} }

func (b logBook) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write takes one line: slog writes each record at once.
func (b logBook) Write(line []byte) (int, error) {
	b.lines <- string(line)
	return len(line), nil
}

// next waits for a line. Lines are written after the answer, so a test that has an answer may still have to wait.
func (b logBook) next(t testing.TB) (line map[string]any) {
	t.Helper()
	text := b.nextText(t)
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return line
}

func (b logBook) nextText(t testing.TB) string {
	t.Helper()
	select {
	case text := <-b.lines:
		return text
	case <-time.After(20 * time.Second):
		t.Fatal("no line was written")
		return ""
	}
}
