package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
)

const tower = `,"location":{"lat":48.8584,"lng":2.2945,"radiusMeters":200}`

// A submission that is declared, uploaded in two parts, checked, delivered and final, with a
// receipt that the contract accepts.
func TestFromDeclarationToReceipt(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 2, tower)
		file := photo(1)
		body := declaration(file, s.clock())
		declared, created, err := s.app.Declare(ctx, testBase, bob, testNetwork, draft.MissionID, "one", body)
		s.must(err)
		if !created || declared.Status != sortie.SubmissionPending || declared.SlotReservedUntil != sortie.FormatTime(s.clock().Add(ReservationTime)) {
			t.Errorf("declared %+v, created %t", declared, created)
		}
		s.declareAgain(draft.MissionID, body, declared)

		upload := s.open(declared)
		half := int64(len(file) / 2)
		if offset, err := upload.Append(ctx, io.LimitReader(bytes.NewReader(file), half)); err != nil || offset != half {
			t.Fatalf("appended up to %d of %d: %v, want %v", offset, half, err, half)
		}
		_, err = upload.Finish(ctx)
		wantCode(t, err, sortie.CodeValidationFailed) // bytes are missing
		_, err = s.app.OpenUpload(ctx, declared.SubmissionID, links.VariantUploadTus, s.queryOf(declared.Upload.TusURL))
		wantCode(t, err, sortie.CodeIdempotencyInProgress)
		upload.Close()
		upload, err = s.another(nil).App.OpenUpload(ctx, declared.SubmissionID, links.VariantUploadTus, s.queryOf(declared.Upload.TusURL))
		s.must(err)
		if upload.Offset() != half || upload.Size() != int64(len(file)) || upload.Done() {
			t.Errorf("after a restart the upload is at %d of %d", upload.Offset(), upload.Size())
		}
		_, err = upload.Append(ctx, bytes.NewReader(append(slices.Clone(file[half:]), "and more"...)))
		s.must(err)
		_, err = upload.Finish(ctx)
		s.must(err)
		upload.Close()
		if again := s.open(declared); !again.Done() || again.Offset() != int64(len(file)) {
			t.Error("the upload is not done")
		}
		if jobs := s.count(`SELECT COUNT(*) FROM test_jobs WHERE name = $1`, "check "+declared.SubmissionID); jobs != 1 {
			t.Errorf("%d check jobs, want 1", jobs)
		}

		for range 2 { // a job may be worked twice
			s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
		}
		accepted := s.wantStatus(declared.SubmissionID, sortie.SubmissionAccepted)
		if accepted.Score == nil || *accepted.Score != 100 || len(accepted.Checks) == 0 || accepted.VerifiedAt == nil || accepted.Receipt != nil ||
			accepted.Payout.Status != sortie.PayoutNone || accepted.Payout.AmountBaseUnits != "2500000" || accepted.Payout.Token != sortie.TokenUSDC {
			t.Errorf("accepted %+v", accepted)
		}
		s.wantDelivered(draft.ID, declared.SubmissionID, file)

		s.pass(testHold - time.Second)
		s.due()
		if before := s.submission(declared.SubmissionID); before.Receipt != nil || s.stored(declared.SubmissionID).Slot != nil {
			t.Error("it became final before the hold was over")
		}
		s.pass(time.Second)
		s.due()
		s.wantReceipt(declared.SubmissionID, 0)
		_, err = s.operators.RejectSubmission(ctx, testBase, by(reviewer), declared.SubmissionID, "Too late.")
		wantCode(t, err, sortie.CodeWrongState)

		second := s.submit(contributor(2), draft, "two", photo(2))
		s.pass(testHold)
		s.due()
		s.due()
		s.wantReceipt(second.SubmissionID, 1)
		s.complete(draft)
		s.due()
		want := []sortie.EventType{
			sortie.EventSubmissionAccepted, sortie.EventSubmissionAccepted, sortie.EventPayoutSent, sortie.EventPayoutSent,
			sortie.EventPayoutPaid, sortie.EventPayoutPaid, sortie.EventMissionCompleted,
		}
		if types := s.typesOf(draft); !slices.Equal(types[len(types)-len(want):], want) {
			t.Errorf("events %v, want %v at the end", types, want)
		}
		_, err = s.declare(contributor(3), draft, "three", photo(3))
		wantCode(t, err, sortie.CodeMissionFull)
	})
}

