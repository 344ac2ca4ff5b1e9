package foreign_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie/internal/foreign"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Fine.":                             "Fine.",
		" a \r\n\tb\u2028c\u0085d ":         "a b c d",
		"\x1b[31mred\x07\x00\x7f\u009b":     "[31mred",
		"\u202egnp.exe\u2066\ufeff":         "gnp.exe",
		"e\u0301":                           "é",
		"می\u200cخواهم 👩\u200d🔬":            "می\u200cخواهم 👩\u200d🔬",
		"a\U000e0041\U000e0042b\uffffc\xff": "abc",
		strings.Repeat("é", 280):            strings.Repeat("é", 280),
		strings.Repeat("é", 281):            strings.Repeat("é", 277) + "...",
		strings.Repeat("x ", 200):           strings.Repeat("x ", 138) + "x...",
	} {
		if got := foreign.Line(text, 280); got != want {
			t.Errorf("Line(%q): got %q, want %q", text, got, want)
		}
	}
	if got, want := foreign.FirstLine("\n refused:\tno \nsecret", foreign.MaxMessage), "refused: no"; got != want {
		t.Errorf("FirstLine: got %q, want %q", got, want)
	}
	if got := foreign.Line(strings.Repeat("x", 10_000), foreign.NoLimit); len(got) != 10_000 {
		t.Errorf("Line without a limit: got %d characters, want 10000", len(got))
	}
}

// Any text becomes one valid line within the limit, and a line is not changed again.
func TestLineOfAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		limit := rapid.IntRange(4, 100).Draw(t, "limit")
		line := foreign.Line(text, limit)
		if utf8.RuneCountInString(line) > limit || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
			t.Fatalf("Line(%q, %d): got %q, want a valid line within the limit", text, limit, line)
		}
		if again := foreign.Line(line, limit); again != line {
			t.Fatalf("Line(%q, %d): got %q, want it unchanged", line, limit, again)
		}
	})
}
