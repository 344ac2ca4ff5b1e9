package api

import (
	"math"
	"net/http"
	"strings"
)

// selection is the kind of answer to a request for a file.
type selection int

const (
	wholeFile      selection = iota // 200
	partOfFile                      // 206
	notModified                     // 304: the client has the file
	notMatched                      // 412: the client wants another file
	notSatisfiable                  // 416: the range is outside the file
)

// selectPart evaluates the conditional and Range headers of a GET or HEAD of a file, by RFC 9110
// section 13.2.2. The tag is strong. Files have no modification date, so If-Modified-Since and
// If-Unmodified-Since are ignored, and an If-Range date does not match.
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

// namesTag reports whether the header lines contain the entity tag or *. A weak comparison treats
// W/"x" as "x".
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

// nextTag splits the first element off a list of entity tags. Our own tags contain no commas.
func nextTag(line string) (one, rest string) {
	one, rest, _ = strings.Cut(line, ",")
	return strings.Trim(one, " \t"), rest
}

// parseRange parses a Range header. Several ranges, other units and invalid ranges select the whole
// file, as RFC 9110 allows: multipart answers are not needed for media and have been used to
// exhaust servers.
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
	case first == "" && okLast: // a suffix range
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

// parsePosition parses digits. A number that does not fit is capped above every file size.
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
