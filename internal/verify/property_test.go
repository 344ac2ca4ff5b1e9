package verify_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/verify"
)

// faults are ways in which a submission can be wrong, each found by one check.
var faults = []struct {
	check   string
	rejects bool
	occur   func(*verify.Input)
}{
	{"readable", true, func(in *verify.Input) { in.Media, in.Problem = nil, &verify.Problem{Message: "broken"} }},
	{"media_type", true, onMedia(func(m *verify.Media) { m.Kind = sortie.MediaVideo })},
	{"pixels", true, onMedia(func(m *verify.Media) { m.Height = 0 })},
	{"declared_hash", true, func(in *verify.Input) { in.UploadedHash = sortie.Hash{9} }},
	{"exact_duplicate", false, func(in *verify.Input) { in.ExactDuplicate = "sub_same" }},
	{"near_duplicate", false, func(in *verify.Input) { in.NearDuplicate = "sub_alike" }},
	{"area", true, func(in *verify.Input) { in.Location.AccuracyMeters = "51" }},
	{"captured_in_window", true, func(in *verify.Input) { in.UploadedAt = in.CapturedAt.Add(-time.Hour) }},
	{"file_place_agrees", false, onMedia(func(m *verify.Media) { m.Place = &mission.MicroDegrees{} })},
	{"file_time_agrees", false, onMedia(func(m *verify.Media) { m.CapturedAt = &time.Time{} })},
}

func onMedia(change func(*verify.Media)) func(*verify.Input) {
	return func(in *verify.Input) {
		if in.Media != nil { // it could be read
			change(in.Media)
		}
	}
}

// better orders the statuses.
var better = map[sortie.SubmissionStatus]int{sortie.SubmissionRejected: 0, sortie.SubmissionFlagged: 1, sortie.SubmissionAccepted: 2}

// With any set of faults, and one more: the score stays within its bounds and never rises, the
// status never improves, and what must be rejected is rejected.
func TestMoreFaultsAreNeverBetter(t *testing.T) {
	t.Parallel()
	good := goodPhoto(t)
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]verify.Mode{verify.Curate, verify.Auto}).Draw(t, "mode")
		order := rapid.Permutation(indexes(len(faults))).Draw(t, "faults in order")
		in, media := good, *good.Media
		in.Media = &media
		before := decide(t, mode, in)
		isRejected, isFlagged := false, mode == verify.Curate
		for _, i := range order[:rapid.IntRange(0, len(order)).Draw(t, "how many")] {
			faults[i].occur(&in)
			after := decide(t, mode, in)
			isRejected, isFlagged = isRejected || faults[i].rejects, isFlagged || !faults[i].rejects
			want := sortie.SubmissionAccepted
			switch {
			case isRejected:
				want = sortie.SubmissionRejected
			case isFlagged:
				want = sortie.SubmissionFlagged
			}
			switch {
			case after.Score < 0 || after.Score > before.Score:
				t.Fatalf("with %s the score went from %d to %d", faults[i].check, before.Score, after.Score)
			case better[after.Status] > better[before.Status] || after.Status != want:
				t.Fatalf("with %s it went from %s to %s, want %s", faults[i].check, before.Status, after.Status, want)
			case !slices.Contains(failed(after), faults[i].check):
				t.Fatalf("%s was not noticed: %q", faults[i].check, failed(after))
			case after.Reason == "":
				t.Fatalf("%s without a reason", after.Status)
			}
			before = after
		}
	})
}

// For any numbers there is a verdict with a score within its bounds, and nothing is accepted that
// failed a check.
func TestAnySubmissionGetsAVerdict(t *testing.T) {
	t.Parallel()
	photo, video := goodPhoto(t), goodVideo(t)
	moment := rapid.Custom(func(t *rapid.T) time.Time { return opens.Add(time.Duration(rapid.Int64().Draw(t, "off"))) })
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SampledFrom([]verify.Input{photo, video}).Draw(t, "mission")
		in.CapturedAt, in.UploadedAt = moment.Draw(t, "captured"), moment.Draw(t, "uploaded")
		in.Location = sortie.Location{
			Lat: anyNumber.Draw(t, "lat"), Lng: anyNumber.Draw(t, "lng"), AccuracyMeters: anyNumber.Draw(t, "accuracy"),
		}
		in.Media = &verify.Media{
			Kind:  rapid.SampledFrom([]sortie.MediaType{sortie.MediaPhoto, sortie.MediaVideo, ""}).Draw(t, "kind"),
			Width: rapid.Int().Draw(t, "width"), Height: rapid.Int().Draw(t, "height"), Duration: time.Duration(rapid.Int64().Draw(t, "duration")),
			ZoneUnknown: rapid.Bool().Draw(t, "zone unknown"),
		}
		if rapid.Bool().Draw(t, "the file speaks") {
			at := moment.Draw(t, "file time")
			in.Media.CapturedAt, in.Media.Place = &at, &mission.MicroDegrees{Lat: rapid.Int64().Draw(t, "file lat"), Lng: rapid.Int64().Draw(t, "file lng")}
		}
		got := decide(t, verify.Auto, in)
		isAccepted, passed := got.Status == sortie.SubmissionAccepted, failed(got) == nil
		if got.Score < 0 || got.Score > 100 || isAccepted != passed || passed != (got.Score == 100) || got.Reason == "" {
			t.Fatalf("got verdict %+v, want a score of 0-100, a reason, and an acceptance exactly when all checks passed", got)
		}
	})
}

// anyNumber draws text in place of a number.
var anyNumber = rapid.Custom(func(t *rapid.T) json.Number {
	if rapid.Bool().Draw(t, "odd") {
		return json.Number(rapid.SampledFrom([]string{"", "NaN", "Inf", "-Infinity", "1e999", "0x1p4", "1_0", "52,5", " 1", "--1"}).Draw(t, "text"))
	}
	return json.Number(strconv.FormatFloat(rapid.Float64().Draw(t, "number"), 'f', -1, 64))
})

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
