package mission

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMarksInARow is more than any script stacks on one letter, and fewer than cover the lines
// around it.
const maxMarksInARow = 16

// normalizeLine returns the normalized form of text of one line: NFC, trimmed, every run of white
// space replaced by one space.
func normalizeLine(text string) string {
	if isPlainLine(text) {
		return text
	}
	return strings.Join(strings.Fields(norm.NFC.String(text)), " ")
}

// isPlainLine reports whether text is already normalized: ASCII with single spaces between words.
// Most titles are.
func isPlainLine(text string) bool {
	afterSpace := true
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= utf8.RuneSelf || c == ' ' && afterSpace {
			return false
		}
		afterSpace = c == ' '
	}
	return !afterSpace || text == ""
}

// normalizeBlock returns the normalized form of text of several lines: NFC, trimmed, LF line ends.
func normalizeBlock(text string) string {
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	return strings.TrimSpace(norm.NFC.String(text))
}

// textFault returns the fault of normalized text of low to high characters. An empty code means
// none.
func textFault(text string, low, high int) (code, message string) {
	if forbidden, found := firstForbidden(text); found {
		return faultCharacter, fmt.Sprintf("has the character %U, which is invisible or changes how the text around it is shown", forbidden)
	}
	if hasTooManyMarks(text) {
		return faultCharacter, fmt.Sprintf("has more than %d combining marks in a row", maxMarksInARow)
	}
	switch length := utf8.RuneCountInString(text); {
	case length < low:
		return faultTooShort, fmt.Sprintf("has %d characters, at least %d are needed", length, low)
	case length > high:
		return faultTooLong, fmt.Sprintf("has %d characters, at most %d are allowed", length, high)
	case low > 0 && !isReadable(text):
		return faultBlank, "has no visible character"
	}
	return "", ""
}

// firstForbidden finds the first forbidden character, if any. Line feeds, carriage returns and tabs
// are allowed in text of several lines; normalization removes them from text of one line.
func firstForbidden(text string) (r rune, found bool) {
	for _, r := range text {
		if isForbidden(r) {
			return r, true
		}
	}
	return 0, false
}

func isForbidden(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\r' && r != '\t'
	case r < 0x7F:
		return false
	case r <= 0x9F: // delete and the C1 controls
		return true
	case 0x202A <= r && r <= 0x202E, 0x2066 <= r && r <= 0x2069: // bidirectional embeddings, overrides, isolates
		return true
	case 0x206A <= r && r <= 0x206F: // deprecated format characters
		return true
	case r == 0xFEFF, 0xFFF9 <= r && r <= 0xFFFB: // byte order mark, interlinear annotation
		return true
	case 0xE0000 <= r && r <= 0xE007F: // tag characters: invisible, but language models read them
		return true
	case 0xFDD0 <= r && r <= 0xFDEF, r&0xFFFE == 0xFFFE: // noncharacters
		return true
	}
	return false
}

func hasTooManyMarks(text string) bool {
	inARow := 0
	for _, r := range text {
		if r < utf8.RuneSelf || !unicode.IsMark(r) {
			inARow = 0
		} else if inARow++; inARow > maxMarksInARow {
			return true
		}
	}
	return false
}

// isReadable reports whether text has at least one visible character.
func isReadable(text string) bool {
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsPunct(r) || unicode.IsSymbol(r) {
			return true
		}
	}
	return false
}
