// Package foreign makes text that the service did not write safe to store, log and show: messages
// of nodes, verifier programs, signing commands and child processes, and names that clients choose.
package foreign

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of foreign text, in characters.
const (
	MaxName    = 60  // a name in an error message
	MaxReason  = 280 // a reason that contributors and creators read
	MaxMessage = 300 // a message of one program, in errors and logs
	MaxDetail  = 500 // the messages of several nodes, in alarms

	NoLimit = 0 // for text whose length was already checked
)

// Line returns text as one line of at most limit characters. It keeps visible characters, and the
// joiners and direction marks that several scripts need. Line breaks and other white space become
// single spaces. Control characters, invisible characters and invalid UTF-8 are removed.
func Line(text string, limit int) string {
	visible := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError:
			return -1
		case unicode.IsGraphic(r), 0x200C <= r && r <= 0x200F:
			return r
		}
		return -1
	}, text)
	return Cut(strings.Join(strings.Fields(norm.NFC.String(visible)), " "), limit)
}

// FirstLine is [Line] of the first line that is not empty.
func FirstLine(text string, limit int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return Line(line, limit)
}

// Cut shortens text to limit characters and marks the cut with "...".
func Cut(text string, limit int) string {
	const mark = "..."
	if limit == NoLimit || len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	end := 0
	for range limit - len(mark) {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return strings.TrimSpace(text[:end]) + mark
}
