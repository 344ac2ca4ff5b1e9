package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
	"github.com/sortie-labs/sortie/internal/links"
)

// Pages of deliverables, read while submissions are accepted and revoked, have every remaining
// submission exactly once, in the order of acceptance.
func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	t.Parallel()
	const first, during = 60, 24
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 200, "")
		var ids []string
		for i := range first {
			ids = append(ids, s.submitQuickly(contributor(i), draft, "k"))
		}
		revoked := make(map[string]bool)
		var seen []string
		query := DeliverablesQuery{Limit: 7}
		for more := 0; ; {
			page := s.deliverables(draft, query)
			for _, submission := range page.Submissions {
				seen = append(seen, submission.SubmissionID)
			}
			if page.Summary.NextCursor == nil {
				break
			}
			query.Cursor = *page.Summary.NextCursor
			for range 3 {
				if more < during {
					ids = append(ids, s.submitQuickly(contributor(first+more), draft, "k"))
					more++
				}
			}
			for _, id := range []string{seen[len(seen)-1], ids[len(ids)-1]} { // the last that was seen, and one that was not
				if !revoked[id] {
					_, err := s.operators.RejectSubmission(ctx, testBase, by(reviewer), id, "No.")
					s.must(err)
					revoked[id] = true
				}
			}
		}
		if again := slices.Clone(seen); len(slices.Compact(again)) != len(seen) {
			t.Error("something was repeated")
		}
		stay := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return revoked[id] })
		seenToStay := slices.DeleteFunc(slices.Clone(seen), func(id string) bool { return revoked[id] })
		if !slices.Equal(seenToStay, stay) {
			t.Errorf("saw %d of the %d that stay, or in another order", len(seenToStay), len(stay))
		}
		if page := s.deliverables(draft, DeliverablesQuery{Limit: 100}); page.Summary.AcceptedSubmissions != len(stay) || page.Summary.ReturnedSubmissions != len(stay) {
			t.Errorf("summary %+v, want %d", page.Summary, len(stay))
		}
	})
}

func TestDeliverablesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	ctx := context.Background()
	draft, other := s.publish("k", 5, ""), s.publish("l", 5, "")
	unpublished := s.create(alice, "m")
	for i := range 2 {
		s.submitQuickly(contributor(i), draft, "k")
		s.submitQuickly(contributor(i), other, "l")
	}
	cursor := *s.deliverables(draft, DeliverablesQuery{Limit: 1}).Summary.NextCursor
	for name, refused := range map[string]struct {
		creator sortie.Address
		id      string
		query   DeliverablesQuery
		want    sortie.Code
	}{
		"mission of another creator": {bob, draft.ID, DeliverablesQuery{}, sortie.CodeNotFound},
		"unknown":                    {alice, "draft_00000000000000000000000000", DeliverablesQuery{}, sortie.CodeNotFound},
		"odd":                        {alice, "draft_'", DeliverablesQuery{}, sortie.CodeNotFound},
		"not published":              {alice, unpublished.ID, DeliverablesQuery{}, sortie.CodeMissionNotPublished},
		"draft of another creator":   {bob, unpublished.MissionID, DeliverablesQuery{}, sortie.CodeNotFound},
		"cursor of another":          {alice, other.ID, DeliverablesQuery{Cursor: cursor}, sortie.CodeInvalidCursor},
		"altered cursor":             {alice, draft.ID, DeliverablesQuery{Cursor: "B" + cursor[1:]}, sortie.CodeInvalidCursor},
		"cursor of another length":   {alice, draft.ID, DeliverablesQuery{Cursor: cursor + "A"}, sortie.CodeInvalidCursor},
		"no cursor at all":           {alice, draft.ID, DeliverablesQuery{Cursor: strings.Repeat("A", 1<<20)}, sortie.CodeInvalidCursor},
	} {
		_, err := s.app.Deliverables(ctx, refused.creator, refused.id, refused.query, func(d Deliverable) {
			t.Errorf("%s: got submission %s, want none", name, d.SubmissionID)
		})
		if sortie.ErrorCode(err) != refused.want {
			t.Errorf("%s: got error %v, want code %s", name, err, refused.want)
		}
	}
	// Both ids of a mission give the same list.
	if _, err := s.app.Deliverables(ctx, alice, draft.MissionID, DeliverablesQuery{Cursor: cursor}, func(Deliverable) {}); err != nil {
		t.Error(err)
	}
	if whole := s.deliverables(draft, DeliverablesQuery{Limit: 2}); whole.Summary.NextCursor != nil || len(whole.Submissions) != 2 {
		t.Errorf("a page that holds everything: %+v", whole.Summary)
	}
	capped := s.deliverables(draft, DeliverablesQuery{Limit: 1 << 30, TTL: time.Hour})
	if capped.Submissions[0].MediaURLExpiresAt != sortie.FormatTime(s.clock().Add(MaxLinkTTL)) || len(capped.Submissions) != 2 {
		t.Errorf("asked for too much: %+v", capped)
	}
}

