package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/verify"
)

func program(t testing.TB, url string) verify.Mode {
	t.Helper()
	mode, err := verify.ParseMode("http:" + url)
	if err != nil {
		t.Fatal(err)
	}
	return mode
}

func TestWhoDecidesAboutWhatPassed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode   verify.Mode
		status sortie.SubmissionStatus
		reason string
		policy string
	}{
		{verify.Mode{}, sortie.SubmissionFlagged, "all checks passed; waits for a person", "checks-3/curate"},
		{verify.Curate, sortie.SubmissionFlagged, "all checks passed; waits for a person", "checks-3/curate"},
		{verify.Auto, sortie.SubmissionAccepted, "all checks passed", "checks-3/auto"},
	} {
		for _, in := range []verify.Input{goodPhoto(t), goodVideo(t)} {
			got := decide(t, c.mode, in)
			if late, err := verify.New(verify.Config{Mode: c.mode}).WithoutAnswer(in); err != nil || late.Status != sortie.SubmissionFlagged || late.Reason != "all checks passed; waits for a person" {
				t.Errorf("%s, without an answer: %+v, %v", c.mode, late, err)
			}
			if got.Status != c.status || got.Score != 100 || got.Reason != c.reason || got.Policy != c.policy || got.DuplicateOf != "" || failed(got) != nil {
				t.Errorf("mode %s: got %+v, want %s with reason %q and policy %s", c.mode, got, c.status, c.reason, c.policy)
			}
		}
	}
}

// Submissions that the checks refuse are shown neither to a person nor to the verifier program.
func TestTheChecksDecideFirstInEveryMode(t *testing.T) {
	t.Parallel()
	rejected, flagged := goodPhoto(t), goodPhoto(t)
	rejected.Location.Lat = "53"
	flagged.NearDuplicate = "sub_first"
	for _, mode := range []verify.Mode{verify.Curate, verify.Auto, program(t, "http://127.0.0.1:1/never-asked")} {
		if got := decide(t, mode, rejected); got.Status != sortie.SubmissionRejected || got.Score != 85 {
			t.Errorf("%s: outside of the area: %+v", mode, got)
		}
		got := decide(t, mode, flagged)
		if got.Status != sortie.SubmissionFlagged || got.Score != 90 || got.DuplicateOf != "sub_first" || !strings.HasSuffix(got.Reason, "; waits for a person") {
			t.Errorf("%s: a near duplicate: %+v", mode, got)
		}
	}
}

func TestAFileThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	in := goodPhoto(t)
	in.Media, in.Problem = nil, &verify.Problem{Code: "unreadable_media", Message: "the picture\n ends \x1b[31mearly\u202e" + strings.Repeat("!", 1000)}
	got := decide(t, verify.Auto, in)
	unseen := []string{"readable", "media_type", "pixels", "duration", "near_duplicate", "file_place_agrees", "file_time_agrees"}
	if got.Status != sortie.SubmissionRejected || !slices.Equal(failed(got), unseen) || got.Score != 45 {
		t.Errorf("%s with %d; failed are %q", got.Status, got.Score, failed(got))
	}
	if reason := checkOf(t, got, "readable").Reason; !strings.HasPrefix(reason, "the file cannot be used: the picture ends [31mearly!!!") || len(reason) > 320 {
		t.Errorf("the reason is %q", reason)
	}
	if reason := checkOf(t, got, "pixels").Reason; reason != "not checked: the file cannot be used" {
		t.Errorf("pixels that were not seen: %q", reason)
	}
	if got.Reason != checkOf(t, got, "readable").Reason { // once, and without what follows from it
		t.Errorf("the whole reason is %q", got.Reason)
	}
}

// A file without a thumbnail is neither rejected nor accepted automatically: a person decides.
func TestAFileInDoubt(t *testing.T) {
	t.Parallel()
	in := goodVideo(t)
	in.Problem = &verify.Problem{Code: "unreadable_media", Message: "no picture of it can be shown"}
	for _, mode := range []verify.Mode{verify.Curate, verify.Auto, program(t, "http://127.0.0.1:1/never-asked")} {
		got := decide(t, mode, in)
		if got.Status != sortie.SubmissionFlagged || got.Score != 85 || !slices.Equal(failed(got), []string{"readable"}) ||
			got.Reason != "the file is in doubt: no picture of it can be shown; waits for a person" {
			t.Errorf("mode %s: got %+v, want flagged with score 85", mode, got)
		}
	}
	in.Location.Lat, in.Mission = "53", normalized(t, photoMission) // other faults count as ever
	if got := decide(t, verify.Auto, in); got.Status != sortie.SubmissionRejected {
		t.Errorf("with other faults: %+v", got)
	}
}

