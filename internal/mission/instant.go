package mission

import (
	"strings"
	"time"
)

const instantLayout = "2006-01-02T15:04:05.000Z"

func formatInstant(t time.Time) string { return t.UTC().Format(instantLayout) }

// parseInstant reads an RFC 3339 time with a zone. It checks the form because time.Parse accepts
// more than the standard: a comma before the fraction, a single digit for the hour, zones of a day
// and more.
func parseInstant(text string) (t time.Time, ok bool) {
	const shortest, longest = len("2006-01-02T15:04:05Z"), 48
	if len(text) < shortest || len(text) > longest {
		return time.Time{}, false
	}
	text = strings.ToUpper(text) // the standard allows lower-case t and z
	local, zone := text[:19], text[19:]
	if !matches(local, "0000-00-00T00:00:00") {
		return time.Time{}, false
	}
	if fraction, found := strings.CutPrefix(zone, "."); found {
		fraction, zone = digitsOf(fraction)
		if fraction == "" {
			return time.Time{}, false
		}
	}
	if zone != "Z" && (!matches(zone, "+00:00") && !matches(zone, "-00:00") || zone[1:3] > "23" || zone[4:6] > "59") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC().Truncate(time.Millisecond), err == nil
}

// matches compares text with a pattern in which 0 matches any digit.
func matches(text, pattern string) bool {
	if len(text) != len(pattern) {
		return false
	}
	for i := range len(pattern) {
		isDigit := '0' <= text[i] && text[i] <= '9'
		if pattern[i] == '0' && !isDigit || pattern[i] != '0' && text[i] != pattern[i] {
			return false
		}
	}
	return true
}
