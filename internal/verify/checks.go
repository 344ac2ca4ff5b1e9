package verify

import (
	"fmt"
	"time"
)

// checksVersion is part of every verdict's policy. Another check, weight, bound or consequence is
// another version.
const checksVersion = "checks-3"

type consequence byte

const (
	reject consequence = iota
	flag               // there can be an innocent reason: a person decides
)

// check is one question about a submission. The weights of all add up to 100.
type check struct {
	name      string
	weight    int
	onFailure consequence
	question  func(Input) (passed bool, reason string)
	ofMedia   bool // asks about what was found in the file
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

// judge asks a check's question, unless there is nothing to ask it about: what was not seen has not
// passed.
func (c check) judge(in Input) (passed bool, reason string) {
	if c.ofMedia && in.Media == nil {
		return false, notChecked + whyUnseen(in)
	}
	return c.question(in)
}

// notChecked begins the reasons of checks that were not asked. What kept them from it is the reason
// of another one.
const notChecked = "not checked: "

// rejects reports whether a check that failed is enough to reject. A file that was taken in, but of
// which no picture could be made, may still be a good one for other programs: a person looks at it.
// So does a person when the service's own clock is in doubt.
func (c check) rejects(in Input) bool {
	switch {
	case c.name == readableCheck && in.Media != nil, c.name == windowCheck && in.ClockInDoubt:
		return false
	}
	return c.onFailure == reject
}

// whyUnseen says why nothing is known of the file's contents.
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
	case in.Media == nil:
		return false, notChecked + whyUnseen(in)
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

// maxSide is longer than the pictures of any camera, and more than most programs open. Small
// pictures are no fault by themselves: whether one shows enough is for the mission's own rules.
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

// Duplicates are not named in reasons, which contributors read: whose the other submission is
// concerns operators only.

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
	if !(accuracy >= 0 && accuracy <= most) { // written so that no number fails
		return false, fmt.Sprintf("the place is known to %s m only, the mission asks for %s m or better", in.Location.AccuracyMeters, area.MaxAccuracyMeters)
	}
	away, radius := distance(placeOf(in.Location.Lat, in.Location.Lng), placeOf(area.Lat, area.Lng)), number(area.RadiusMeters)
	said := fmt.Sprintf("the place is %.0f m from the middle of the area", away)
	if !(away <= radius+accuracy) {
		return false, fmt.Sprintf("%s, which has a radius of %s m", said, area.RadiusMeters)
	}
	return true, said
}

// clockSlack is how far a contributor's clock may be from ours.
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

// placeSlack is what the place in a file may be off beside the declared accuracy: cameras write
// down the last place they knew.
const placeSlack = 500 // m

func filePlaceAgrees(in Input) (bool, string) {
	if in.Media.Place == nil {
		return true, "the file says nothing about its place"
	}
	away := distance(in.Media.Place, placeOf(in.Location.Lat, in.Location.Lng))
	if !(away <= placeSlack+number(in.Location.AccuracyMeters)) {
		return false, fmt.Sprintf("the place in the file is %.0f m from the declared one", away)
	}
	return true, "the place in the file agrees with the declared one"
}

// The time in a file may be off by a camera's clock and by the length of a video, which some write
// down at its end. A wall clock's reading may also be off by its zone, of which the farthest is 14
// hours away.
const (
	timeSlack = 15 * time.Minute
	zoneSlack = 14 * time.Hour
)

func fileTimeAgrees(in Input) (bool, string) {
	if in.Media.CapturedAt == nil {
		return true, "the file says nothing about its time"
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
