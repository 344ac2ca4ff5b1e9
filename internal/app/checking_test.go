package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/verify"
)

// A check that is interrupted continues in another process, and decides once.
func TestAnInterruptedCheckContinues(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 3, "")
		declared, err := s.declare(bob, draft, "one", photo(1))
		s.must(err)
		s.must(s.app.CheckSubmission(ctx, declared.SubmissionID)) // nothing is here yet
		s.wantStatus(declared.SubmissionID, sortie.SubmissionPending)
		s.upload(declared, photo(1))

		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.app.CheckSubmission(cancelled, declared.SubmissionID); err == nil {
			t.Error("a cancelled check succeeds")
		}
		// The process is killed between the two steps.
		s.must(s.app.ingest(ctx, s.stored(declared.SubmissionID)))
		if submission := s.stored(declared.SubmissionID); submission.Media == nil || submission.Status != sortie.SubmissionPending {
			t.Errorf("after the file was read: got %+v, want it pending with media", submission)
		}
		// A concurrent check of the same file changes nothing, and the rest continues from there.
		restarted := s.another(func(config *Config) { config.Ingester = nil }) // it cannot look again
		s.must(restarted.App.CheckSubmission(ctx, declared.SubmissionID))
		s.wantStatus(declared.SubmissionID, sortie.SubmissionAccepted)
		if slots := s.slots(draft); slots.Accepted != 1 || slots.Reserved != 0 {
			t.Errorf("got slots %+v, want one accepted", slots)
		}
	})
}

// When the media store fails at the last byte, the upload is kept, and finished when the store
// works again.
func TestFilesThatCannotBeKeptAreKeptForLater(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 3, "")
		file := photo(1)
		declared, err := s.declare(bob, draft, "one", file)
		s.must(err)
		away := s.mediaDir + ".away"
		s.must(os.Rename(s.mediaDir, away))
		upload := s.open(declared)
		_, err = upload.Append(ctx, bytes.NewReader(file))
		s.must(err)
		for range 2 {
			_, err = upload.Finish(ctx)
			wantCode(t, err, sortie.CodeServiceUnavailable)
		}
		if upload.Offset() != int64(len(file)) || upload.Done() {
			t.Errorf("the upload is at %d of %d", upload.Offset(), len(file))
		}
		upload.Close()
		if submission := s.stored(declared.SubmissionID); submission.UploadedAt != nil {
			t.Error("it counts as uploaded")
		}
		link := s.queryOf(declared.Upload.TusURL)
		_, err = s.app.OpenUpload(ctx, declared.SubmissionID, links.VariantUploadTus, link)
		wantCode(t, err, sortie.CodeServiceUnavailable)
		s.must(os.Rename(away, s.mediaDir))
		// A request for the offset finishes the upload.
		resumed, err := s.another(nil).App.OpenUpload(ctx, declared.SubmissionID, links.VariantUploadTus, link)
		s.must(err)
		if !resumed.Done() || resumed.Offset() != int64(len(file)) {
			t.Errorf("the upload is at %d of %d", resumed.Offset(), len(file))
		}
		s.must(os.Rename(s.mediaDir, away))
		if err := s.app.CheckSubmission(ctx, declared.SubmissionID); err == nil {
			t.Error("a check without a file succeeds")
		}
		s.wantStatus(declared.SubmissionID, sortie.SubmissionPending)
		s.must(os.Rename(away, s.mediaDir))
		s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
		s.wantStatus(declared.SubmissionID, sortie.SubmissionAccepted)
	})
}

