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

// Whoever interrupts an upload is told how to go on, and not which request was under way.
func TestSubmitCanBeInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ at, want string }{
		"while the mission is read": {http.MethodGet, "sortie: interrupted\n"},
		"while the file goes":       {http.MethodPatch, "\nsortie: interrupted; run the same command until 2026-02-02T04:00:00.000Z to go on where it was\n"},
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
			var out, complaints bytes.Buffer
			code := run(ctx, []string{"submit", "m-1", photo, "--lat", "1", "--lng", "2", "--accuracy", "5", "--wallet", "contributor1", "--url", server.URL},
				func(string) (string, bool) { return "", false }, &out, &complaints)
			if code != int(ExitInterrupted) || !strings.HasSuffix("\n"+complaints.String(), c.want) || out.Len() > 0 {
				t.Errorf("%d: %s%s", code, complaints.String(), out.String())
			}
		})
	}
}

// The same file again is advised only where that can help.
func TestRejectionsSayWhatHelps(t *testing.T) {
	t.Parallel()
	looked := "2026-02-02 03:00:00"
	for want, rejected := range map[string][]sortie.Submission{
		"send another file": {
			{VerifiedAt: &looked, Checks: []sortie.SubmissionCheck{{Name: "readable"}, {Name: "media_type"}}},
			{VerifiedAt: &looked, Checks: []sortie.SubmissionCheck{{Name: "duration"}, {Name: "area"}}},
			{VerifiedAt: &looked, Checks: []sortie.SubmissionCheck{{Name: "verifier"}}},
			{VerifiedAt: &looked, Checks: []sortie.SubmissionCheck{{Name: "readable", Passed: true}}}, // by a person
		},
		"if the place or the time was given wrongly, correct it and add --again; otherwise send another file": {
			{VerifiedAt: &looked, Checks: []sortie.SubmissionCheck{{Name: "readable", Passed: true}, {Name: "area"}}},
			{VerifiedAt: &looked, Checks: []sortie.SubmissionCheck{{Name: "area"}, {Name: "captured_in_window"}}},
		},
		"the file changed while it was sent; --again submits it once more": {
			{VerifiedAt: &looked, Checks: []sortie.SubmissionCheck{{Name: "readable"}, {Name: "declared_hash"}}},
		},
		"the file was not checked; run the same command again": {{}},
	} {
		for _, one := range rejected {
			if got := remedy(one); got != want {
				t.Errorf("%+v: %q, want %q", one.Checks, got, want)
			}
		}
	}
}

// A contributor who finds every slot reserved is told when one may be free.
func TestSubmitSaysWhenASlotMayBeFree(t *testing.T) {
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
	var out, complaints bytes.Buffer
	code := run(t.Context(), []string{"submit", "m-1", photo, "--lat", "1", "--lng", "2", "--accuracy", "5", "--wallet", "contributor1", "--url", server.URL},
		func(string) (string, bool) { return "", false }, &out, &complaints)
	if want := "every slot is reserved (a slot may be free at 2026-02-02T02:52:00.000Z)"; code != int(ExitConflict) || !strings.Contains(complaints.String(), want) {
		t.Errorf("got exit code %d and %q, want %d and %q", code, complaints.String(), ExitConflict, want)
	}
}