// A file that is not the declared one is not read.
func TestAFileThatIsNotTheDeclaredOne(t *testing.T) {
	t.Parallel()
	seen, unseen := goodPhoto(t), goodPhoto(t)
	seen.UploadedHash = sortie.Hash{9}
	unseen.UploadedHash, unseen.Media = sortie.Hash{9}, nil
	for _, mode := range []verify.Mode{verify.Curate, verify.Auto, program(t, "http://127.0.0.1:1/never-asked")} {
		got := decide(t, mode, seen)
		if got.Status != sortie.SubmissionRejected || !slices.Equal(failed(got), []string{"declared_hash"}) || got.Reason != "the uploaded bytes do not have the declared sha256" {
			t.Errorf("looked at: %+v", got)
		}
		got = decide(t, mode, unseen)
		if got.Status != sortie.SubmissionRejected || checkOf(t, got, "declared_hash").Passed || checkOf(t, got, "readable").Passed {
			t.Errorf("not looked at: %+v", got)
		}
		if reason := checkOf(t, got, "readable").Reason; reason != "not checked: the file is not the declared one" {
			t.Errorf("not looked at: %q", reason)
		}
		if got.Reason != "the uploaded bytes do not have the declared sha256" {
			t.Errorf("not looked at: the whole reason is %q", got.Reason)
		}
	}
}

// The declared file must have been read: an error of the service must not reject a submission.
func TestWithoutALookThereIsNoVerdict(t *testing.T) {
	t.Parallel()
	in := goodPhoto(t)
	in.Media = nil
	for _, mode := range []verify.Mode{verify.Curate, verify.Auto} {
		verifier := verify.New(verify.Config{Mode: mode})
		if got, err := verifier.Check(t.Context(), in, noLink); err == nil || got.Status != "" {
			t.Errorf("mode %s: got %+v, error %v, want an error and no status", mode, got, err)
		}
		if got, err := verifier.WithoutAnswer(in); err == nil || got.Status != "" {
			t.Errorf("%s, without an answer: %+v, %v", mode, got, err)
		}
	}
}

func TestEveryFailureIsInTheReason(t *testing.T) {
	t.Parallel()
	in := goodPhoto(t)
	in.ExactDuplicate, in.NearDuplicate = "sub_same", "sub_alike"
	if got := decide(t, verify.Auto, in); got.DuplicateOf != "sub_same" || got.Score != 80 ||
		got.Reason != "the same file was submitted before; something that looks the same was submitted before; waits for a person" {
		t.Errorf("two that flag: %+v", got)
	}
	in.Media.Width, in.Media.Kind = 20_000, sortie.MediaVideo
	got := decide(t, verify.Auto, in)
	if want := "the file is a video, the mission asks for a photo; the file has 20000 by 3000 pixels, at most 16384 on each side are taken"; got.Reason != want {
		t.Errorf("two checks that reject and two that flag: got reason %q, want %q", got.Reason, want)
	}
	for _, check := range got.Checks { // contributors read them
		if strings.Contains(check.Reason, "sub_") {
			t.Errorf("%s names another submission: %q", check.Name, check.Reason)
		}
	}
}

// Clients rely on the names and the order of the checks.
func TestTheChecksAreAlwaysTheSame(t *testing.T) {
	t.Parallel()
	want := []string{
		"readable", "media_type", "pixels", "duration", "declared_hash", "exact_duplicate", "near_duplicate", "area", "captured_in_window",
		"file_place_agrees", "file_time_agrees",
	}
	unreadable := goodPhoto(t)
	unreadable.Media, unreadable.Problem = nil, &verify.Problem{Message: "no"}
	for _, in := range []verify.Input{goodPhoto(t), goodVideo(t), unreadable} {
		var got []string
		for _, check := range decide(t, verify.Auto, in).Checks {
			got = append(got, check.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the checks are %q", got)
		}
	}
}

func TestParseMode(t *testing.T) {
	t.Parallel()
	for text, shown := range map[string]string{
		"curate": "curate", "auto": "auto",
		"http:http://127.0.0.1:9000/check":                          "http:http://127.0.0.1:9000",
		"http:https://verifier.example":                             "http:https://verifier.example",
		"http:https://me:secret@verifier.example/hook?token=secret": "http:https://verifier.example",
		"http:http://[::1]:9000/":                                   "http:http://[::1]:9000",
		"http://127.0.0.1:9000/check":                               "http:http://127.0.0.1:9000",
		"https://verifier.example/check?token=secret":               "http:https://verifier.example",
	} {
		mode, err := verify.ParseMode(text)
		if err != nil || mode.String() != shown {
			t.Errorf("ParseMode(%s): got %s, error %v, want %s", text, mode, err, shown)
		}
	}
	for _, text := range []string{
		"", "Auto", " auto", "auto ", "curate,auto", "http", "http:", "http:/", "http://", "https://", "http:ftp://secret.example", "http:secret.example",
		"http:https://", "http:https:///secret", "http:https://:9000/secret", "http:file:///etc/secret", "http:https://exa mple/secret", "http:https://secret.example/\x00",
		"http:https://secret.example/#part", "http:https://secret.example:port/", "http:https://%zz/secret", "http:auto",
	} {
		mode, err := verify.ParseMode(text)
		if err == nil || mode != verify.Curate || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseMode(%q): got %s, error %v, want an error without the secret", text, mode, err)
		}
	}
}
