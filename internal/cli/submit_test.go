package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

// An interrupted upload prints how to continue, not which request was cancelled.
func TestSubmitCanBeInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ at, want string }{
		"while the mission is read": {http.MethodGet, "sortie: interrupted\n"},
		"during the upload":         {http.MethodPatch, "\nsortie: interrupted; run the same command before 2026-02-02T04:00:00.000Z to continue\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			answer := func(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) }
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == c.at {
					_, _ = io.Copy(io.Discard, r.Body)
					interrupt()
					<-r.Context().Done()
					return
				}
				switch r.Method {
				case http.MethodGet:
					answer(w, sortie.OpenMissionDetail{OK: true})
				case http.MethodPost:
					answer(w, sortie.SubmissionDeclared{
						OK: true, SubmissionID: "sub_1", SlotReservedUntil: "2026-02-02T04:00:00.000Z", Upload: &sortie.UploadLinks{TusURL: "http://" + r.Host + "/tus"},
					})
				case http.MethodHead:
					w.Header().Set("Upload-Offset", "0")
				}
			}))
			defer server.Close()
			photo := filepath.Join(t.TempDir(), "photo.jpg")
			if err := os.WriteFile(photo, []byte("\xff\xd8\xff\xe0 a photo"), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, stderr bytes.Buffer
			code := run(ctx, []string{"submit", "m-1", photo, "--lat", "1", "--lng", "2", "--accuracy", "5", "--wallet", "contributor1", "--url", server.URL},
				func(string) (string, bool) { return "", false }, &out, &stderr)
			if code != int(ExitInterrupted) || !strings.HasSuffix("\n"+stderr.String(), c.want) || out.Len() > 0 {
				t.Errorf("got exit code %d, output %q and error %q; want %d and %q", code, out.String(), stderr.String(), ExitInterrupted, c.want)
			}
		})
	}
}

// Submitting the same file again is advised only if it can be accepted.
func TestRejectionAdvice(t *testing.T) {
	t.Parallel()
	checked := "2026-02-02 03:00:00"
	for want, rejected := range map[string][]sortie.Submission{
		"send another file": {
			{VerifiedAt: &checked, Checks: []sortie.SubmissionCheck{{Name: "readable"}, {Name: "media_type"}}},
			{VerifiedAt: &checked, Checks: []sortie.SubmissionCheck{{Name: "duration"}, {Name: "area"}}},
			{VerifiedAt: &checked, Checks: []sortie.SubmissionCheck{{Name: "verifier"}}},
			{VerifiedAt: &checked, Checks: []sortie.SubmissionCheck{{Name: "readable", Passed: true}}}, // by an operator
		},
		"if the location or the time was given wrong, correct it and add --again; otherwise send another file": {
			{VerifiedAt: &checked, Checks: []sortie.SubmissionCheck{{Name: "readable", Passed: true}, {Name: "area"}}},
			{VerifiedAt: &checked, Checks: []sortie.SubmissionCheck{{Name: "area"}, {Name: "captured_in_window"}}},
		},
		"the file changed during the upload; --again submits it again": {
			{VerifiedAt: &checked, Checks: []sortie.SubmissionCheck{{Name: "readable"}, {Name: "declared_hash"}}},
		},
		"the file was not checked; run the same command again": {{}},
	} {
		for _, one := range rejected {
			if got := rejectionAdvice(one); got != want {
				t.Errorf("advice for checks %+v: got %q, want %q", one.Checks, got, want)
			}
		}
	}
}

// A full mission reports when a slot may be free.
func TestSubmitReportsTheNextFreeSlot(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(sortie.OpenMissionDetail{OK: true})
			return
		}
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"ok":false,"error":{"code":"mission_full","message":"every slot is reserved","details":{"nextSlotAt":"2026-02-02T02:52:00.000Z"}}}`)
	}))
	defer server.Close()
	photo := filepath.Join(t.TempDir(), "photo.jpg")
	if err := os.WriteFile(photo, []byte("\xff\xd8\xff\xe0 a photo"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{"submit", "m-1", photo, "--lat", "1", "--lng", "2", "--accuracy", "5", "--wallet", "contributor1", "--url", server.URL},
		func(string) (string, bool) { return "", false }, &out, &stderr)
	if want := "every slot is reserved (a slot may be free at 2026-02-02T02:52:00.000Z)"; code != int(ExitConflict) || !strings.Contains(stderr.String(), want) {
		t.Errorf("got exit code %d and %q, want %d and %q", code, stderr.String(), ExitConflict, want)
	}
}
