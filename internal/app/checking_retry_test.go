package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/verify"
)

// A stored file that could not be read for an hour is flagged, and read as soon as that works.
func TestFilesAreLookedAtAfterAnOutage(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 3, "")
		declared, err := s.declare(bob, draft, "one", photo(1))
		s.must(err)
		s.upload(declared, photo(1))
		fails := func(want sortie.SubmissionStatus) {
			t.Helper()
			if err := s.app.CheckSubmission(ctx, declared.SubmissionID); err == nil {
				t.Error("a check that could not read the file succeeded, want an error so that it is repeated")
			}
			s.wantStatus(declared.SubmissionID, want)
		}
		away := s.mediaDir + ".away"
		s.pass(2 * checkPatience) // no worker was running
		s.must(os.Rename(s.mediaDir, away))
		fails(sortie.SubmissionPending)
		s.pass(checkPatience)
		fails(sortie.SubmissionFlagged)
		fails(sortie.SubmissionFlagged)
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "")
		wantCode(t, err, sortie.CodeWrongState)
		s.must(os.Rename(away, s.mediaDir))
		s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
		s.wantStatus(declared.SubmissionID, sortie.SubmissionFlagged)
		if since := s.stored(declared.SubmissionID).FailingSince; since != nil {
			t.Errorf("its check fails since %s", since)
		}
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "")
		s.must(err)
	})
}

// A file that is lost after its submission was flagged is not tried again.
func TestFilesThatAreLostDuringAnOutage(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	ctx := context.Background()
	draft := s.publish("k", 3, "")
	declared, err := s.declare(bob, draft, "one", photo(1))
	s.must(err)
	s.upload(declared, photo(1))
	away := s.mediaDir + ".away"
	s.must(os.Rename(s.mediaDir, away))
	for range 2 {
		if err := s.app.CheckSubmission(ctx, declared.SubmissionID); err == nil {
			t.Error("a check that could not read the file succeeded, want an error so that it is repeated")
		}
		s.pass(checkPatience)
	}
	s.wantStatus(declared.SubmissionID, sortie.SubmissionFlagged)
	s.must(os.Rename(away, s.mediaDir))
	s.removeObject(s.stored(declared.SubmissionID).UploadedHash)
	s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
	s.wantStatus(declared.SubmissionID, sortie.SubmissionFlagged)
}

// A file that the disk changed is not delivered, its submission is not rejected, and an operator
// must decide.
func TestFilesThatTheDiskChanged(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	ctx := context.Background()
	draft := s.publish("k", 3, "")
	for i, at := range []int{3, 2500} { // of the signature, and of the picture
		file := photo(i)
		declared, err := s.declare(contributor(i), draft, "one", file)
		s.must(err)
		s.upload(declared, file)
		digits := hexHash(s.stored(declared.SubmissionID).UploadedHash)
		flipped := bytes.Clone(file)
		flipped[at] ^= 0x40
		s.must(os.WriteFile(filepath.Join(s.mediaDir, "sha256", digits[:2], digits), flipped, 0o600))
		if err := s.app.CheckSubmission(ctx, declared.SubmissionID); !errors.Is(err, blob.ErrObjectCorrupt) {
			t.Errorf("byte %d was changed: %v", at, err)
		}
		s.wantStatus(declared.SubmissionID, sortie.SubmissionPending)
		s.pass(checkPatience)
		s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
		s.wantStatus(declared.SubmissionID, sortie.SubmissionFlagged)
		if submission := s.stored(declared.SubmissionID); submission.Media != nil || submission.Problem != nil {
			t.Errorf("byte %d was changed: %+v", at, submission)
		}
	}
}

// A file that crashes the reader is refused like a damaged one. Only crashes are logged.
func TestTheLogTellsOfFilesThatBreakTheReader(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ answer, want string }{
		"a panic":   {`{"problem":{"code":"unreadable","message":"it is damaged"},"panic":"index out of range"}`, "index out of range"},
		"a refusal": {`{"problem":{"code":"unreadable","message":"it is damaged"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := filepath.Join(t.TempDir(), "child")
			syscall.ForkLock.RLock() // a process that is started meanwhile would hold the program open, which then cannot be run
			err := os.WriteFile(child, []byte("#!/bin/sh\nread -r request\nprintf 'ready\\n%s' '"+test.answer+"'\n"), 0o700)
			syscall.ForkLock.RUnlock()
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			s := openTestMedia(t, sqliteDatabase(t), func(config *Config) {
				config.Logger = slog.New(slog.NewTextHandler(&log, nil))
				config.Ingester = ingest.New(ingest.Config{Executable: child, TempDir: t.TempDir()})
			})
			submission := s.submit(bob, s.publish("k", 3, ""), "one", photo(1))
			if submission.Status != sortie.SubmissionRejected {
				t.Errorf("status is %s, want %s", submission.Status, sortie.SubmissionRejected)
			}
			if told := strings.Contains(log.String(), submission.SubmissionID); told != (test.want != "") || !strings.Contains(log.String(), test.want) {
				t.Errorf("the log is %q, want it to contain %q", log.String(), test.want)
			}
		})
	}
}

// ending is a context that ends with a given error.
type ending struct {
	context.Context
	done chan struct{}
	err  error
}

func (e ending) Done() <-chan struct{} { return e.done }

func (e ending) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// A check that times out has failed. A canceled check has not.
func TestChecksThatTakeTooLong(t *testing.T) {
	t.Parallel()
	for reason, want := range map[error]sortie.SubmissionStatus{
		context.DeadlineExceeded: sortie.SubmissionFlagged, context.Canceled: sortie.SubmissionPending,
	} {
		t.Run(reason.Error(), func(t *testing.T) {
			t.Parallel()
			ctx := ending{context.Background(), make(chan struct{}), reason}
			end := sync.OnceFunc(func() { close(ctx.done) })
			verifier := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client is gone
				end()
				<-r.Context().Done()
			}))
			t.Cleanup(verifier.Close)
			mode, err := verify.ParseMode("http:" + verifier.URL)
			if err != nil {
				t.Fatal(err)
			}
			s := openTestMedia(t, sqliteDatabase(t), func(config *Config) { config.Verification = verify.New(verify.Config{Mode: mode}) })
			draft := s.publish("k", 3, "")
			declared, err := s.declare(bob, draft, "one", photo(1))
			s.must(err)
			s.upload(declared, photo(1))
			s.pretend(declared.SubmissionID)
			s.must(s.app.write(context.Background(), func(tx *writeTx) error { return tx.NoteFailure(s.stored(declared.SubmissionID)) }))
			s.pass(checkPatience)
			err = s.app.CheckSubmission(ctx, declared.SubmissionID)
			if handedOver := want == sortie.SubmissionFlagged; handedOver != (err == nil) {
				t.Errorf("the check gives %v", err)
			}
			s.wantStatus(declared.SubmissionID, want)
		})
	}
}