// declareAgain declares the same, and then a different file, under the same key.
func (s *testMedia) declareAgain(missionID string, body []byte, first sortie.SubmissionDeclared) {
	s.t.Helper()
	spelled := bytes.Replace(body, []byte(`"48.858370"`), []byte("48.8583700"), 1)
	again, created, err := s.app.Declare(context.Background(), testBase, bob, testNetwork, missionID, "one", spelled)
	if err != nil || created || *again.Upload != *first.Upload || again.SubmissionID != first.SubmissionID {
		s.t.Errorf("declared again %+v, created %t: %v", again, created, err)
	}
	_, _, err = s.app.Declare(context.Background(), testBase, bob, testNetwork, missionID, "one", declaration(photo(9), s.clock()))
	wantCode(s.t, err, sortie.CodeIdempotencyConflict)
	_, _, err = s.app.Declare(context.Background(), testBase, bob, testNetwork, missionID, "two", body)
	wantCode(s.t, err, sortie.CodeContributorLimit)
}

// wantDelivered reads the only deliverable of a draft as its creator does, and the media of its
// links.
func (s *testMedia) wantDelivered(draftID, submissionID string, file []byte) {
	s.t.Helper()
	draft := s.read(draftID)
	page := s.deliverables(draft, DeliverablesQuery{})
	if len(page.Submissions) != 1 || page.Summary.AcceptedSubmissions != 1 || page.Summary.NextCursor != nil || page.Mission.TargetCount != 2 {
		s.t.Fatalf("deliverables %+v", page)
	}
	got := page.Submissions[0]
	expiresAt := sortie.FormatTime(s.clock().Add(DefaultLinkTTL))
	switch {
	case got.SubmissionID != submissionID, got.MediaType != sortie.MediaPhoto, got.MediaURLExpiresAt != expiresAt,
		got.Location.Lat != "48.85837", got.Verification.Status != sortie.SubmissionAccepted, got.Verification.Score != 100,
		got.CreatedAt != s.clock().UTC().Format("2006-01-02 15:04:05"), got.Media.DurationMs != nil, got.ThumbnailURL == nil,
		got.Provenance != sortie.Provenance{Source: "service_submission", MissionID: draft.MissionID, SubmissionID: submissionID}:
		s.t.Errorf("deliverable %+v", got)
	}
	opened, err := s.fetch(s.service, got.MediaURL)
	s.must(err)
	served, err := io.ReadAll(opened.File)
	s.must(err)
	if hash := sha256.Sum256(served); "sha256:"+hexHash(hash) != got.Media.Hash || opened.Hash != hash || opened.Size != int64(len(served)) || opened.ContentType != "image/jpeg" {
		s.t.Errorf("the link serves %d bytes, which are not those that were promised: %+v", len(served), opened)
	}
	thumbnail, err := s.fetch(s.service, *got.ThumbnailURL)
	s.must(err)
	if thumbnail.Hash == opened.Hash || thumbnail.Size <= 0 || thumbnail.ContentType != "image/jpeg" {
		s.t.Errorf("thumbnail %+v", thumbnail)
	}
	if sha256.Sum256(file) == sha256.Sum256(served) && bytes.Contains(file, []byte("Exif")) {
		s.t.Error("the original bytes are served, want the cleaned copy")
	}
}

// wantReceipt checks a final submission's receipt as the contract does.
func (s *testMedia) wantReceipt(id string, slot uint32) {
	s.t.Helper()
	s.wantPayout("with a receipt", id, sortie.PayoutQueued)
	s.wantSigned(id, slot)
}

// wantSigned is wantReceipt for a payout in any state.
func (s *testMedia) wantSigned(id string, slot uint32) {
	s.t.Helper()
	submission := s.submission(id)
	if submission.Receipt == nil {
		s.t.Fatalf("submission %+v has no receipt", submission)
	}
	receipt := *submission.Receipt
	want := sortie.Settlement{
		MissionKey: sortie.MissionKey(submission.MissionID),
		Payments:   []sortie.Payment{{Slot: slot, Recipient: s.stored(id).Contributor, SubmissionKey: sortie.SubmissionKey(id)}},
	}
	digest := want.Digest(sortie.Domain{ChainID: testChain, Factory: factory}.Separator())
	signer, err := sortie.RecoverAddress(digest, receipt.Signature)
	if err != nil || signer != s.settler || receipt.MissionKey != want.MissionKey || !slices.Equal(receipt.Payments, want.Payments) {
		encoded, _ := json.Marshal(receipt)
		s.t.Errorf("receipt %s signed by %s: %v", encoded, signer, err)
	}
}

