package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxReason is how many characters of a foreign text are kept.
const maxReason = 280

// plainLine returns one printable line of a text that a program wrote. It keeps the joiners and
// direction marks that several scripts need, and marks a cut with an ellipsis.
func plainLine(text string) string {
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
	line := strings.Join(strings.Fields(norm.NFC.String(visible)), " ")
	if utf8.RuneCountInString(line) <= maxReason {
		return line
	}
	kept := []rune(line)[:maxReason-1]
	return strings.TrimSpace(string(kept)) + "…"
}