// A client that disconnects in the middle leaves what it sent; one that disconnects at the end has
// sent its file.
func TestClientsThatGoAway(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	ctx := context.Background()
	draft := s.publish("k", 3, "")
	file := photo(1)
	declared, err := s.declare(bob, draft, "one", file)
	s.must(err)
	gone := errors.New("gone")
	upload := s.open(declared)
	offset, err := upload.Append(ctx, io.MultiReader(bytes.NewReader(file[:100]), failing{gone}))
	if !errors.Is(err, gone) || offset != 100 {
		t.Errorf("appended up to %d: %v", offset, err)
	}
	upload.Close()
	upload = s.open(declared)
	if upload.Offset() != 100 {
		t.Errorf("the upload is at %d, want 100", upload.Offset())
	}
	s.must(upload.Cut(0))
	if upload.Offset() != 0 {
		t.Errorf("started over at %d, want 0", upload.Offset())
	}
	_, err = upload.Append(ctx, bytes.NewReader(file))
	s.must(err)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = upload.Finish(cancelled)
	s.must(err)
	if s.stored(declared.SubmissionID).UploadedAt == nil {
		t.Error("the file was not taken in")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A verifier gets links to the media. While it does not answer the check is tried again; after an
// hour a person decides.
func TestTheVerifierIsAsked(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	answer.Store("")
	var asked atomic.Value
	verifier := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked.Store(string(body))
		if text := answer.Load().(string); text != "" {
			_, _ = io.WriteString(w, text)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(verifier.Close)
	mode, err := verify.ParseMode("http:" + verifier.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := openTestMedia(t, sqliteDatabase(t), func(config *Config) { config.Verification = verify.New(verify.Config{Mode: mode}) })
	ctx := context.Background()
	draft := s.publish("k", 3, "")
	first, err := s.declare(bob, draft, "one", photo(1))
	s.must(err)
	s.upload(first, photo(1))
	if err := s.app.CheckSubmission(ctx, first.SubmissionID); err == nil {
		t.Error("without an answer the check succeeds")
	}
	s.wantStatus(first.SubmissionID, sortie.SubmissionPending)
	if question := asked.Load().(string); !strings.Contains(question, testURL+"/review-original/"+first.SubmissionID+"?exp=") {
		t.Errorf("asked %s", question)
	}
	answer.Store(`{"score":91,"reason":"It is the tower."}`)
	s.must(s.app.CheckSubmission(ctx, first.SubmissionID))
	if accepted := s.wantStatus(first.SubmissionID, sortie.SubmissionAccepted); *accepted.Score != 91 || accepted.Reason != "It is the tower." {
		t.Errorf("accepted %+v", accepted)
	}

	answer.Store("")
	second, err := s.declare(contributor(1), draft, "two", photo(2))
	s.must(err)
	s.upload(second, photo(2))
	for _, wait := range []time.Duration{2 * checkPatience, checkPatience - time.Second} { // the hours before the first attempt do not count
		s.pass(wait)
		if err := s.app.CheckSubmission(ctx, second.SubmissionID); err == nil {
			t.Error("without an answer the check succeeds")
		}
		s.wantStatus(second.SubmissionID, sortie.SubmissionPending)
	}
	s.pass(time.Second)
	s.must(s.app.CheckSubmission(ctx, second.SubmissionID))
	s.wantStatus(second.SubmissionID, sortie.SubmissionFlagged)
}

// A file that cannot be read for an hour is flagged, and an operator can only reject it.
func TestFilesThatAreLost(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	ctx := context.Background()
	draft := s.publish("k", 3, "")
	declared, err := s.declare(bob, draft, "one", photo(1))
	s.must(err)
	s.upload(declared, photo(1))
	s.removeObject(s.stored(declared.SubmissionID).UploadedHash)
	if err := s.app.CheckSubmission(ctx, declared.SubmissionID); err == nil {
		t.Error("a lost file is checked")
	}
	s.pass(checkPatience)
	s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
	s.wantStatus(declared.SubmissionID, sortie.SubmissionFlagged)
	_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "")
	wantCode(t, err, sortie.CodeWrongState)
	_, err = s.operators.RejectSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "We lost it. Please send it again.")
	s.must(err)
}

// removeObject deletes the file of an object.
func (s *testMedia) removeObject(hash sortie.Hash) {
	s.t.Helper()
	file, err := s.config.Media.File(hash)
	s.must(err)
	s.must(errors.Join(file.Close(), os.Remove(file.Name())))
}