// A file that is not the declared one, cannot be read, or was made elsewhere is rejected, with
// reasons.
func TestWrongFilesAreRejected(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	ctx := context.Background()
	draft := s.publish("k", 5, tower)

	other := photo(1)
	declared, err := s.declare(bob, draft, "other", photo(2)[:len(other)])
	s.must(err)
	upload := s.open(declared)
	_, err = upload.Append(ctx, bytes.NewReader(other))
	s.must(err)
	_, err = upload.Finish(ctx)
	wantCode(t, err, sortie.CodeValidationFailed)
	_, err = s.tryOpen(declared)
	wantCode(t, err, sortie.CodeValidationFailed) // as often as one asks
	s.wantFailed(declared.SubmissionID, "declared_hash")

	broken := s.submit(bob, draft, "broken", []byte("\xff\xd8\xff\xe0 and nothing of a picture"))
	s.wantFailed(broken.SubmissionID, "readable")

	file := photo(3)
	elsewhere := bytes.Replace(declaration(file, s.clock()), []byte("48.858370"), []byte("48.9"), 1)
	far, _, err := s.app.Declare(ctx, testBase, bob, testNetwork, draft.MissionID, "far", elsewhere)
	s.must(err)
	s.upload(far, file)
	s.must(s.app.CheckSubmission(ctx, far.SubmissionID))
	s.wantFailed(far.SubmissionID, "area")

	video := bytes.Replace(declaration(file, s.clock()), []byte("image/jpeg"), []byte("video/mp4"), 1)
	_, _, err = s.app.Declare(ctx, testBase, bob, testNetwork, draft.MissionID, "video", video)
	wantCode(t, err, sortie.CodeValidationFailed)
	if slots := s.slots(draft); slots.Reserved != 0 || slots.Accepted != 0 {
		t.Errorf("slots %+v", slots)
	}
	if page := s.deliverables(draft, DeliverablesQuery{}); len(page.Submissions) != 0 {
		t.Errorf("delivered %+v, want 0", page.Submissions)
	}
}

// wantFailed checks which check rejected a submission.
func (s *testMedia) wantFailed(id, check string) {
	s.t.Helper()
	rejected := s.wantStatus(id, sortie.SubmissionRejected)
	if !slices.ContainsFunc(rejected.Checks, func(c sortie.SubmissionCheck) bool { return c.Name == check && !c.Passed && c.Reason != "" }) || rejected.Reason == "" {
		s.t.Errorf("rejected %+v, want the check %s to have failed", rejected, check)
	}
}

// A reserved slot without an upload is free after ten minutes, or when the submission is withdrawn.
func TestReservationsEnd(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 2, "")
		idle, err := s.declare(bob, draft, "idle", photo(1))
		s.must(err)
		uploaded, err := s.declare(contributor(1), draft, "uploaded", photo(2))
		s.must(err)
		s.upload(uploaded, photo(2))
		_, err = s.declare(contributor(2), draft, "late", photo(3))
		wantCode(t, err, sortie.CodeMissionFull)

		link := s.queryOf(idle.Upload.PutURL)
		s.pass(ReservationTime - time.Second)
		s.due()
		s.wantStatus(idle.SubmissionID, sortie.SubmissionPending)
		s.pass(time.Second)
		_, err = s.app.OpenUpload(ctx, idle.SubmissionID, links.VariantUploadPut, link)
		wantCode(t, err, sortie.CodeMediaURLExpired)
		s.pass(takeInTime)
		s.due()
		s.wantStatus(idle.SubmissionID, sortie.SubmissionRejected)
		s.wantStatus(uploaded.SubmissionID, sortie.SubmissionPending) // its file is here
		again, err := s.declare(bob, draft, "idle", photo(1))
		wantCode(t, err, sortie.CodeIdempotencyConflict) // it was taken at another time
		if again.Upload != nil {
			t.Errorf("an expired submission can be uploaded: %+v", again)
		}

		late, err := s.declare(contributor(2), draft, "late", photo(3))
		s.must(err)
		for range 2 { // the same again is answered the same
			withdrawn, err := s.app.Withdraw(ctx, contributor(2), late.SubmissionID)
			s.must(err)
			if withdrawn.Submission.Status != sortie.SubmissionWithdrawn {
				t.Errorf("withdrawn %+v, want %v", withdrawn, sortie.SubmissionWithdrawn)
			}
		}
		_, err = s.tryOpen(late)
		wantCode(t, err, sortie.CodeWrongState)
		_, err = s.app.Withdraw(ctx, bob, uploaded.SubmissionID)
		wantCode(t, err, sortie.CodeNotFound)
		s.must(s.app.CheckSubmission(ctx, uploaded.SubmissionID))
		_, err = s.app.Withdraw(ctx, contributor(1), uploaded.SubmissionID)
		wantCode(t, err, sortie.CodeWrongState)
		if slots := s.slots(draft); slots.Reserved != 0 || slots.Accepted != 1 {
			t.Errorf("slots %+v", slots)
		}
	})
}

