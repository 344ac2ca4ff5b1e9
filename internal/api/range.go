package api

import (
	"math"
	"net/http"
	"strings"
)

// selection is what a request for a file gets.
type selection int

const (
	wholeFile      selection = iota // 200
	partOfFile                      // 206
	notModified                     // 304: the client has it
	notMatched                      // 412: the client wants another one
	notSatisfiable                  // 416: there are no such bytes
)

// selectPart decides, by RFC 9110 section 13.2.2, what a GET or HEAD of a file with this strong
// entity tag and size gets. Files have no date of their own: conditions on one are not met, or
// ignored.
func selectPart(method string, header http.Header, tag string, size int64) (selection, part) {
	whole := part{0, size}
	if match := header["If-Match"]; len(match) > 0 && !namesTag(match, tag, false) {
		return notMatched, whole
	}
	if match := header["If-None-Match"]; len(match) > 0 && namesTag(match, tag, true) {
		return notModified, whole
	}
	ranges := header["Range"]
	if len(ranges) != 1 || method != http.MethodGet {
		return wholeFile, whole
	}
	if condition := header["If-Range"]; len(condition) > 0 && (len(condition) > 1 || condition[0] != tag) {
		return wholeFile, whole
	}
	return parseRange(ranges[0], size)
}

// namesTag reports whether one of the entity tags in these header lines is the given one. A weak
// comparison takes W/"x" for "x".
func namesTag(lines []string, tag string, weak bool) bool {
	for _, line := range lines {
		for line != "" {
			var one string
			one, line = nextTag(line)
			if weak {
				one = strings.TrimPrefix(one, "W/")
			}
			if one == tag || one == "*" {
				return true
			}
		}
	}
	return false
}

// nextTag takes the first element from a list of entity tags. Tags hold no commas that we could
// have made.
func nextTag(line string) (one, rest string) {
	one, rest, _ = strings.Cut(line, ",")
	return strings.Trim(one, " \t"), rest
}

// parseRange reads a Range header. Several ranges at once, other units and what is no range at all
// are answered with the whole file, as RFC 9110 allows: nobody downloads media that way, and
// several parts in one answer have been used to exhaust servers.
func parseRange(text string, size int64) (selection, part) {
	whole := part{0, size}
	unit, set, found := strings.Cut(text, "=")
	set = strings.Trim(set, " \t")
	first, last, dashed := strings.Cut(set, "-")
	if !found || !dashed || !strings.EqualFold(unit, "bytes") {
		return wholeFile, whole
	}
	from, okFirst := parsePosition(first)
	to, okLast := parsePosition(last)
	switch {
	case first == "" && okLast: // the last bytes
		if to == 0 || size == 0 {
			return notSatisfiable, whole
		}
		length := min(to, size)
		return partOfFile, part{size - length, length}
	case !okFirst || (last != "" && !okLast) || (last != "" && to < from):
		return wholeFile, whole
	case from >= size:
		return notSatisfiable, whole
	case last == "":
		to = size - 1
	}
	return partOfFile, part{from, min(to, size-1) - from + 1}
}

// parsePosition reads digits. A number beyond all files is as good as the largest.
func parsePosition(text string) (position int64, ok bool) {
	if text == "" {
		return 0, false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
		if position > (math.MaxInt64-9)/10 {
			position = math.MaxInt64 / 10 // stays above every size
			continue
		}
		position = position*10 + int64(c-'0')
	}
	return position, true
}
