package verify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/verify"
)

var (
	opens  = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	ends   = opens.Add(48 * time.Hour)
	taken  = opens.Add(6 * time.Hour)
	theSum = sortie.Hash{1, 2, 3}
)

const (
	photoMission = `{"title":"Photograph the fountain","description":"In the square.","reward":{"token":"USDC","amount":2.5},"targetCount":4,
		"location":{"lat":52.52,"lng":13.405,"radiusMeters":100,"maxAccuracyMeters":50},
		"verification":{"accept":["Shows the whole fountain"],"reject":["Shows faces"]}}`
	videoMission = `{"title":"Film the fountain","mediaType":"video","reward":{"token":"USDC","amount":2.5},"targetCount":4,
		"video":{"minDurationMs":3000,"maxDurationMs":60000}}`
)

func normalized(t testing.TB, body string) mission.Normalized {
	t.Helper()
	m, err := mission.Normalize([]byte(body), sortie.Address{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// goodPhoto passes all checks.
func goodPhoto(t testing.TB) verify.Input {
	t.Helper()
	return verify.Input{
		SubmissionID: "sub_00000000000000000000000001", MissionID: "photograph-the-fountain-00000001", Mission: normalized(t, photoMission),
		OpensAt: opens, EndsAt: ends, CapturedAt: taken, UploadedAt: taken.Add(time.Minute),
		Location:     sortie.Location{Lat: "52.52", Lng: "13.405", AccuracyMeters: "10"},
		DeclaredHash: theSum, UploadedHash: theSum,
		Media: &verify.Media{Kind: sortie.MediaPhoto, Width: 4000, Height: 3000},
	}
}

func goodVideo(t testing.TB) verify.Input {
	t.Helper()
	in := goodPhoto(t)
	in.Mission = normalized(t, videoMission)
	in.Media = &verify.Media{Kind: sortie.MediaVideo, Width: 1920, Height: 1080, Duration: 20 * time.Second}
	return in
}

func noLink() (mediaURL, thumbnailURL string) { panic("a link was made that is not needed") }

func decide(t rapid.TB, mode verify.Mode, in verify.Input) verify.Verdict {
	t.Helper()
	verdict, err := verify.New(verify.Config{Mode: mode}).Check(context.Background(), in, noLink)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

func checkOf(t testing.TB, verdict verify.Verdict, name string) sortie.SubmissionCheck {
	t.Helper()
	for _, check := range verdict.Checks {
		if check.Name == name {
			return check
		}
	}
	t.Fatalf("there is no check %s in %v", name, verdict.Checks)
	return sortie.SubmissionCheck{}
}

func failed(verdict verify.Verdict) (names []string) {
	for _, check := range verdict.Checks {
		if !check.Passed {
			names = append(names, check.Name)
		}
	}
	return names
}

// at moves the declared place north by a number of meters.
func at(meters float64) func(*verify.Input) {
	return func(in *verify.Input) { in.Location.Lat = north(52.52, meters) }
}

func north(lat, meters float64) json.Number {
	const meter = 180 / (math.Pi * 6_371_008.8) // degrees
	return json.Number(fmt.Sprintf("%.6f", lat+meters*meter))
}

func captured(at time.Time) func(*verify.Input) {
	return func(in *verify.Input) { in.CapturedAt, in.UploadedAt = at, at.Add(time.Minute) }
}

func fileSays(at time.Time, zoneUnknown bool) func(*verify.Input) {
	return func(in *verify.Input) { in.Media.CapturedAt, in.Media.ZoneUnknown = &at, zoneUnknown }
}

func filePlace(lat, lng float64) func(*verify.Input) {
	place, _ := mission.MicroDegreesOf(lat, lng)
	return func(in *verify.Input) { in.Media.Place = &place }
}

func size(width, height int) func(*verify.Input) {
	return func(in *verify.Input) { in.Media.Width, in.Media.Height = width, height }
}

func length(d time.Duration) func(*verify.Input) {
	return func(in *verify.Input) { in.Media.Duration = d }
}

func accuracy(meters json.Number) func(*verify.Input) {
	return func(in *verify.Input) { in.Location.AccuracyMeters = meters }
}

func anywhere(t *testing.T) func(*verify.Input) {
	return func(in *verify.Input) {
		in.Mission = normalized(t, `{"title":"Any fountain","reward":{"token":"USDC","amount":1},"targetCount":1}`)
	}
}

func both(changes ...func(*verify.Input)) func(*verify.Input) {
	return func(in *verify.Input) {
		for _, change := range changes {
			change(in)
		}
	}
}

// Each case changes one thing of a submission that passes. Exactly one check fails, with its
// consequence.
func TestEachCheck(t *testing.T) {
	t.Parallel()
	type cases map[string]struct {
		change func(*verify.Input)
		passes bool
		reason string // has this in it
	}
	const rejects, flags = sortie.SubmissionRejected, sortie.SubmissionFlagged
	for _, check := range []struct {
		name    string
		good    func(testing.TB) verify.Input
		failure sortie.SubmissionStatus
		cases   cases
	}{
		{"media_type", goodPhoto, rejects, cases{
			"photo":           {func(*verify.Input) {}, true, "is a photo"},
			"video for photo": {func(in *verify.Input) { in.Media.Kind = sortie.MediaVideo }, false, "the file is a video, the mission asks for a photo"},
			"unknown":         {func(in *verify.Input) { in.Media.Kind = "" }, false, "the mission asks for a photo"},
		}},
		{"media_type", goodVideo, rejects, cases{
			"video":           {func(*verify.Input) {}, true, "is a video"},
			"photo for video": {func(in *verify.Input) { in.Media.Kind = sortie.MediaPhoto }, false, "the file is a photo, the mission asks for a video"},
		}},
		{"pixels", goodPhoto, rejects, cases{
			"smallest":       {size(1, 1), true, "1 by 1"},
			"largest":        {size(16_384, 2_000), true, "16384 by 2000"},
			"too narrow":     {size(0, 4000), false, "0 by 4000 pixels, which is no picture"},
			"too low":        {size(4000, 0), false, "no picture"},
			"too wide":       {size(16_385, 32), false, "at most 16384"},
			"too high":       {size(32, 16_385), false, "at most 16384"},
			"without pixels": {size(0, 0), false, "0 by 0"},
			"below zero":     {size(-4000, 3000), false, "no picture"},
		}},
		{"duration", goodPhoto, rejects, cases{
			"of a photo": {length(0), true, "no duration"},
		}},
		{"duration", goodVideo, rejects, cases{
			"shortest":           {length(3 * time.Second), true, "3000 ms"},
			"longest":            {length(time.Minute), true, "60000 ms"},
			"too short":          {length(2999 * time.Millisecond), false, "2999 ms, the mission asks for at least 3000"},
			"too long":           {length(60_001 * time.Millisecond), false, "60001 ms, the mission asks for at most 60000"},
			"less than a ms off": {length(time.Minute + 999*time.Microsecond), true, "60000 ms"},
			"none":               {length(0), false, "0 ms"},
			"below zero":         {length(-time.Second), false, "at least 3000"},
		}},
		{"exact_duplicate", goodPhoto, flags, cases{
			"new":      {func(*verify.Input) {}, true, "not submitted before"},
			"repeated": {func(in *verify.Input) { in.ExactDuplicate = "sub_first" }, false, "the same file was submitted before"},
		}},
		{"near_duplicate", goodPhoto, flags, cases{
			"new":   {func(*verify.Input) {}, true, "nothing that looks the same"},
			"alike": {func(in *verify.Input) { in.NearDuplicate = "sub_first" }, false, "looks the same"},
		}},
		{"area", goodPhoto, rejects, cases{
			"in the middle":                {at(0), true, "0 m from the middle"},
			"inside":                       {at(99), true, "99 m from the middle"},
			"outside, within the accuracy": {at(109), true, "109 m"},
			"outside":                      {at(111), false, "111 m from the middle of the area, which has a radius of 100 m"},
			"far":                          {at(-5_000), false, "5000 m"},
			"across the earth":             {func(in *verify.Input) { in.Location.Lat, in.Location.Lng = "-52.52", "-166.595" }, false, "radius of 100 m"},
			"as accurate as it must be":    {accuracy("50"), true, ""},
			"not accurate enough":          {accuracy("50.01"), false, "known to 50.01 m only, the mission asks for 50 m"},
			"accurate to nothing":          {accuracy("-1"), false, "known to -1 m"},
			"no number":                    {accuracy("NaN"), false, "known to NaN m"},
			"endless":                      {accuracy("Infinity"), false, ""},
			"endless in figures":           {accuracy("1e999"), false, ""},
			"no accuracy":                  {accuracy(""), false, ""},
			"no latitude":                  {func(in *verify.Input) { in.Location.Lat = "" }, false, ""},
			"latitude no number":           {func(in *verify.Input) { in.Location.Lat = "NaN" }, false, ""},
			"longitude no number":          {func(in *verify.Input) { in.Location.Lng = "x" }, false, ""},
			"longitude beyond 180":         {func(in *verify.Input) { in.Location.Lng = "373.405" }, false, ""},
			"no area":                      {anywhere(t), true, "no area"},
			"no area, any accuracy":        {both(anywhere(t), at(90_000), accuracy("100000")), true, "no area"},
		}},
		{"captured_in_window", goodPhoto, rejects, cases{
			"at the beginning":         {captured(opens), true, "2026-03-01T08:00:00.000Z"},
			"a slow clock":             {captured(opens.Add(-5 * time.Minute)), true, ""},
			"too early":                {captured(opens.Add(-5*time.Minute - 1)), false, "before the mission began at 2026-03-01T08:00:00.000Z"},
			"just before the end":      {captured(ends.Add(-1)), true, ""},
			"a fast clock":             {captured(ends.Add(5*time.Minute - 1)), true, ""},
			"too late":                 {captured(ends.Add(5 * time.Minute)), false, "after the mission ended at 2026-03-03T08:00:00.000Z"},
			"as it was uploaded":       {func(in *verify.Input) { in.UploadedAt = in.CapturedAt }, true, ""},
			"uploaded by a fast clock": {func(in *verify.Input) { in.UploadedAt = in.CapturedAt.Add(-5 * time.Minute) }, true, ""},
			"after the upload":         {func(in *verify.Input) { in.UploadedAt = in.CapturedAt.Add(-5*time.Minute - 1) }, false, "later than the upload"},
			"another zone":             {captured(taken.In(time.FixedZone("", 9*3600))), true, "2026-03-01T14:00:00.000Z"},
			"no time":                  {captured(time.Time{}), false, "before the mission began"},
		}},
		{"file_place_agrees", goodPhoto, flags, cases{
			"silent":         {func(*verify.Input) {}, true, "has no"},
			"the same":       {filePlace(52.52, 13.405), true, "agrees"},
			"509 m away":     {filePlace(52.52+509/111_195.08, 13.405), true, "agrees"},
			"511 m away":     {filePlace(52.52+511/111_195.08, 13.405), false, "511 m from the declared one"},
			"another city":   {filePlace(48.8566, 2.3522), false, "from the declared one"},
			"the zero point": {filePlace(0, 0), false, ""},
		}},
		{"file_time_agrees", goodPhoto, flags, cases{
			"silent":              {func(*verify.Input) {}, true, "has no"},
			"the same":            {fileSays(taken, false), true, "agrees"},
			"earlier":             {fileSays(taken.Add(-15*time.Minute), false), true, ""},
			"later":               {fileSays(taken.Add(15*time.Minute), false), true, ""},
			"too early":           {fileSays(taken.Add(-15*time.Minute-1), false), false, "does not agree"},
			"too late":            {fileSays(taken.Add(15*time.Minute+1), false), false, "does not agree"},
			"hours in a zone":     {fileSays(taken.Add(9*time.Hour), false), false, ""},
			"wall clock, east":    {fileSays(taken.Add(14*time.Hour), true), true, ""},
			"wall clock, west":    {fileSays(taken.Add(-12*time.Hour), true), true, ""},
			"wall clock, too far": {fileSays(taken.Add(14*time.Hour+15*time.Minute+1), true), false, ""},
			"another year":        {fileSays(taken.AddDate(-300, 0, 0), true), false, ""}, // further than a duration can say
			"no time at all":      {fileSays(time.Time{}, true), false, ""},
		}},
	} {
		for name, c := range check.cases {
			t.Run(check.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				in := check.good(t)
				c.change(&in)
				verdict := decide(t, verify.Auto, in)
				got := checkOf(t, verdict, check.name)
				if got.Passed != c.passes || !strings.Contains(got.Reason, c.reason) || got.Reason == "" {
					t.Errorf("passed %v: %q; want %v, and %q in it", got.Passed, got.Reason, c.passes, c.reason)
				}
				want, noticed := sortie.SubmissionAccepted, []string(nil)
				if !c.passes {
					want, noticed = check.failure, []string{check.name}
					if !strings.Contains(verdict.Reason, got.Reason) {
						t.Errorf("the reason of the verdict, %q, does not say %q", verdict.Reason, got.Reason)
					}
				}
				if verdict.Status != want || !slices.Equal(failed(verdict), noticed) {
					t.Errorf("%s: %q; failed are %q", verdict.Status, verdict.Reason, failed(verdict))
				}
			})
		}
	}
}