// The same picture by any wallet is flagged, and operators see which one it duplicates.
func TestDuplicatesAreFlagged(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft, another := s.publish("k", 3, ""), s.publish("l", 3, "")
		first := s.submit(bob, draft, "first", photo(1))
		s.wantStatus(first.SubmissionID, sortie.SubmissionAccepted)
		exact := s.submit(contributor(1), another, "exact", photo(1))
		near := s.submit(contributor(2), draft, "near", append(photo(1), 0)) // other bytes, the same picture
		for _, duplicate := range []sortie.Submission{exact, near} {
			s.wantStatus(duplicate.SubmissionID, sortie.SubmissionFlagged)
			seen, err := s.operators.ReviewedSubmission(ctx, testBase, reviewer, duplicate.SubmissionID)
			s.must(err)
			if seen.Submission.DuplicateOf == nil || *seen.Submission.DuplicateOf != first.SubmissionID {
				t.Errorf("duplicate of %v, want %s", seen.Submission.DuplicateOf, first.SubmissionID)
			}
			if _, err := s.fetch(s.service, *seen.Submission.MediaURL); err != nil {
				t.Error(err)
			}
		}
		_, err := s.app.Withdraw(ctx, contributor(1), exact.SubmissionID)
		s.must(err)
		own := s.submit(contributor(1), another, "again", photo(4))
		s.wantStatus(own.SubmissionID, sortie.SubmissionAccepted)
	})
}

// Contributors see only their own submissions, in pages.
func TestOwnSubmissions(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	ctx := context.Background()
	draft := s.publish("k", 10, `,"maxSubmissionsPerContributor":8`)
	var want []string
	for i := range 5 {
		declared, err := s.declare(bob, draft, string(rune('a'+i)), photo(i+1))
		s.must(err)
		want = append([]string{declared.SubmissionID}, want...)
	}
	var got []string
	for page := (Page{Limit: 2}); ; {
		answer, err := s.app.Submissions(ctx, bob, page)
		s.must(err)
		for _, submission := range answer.Submissions {
			got = append(got, submission.SubmissionID)
		}
		if answer.Summary.NextCursor == nil {
			break
		}
		page.Cursor = *answer.Summary.NextCursor
		_, err = s.app.Submissions(ctx, contributor(1), page)
		wantCode(t, err, sortie.CodeInvalidCursor)
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	for _, id := range []string{want[0], "sub_00000000000000000000000000", "sub_", "x'"} {
		_, err := s.app.Submission(ctx, contributor(1), id)
		wantCode(t, err, sortie.CodeNotFound)
	}
}

// Without a media store no submission can be declared, and the rest works.
func TestWithoutMedia(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), func(config *Config) { config.Media, config.Incoming, config.Ingester = nil, nil, nil })
	draft := s.publish("k", 1, "")
	_, err := s.declare(bob, draft, "one", photo(1))
	wantCode(t, err, sortie.CodeServiceUnavailable)
	s.due()
	if page := s.deliverables(draft, DeliverablesQuery{}); len(page.Submissions) != 0 {
		t.Errorf("delivered %+v, want 0", page.Submissions)
	}
}
