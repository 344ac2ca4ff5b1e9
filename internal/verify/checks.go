package verify

import (
	"fmt"
	"time"
)

// checksVersion is part of every verdict's policy. It changes with every check, weight, bound and
// consequence.
const checksVersion = "checks-3"

type consequence byte

const (
	reject consequence = iota
	flag               // a person decides
)

// check is one check of a submission. The weights of all checks add up to 100.
type check struct {
	name      string
	weight    int
	onFailure consequence
	question  func(Input) (passed bool, reason string)
	ofMedia   bool // needs Media
}

const (
	readableCheck = "readable"
	windowCheck   = "captured_in_window"
)

var checks = []check{
	{name: readableCheck, weight: 15, onFailure: reject, question: isReadable},
	{name: "media_type", weight: 10, onFailure: reject, question: hasMediaType, ofMedia: true},
	{name: "pixels", weight: 5, onFailure: reject, question: hasPixels, ofMedia: true},
	{name: "duration", weight: 5, onFailure: reject, question: hasDuration, ofMedia: true},
	{name: "declared_hash", weight: 10, onFailure: reject, question: hasDeclaredHash},
	{name: "exact_duplicate", weight: 10, onFailure: flag, question: isNotRepeated},
	{name: "near_duplicate", weight: 10, onFailure: flag, question: isNotAlike, ofMedia: true},
	{name: "area", weight: 15, onFailure: reject, question: isInArea},
	{name: windowCheck, weight: 10, onFailure: reject, question: isCapturedInWindow},
	{name: "file_place_agrees", weight: 5, onFailure: flag, question: filePlaceAgrees, ofMedia: true},
	{name: "file_time_agrees", weight: 5, onFailure: flag, question: fileTimeAgrees, ofMedia: true},
}

// result is what a check found.
type result byte

const (
	passed result = iota
	failed
	notChecked // there was no media to check; another check has failed and has the reason
)

// judge runs a check, unless the input lacks what the check needs.
func (c check) judge(in Input) (found result, reason string) {
	if !c.hasInput(in) {
		return notChecked, "not checked: " + whyUnseen(in)
	}
	ok, reason := c.question(in)
	if !ok {
		return failed, reason
	}
	return passed, reason
}

// hasInput reports whether the input holds what the check needs.
func (c check) hasInput(in Input) bool {
	switch {
	case c.ofMedia:
		return in.Media != nil
	case c.name == readableCheck:
		return in.Media != nil || in.Problem != nil
	}
	return true
}

// rejects reports whether a failed check rejects the submission. A file without a thumbnail may
// still be readable by other programs, and the service's clock may be wrong: then a person decides.
func (c check) rejects(in Input) bool {
	switch {
	case c.name == readableCheck && in.Media != nil, c.name == windowCheck && in.ClockInDoubt:
		return false
	}
	return c.onFailure == reject
}

// whyUnseen is the reason that the contents of the file are not known.
func whyUnseen(in Input) string {
	if in.Problem == nil {
		return "the file is not the declared one"
	}
	return "the file cannot be used"
}

func isReadable(in Input) (bool, string) {
	switch {
	case in.Problem != nil && in.Media != nil:
		return false, "the file is in doubt: " + plainLine(in.Problem.Message)
	case in.Problem != nil:
		return false, "the file cannot be used: " + plainLine(in.Problem.Message)
	}
	return true, "the file can be read"
}

func hasMediaType(in Input) (bool, string) {
	wanted := in.Mission.Mission().MediaType
	if in.Media.Kind != wanted {
		return false, fmt.Sprintf("the file is a %s, the mission asks for a %s", in.Media.Kind, wanted)
	}
	return true, fmt.Sprintf("the file is a %s", wanted)
}

// maxSide is longer than the pictures of cameras, and more than most programs open. There is no
// lower bound: whether a small picture shows enough is up to the mission's own rules.
const maxSide = 16_384

func hasPixels(in Input) (bool, string) {
	size := fmt.Sprintf("the file has %d by %d pixels", in.Media.Width, in.Media.Height)
	switch {
	case min(in.Media.Width, in.Media.Height) < 1:
		return false, size + ", which is no picture"
	case max(in.Media.Width, in.Media.Height) > maxSide:
		return false, fmt.Sprintf("%s, at most %d on each side are taken", size, maxSide)
	}
	return true, size
}