// A file that was changed, truncated or removed is never served.
func TestLostFilesAreNotServed(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	draft := s.publish("k", 2, "")
	s.submit(bob, draft, "one", photo(1))
	delivered := s.deliverables(draft, DeliverablesQuery{}).Submissions[0]
	digits := strings.TrimPrefix(delivered.Media.Hash, "sha256:")
	path := filepath.Join(s.mediaDir, "sha256", digits[:2], digits)
	whole, err := os.ReadFile(path)
	s.must(err)
	written := s.clock()
	write := func(content []byte) {
		t.Helper()
		s.must(os.WriteFile(path, content, 0o600))
		written = written.Add(time.Second) // whatever the clock of the machine makes of two writes at once
		s.must(os.Chtimes(path, written, written))
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for range 2 {
		for _, bad := range [][]byte{flipped, whole[:len(whole)-1]} {
			write(bad)
			_, err = s.fetch(s.service, delivered.MediaURL)
			wantCode(t, err, sortie.CodeNotFound)
		}
		write(whole)
		for _, err := range together(slices.Repeat([]func() error{func() error { _, err := s.fetch(s.service, delivered.MediaURL); return err }}, 8)...) {
			s.must(err)
		}
	}
	// A change on disk without a new modification time is found a day later.
	s.must(os.WriteFile(path, flipped, 0o600))
	s.must(os.Chtimes(path, written, written))
	s.pass(verifiedFor)
	link := s.deliverables(draft, DeliverablesQuery{}).Submissions[0].MediaURL
	_, err = s.fetch(s.service, link)
	wantCode(t, err, sortie.CodeNotFound)
	delivered = s.deliverables(draft, DeliverablesQuery{}).Submissions[0]
	s.must(os.Remove(path))
	_, err = s.fetch(s.service, delivered.MediaURL)
	wantCode(t, err, sortie.CodeNotFound)
	if _, err := s.fetch(s.service, *delivered.ThumbnailURL); err != nil {
		t.Error(err)
	}
}

// Files that no submission needs are removed: uploads with a served copy, and files of rejected and
// withdrawn submissions.
func TestUnusedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		s.pass(time.Since(s.clock())) // files have the time of the machine
		draft := s.publish("k", 5, "")
		remark := specimen.Segment(0xfe, []byte("not served")) // so that what is served is another file
		kept := s.submit(bob, draft, "one", specimen.JPEG(specimen.Picture(160, 120, 1), remark))
		gone := s.submit(contributor(1), draft, "two", specimen.JPEG(specimen.Picture(160, 120, 2), remark))
		waiting, err := s.declare(contributor(2), draft, "three", photo(3))
		s.must(err)
		s.upload(waiting, photo(3))
		_, err = s.operators.RejectSubmission(ctx, testBase, by(reviewer), gone.SubmissionID, "No.")
		s.must(err)
		if removed, err := s.app.SweepMedia(ctx); err != nil || removed != 0 {
			t.Errorf("removed %d at once, %v, want 0", removed, err)
		}
		s.pass(2 * time.Hour)
		removed, err := s.app.SweepMedia(ctx)
		s.must(err)
		if removed != 4 { // two uploads, and what was made of one of them
			t.Errorf("removed %d objects", removed)
		}
		for id, want := range map[string]bool{kept.SubmissionID: true, gone.SubmissionID: false} {
			for _, hash := range s.objectsOf(id)[1:] { // the upload is no longer needed
				if _, err := s.config.Media.Stat(ctx, hash); want != (err == nil) || !want && !errors.Is(err, blob.ErrObjectNotFound) {
					t.Errorf("object of %s: %v", s.submission(id).Status, err)
				}
			}
		}
		s.must(s.app.CheckSubmission(ctx, waiting.SubmissionID)) // its upload was needed
		s.wantStatus(waiting.SubmissionID, sortie.SubmissionAccepted)
	})
}

func (s *testMedia) objectsOf(id string) []sortie.Hash {
	s.t.Helper()
	submission := s.stored(id)
	return []sortie.Hash{submission.UploadedHash, submission.Media.ServedHash, submission.Media.ThumbnailHash}
}

func BenchmarkDeliverables(b *testing.B) {
	s := openTestMedia(b, sqliteDatabase(b), nil)
	draft := s.publish("k", 200, "")
	for i := range 101 {
		s.submitQuickly(contributor(i), draft, fmt.Sprint(i))
	}
	ctx := context.Background()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		if _, err := s.app.Deliverables(ctx, alice, draft.ID, DeliverablesQuery{Limit: 100}, func(d Deliverable) {
			dst = append(append(dst, d.BeforeLinks...), d.AfterLinks...)
			dst = d.Links.AppendToken(dst, d.SubmissionID, links.VariantOriginal)
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(dst)))
}
