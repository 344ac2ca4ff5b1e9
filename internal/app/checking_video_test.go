package app

import (
	"bytes"
	"context"
	"os/exec"
	"runtime"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// A well-formed video without a frame that ffmpeg can show is flagged.
func TestVideosThatShowNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("other systems start no ffmpeg")
	}
	ffmpeg, err := exec.LookPath("false") // ends with an error and shows nothing
	if err != nil {
		t.Fatal(err)
	}
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, func(config *Config) {
			config.Ingester = ingest.New(ingest.Config{TempDir: t.TempDir(), FFmpeg: ffmpeg})
		})
		ctx := context.Background()
		draft, film := s.publish("k", 3, `,"mediaType":"video","video":{"minDurationMs":1000}`), specimen.File("plain.mp4")
		body := bytes.Replace(declaration(film, s.clock()), []byte("image/jpeg"), []byte("video/mp4"), 1)
		declared, _, err := s.app.Declare(ctx, testBase, bob, testNetwork, draft.MissionID, "film", body)
		s.must(err)
		s.upload(declared, film)
		s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
		s.wantStatus(declared.SubmissionID, sortie.SubmissionFlagged)
		_, err = s.operators.AcceptSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "It plays well.")
		s.must(err)
		s.wantStatus(declared.SubmissionID, sortie.SubmissionCurationAccepted)
	})
}