func hasDuration(in Input) (bool, string) {
	bounds := in.Mission.Mission().Video
	if bounds == nil {
		return true, "a photo has no duration"
	}
	length := in.Media.Duration.Milliseconds() // as deliverables show it
	said := fmt.Sprintf("the video takes %d ms", length)
	switch {
	case length < bounds.MinDurationMs:
		return false, fmt.Sprintf("%s, the mission asks for at least %d", said, bounds.MinDurationMs)
	case length > bounds.MaxDurationMs:
		return false, fmt.Sprintf("%s, the mission asks for at most %d", said, bounds.MaxDurationMs)
	}
	return true, said
}

func hasDeclaredHash(in Input) (bool, string) {
	if in.UploadedHash != in.DeclaredHash {
		return false, "the uploaded bytes do not have the declared sha256"
	}
	return true, "the uploaded bytes have the declared sha256"
}

// Reasons do not name the duplicate, because contributors read them.

func isNotRepeated(in Input) (bool, string) {
	if in.ExactDuplicate != "" {
		return false, "the same file was submitted before"
	}
	return true, "the file was not submitted before"
}

func isNotAlike(in Input) (bool, string) {
	if in.NearDuplicate != "" {
		return false, "something that looks the same was submitted before"
	}
	return true, "nothing that looks the same was submitted before"
}

func isInArea(in Input) (bool, string) {
	area := in.Mission.Mission().Location
	if area == nil {
		return true, "the mission has no area"
	}
	accuracy, most := number(in.Location.AccuracyMeters), number(area.MaxAccuracyMeters)
	if !(accuracy >= 0 && accuracy <= most) { // false for NaN
		return false, fmt.Sprintf("the place is known to %s m only, the mission asks for %s m or better", in.Location.AccuracyMeters, area.MaxAccuracyMeters)
	}
	away, radius := distance(placeOf(in.Location.Lat, in.Location.Lng), placeOf(area.Lat, area.Lng)), number(area.RadiusMeters)
	said := fmt.Sprintf("the place is %.0f m from the middle of the area", away)
	if !(away <= radius+accuracy) {
		return false, fmt.Sprintf("%s, which has a radius of %s m", said, area.RadiusMeters)
	}
	return true, said
}

// clockSlack is how far a contributor's clock may differ from the service's.
const clockSlack = 5 * time.Minute

func isCapturedInWindow(in Input) (bool, string) {
	at := in.CapturedAt
	said := "captured at " + instant(at)
	if in.ClockInDoubt {
		said = "the clock of the service is in doubt; " + said
	}
	switch {
	case at.Before(in.OpensAt.Add(-clockSlack)):
		return false, said + ", before the mission began at " + instant(in.OpensAt)
	case !at.Before(in.EndsAt.Add(clockSlack)):
		return false, said + ", after the mission ended at " + instant(in.EndsAt)
	case at.After(in.UploadedAt.Add(clockSlack)):
		return false, said + ", later than the upload at " + instant(in.UploadedAt)
	}
	return true, said
}

// placeSlack is how far the place in a file may be from the declared one in addition to the
// declared accuracy: cameras write the last place they knew.
const placeSlack = 500 // m

func filePlaceAgrees(in Input) (bool, string) {
	if in.Media.Place == nil {
		return true, "the file has no place"
	}
	away := distance(in.Media.Place, placeOf(in.Location.Lat, in.Location.Lng))
	if !(away <= placeSlack+number(in.Location.AccuracyMeters)) {
		return false, fmt.Sprintf("the place in the file is %.0f m from the declared one", away)
	}
	return true, "the place in the file agrees with the declared one"
}

// The time in a file may differ by the camera's clock and by the length of a video, because some
// cameras write the time of its end. Local time may also differ by its zone, at most 14 hours.
const (
	timeSlack = 15 * time.Minute
	zoneSlack = 14 * time.Hour
)

func fileTimeAgrees(in Input) (bool, string) {
	if in.Media.CapturedAt == nil {
		return true, "the file has no time"
	}
	slack := timeSlack
	if in.Media.ZoneUnknown {
		slack += zoneSlack
	}
	if off := in.Media.CapturedAt.Sub(in.CapturedAt); off < -slack || off > slack {
		return false, fmt.Sprintf("the time in the file, %s, does not agree with the declared one, %s", instant(*in.Media.CapturedAt), instant(in.CapturedAt))
	}
	return true, "the time in the file agrees with the declared one"
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
