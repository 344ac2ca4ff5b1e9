package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// publish makes a mission that takes submissions from an hour ago until in an hour.
func publish(t testing.TB, db *DB, change func(*Slots)) Slots {
	t.Helper()
	draft := mustApply(t, db, mustCreate(t, db, alice, "mission-"+drawHash().String()), mission.FundingLocked, mission.Approved)
	now := db.clock().UTC().Truncate(time.Microsecond)
	slots := Slots{
		DraftID: draft.ID, MissionID: draft.MissionID, Creator: alice, Target: 10, PerContributor: 1, MediaType: sortie.MediaPhoto,
		OpensAt: now.Add(-time.Hour), EndsAt: now.Add(time.Hour), PublishedAt: now.Add(-time.Hour), Summary: json.RawMessage(`{"title":"Ł"}`),
	}
	if change != nil {
		change(&slots)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.PublishSlots(slots) })
	return mustSlots(t, db, draft.ID)
}

func mustSlots(t testing.TB, db *DB, draftID string) Slots {
	t.Helper()
	slots, err := db.SlotsOf(context.Background(), draftID)
	if err != nil {
		t.Fatal(err)
	}
	return slots
}

// contributor is one of any number of wallets.
func contributor(i int) (wallet sortie.Address) {
	binary.BigEndian.PutUint64(wallet[12:], uint64(i)+1)
	return wallet
}

func drawSubmission(slots Slots, wallet sortie.Address, key string) NewSubmission {
	var entropy mission.Entropy
	_, _ = rand.Read(entropy[:]) // never fails
	now := time.Now().UTC()
	return NewSubmission{
		ID: mission.NewSubmissionID(entropy, now), DraftID: slots.DraftID, Contributor: wallet, Key: key, Fingerprint: drawHash(),
		Declaration: mission.Declaration{
			Location:   sortie.Location{Lat: "-12.000001", Lng: "179.5", AccuracyMeters: "4.25"},
			CapturedAt: now.Truncate(time.Millisecond), ContentType: "image/jpeg", SizeBytes: sortie.MaxUploadBytes, Hash: drawHash(),
		},
		ReservedUntil: now.Add(time.Hour).Truncate(time.Microsecond),
	}
}

func declare(db *DB, submission NewSubmission) (stored Submission, wasCreated bool, err error) {
	err = db.Tx(context.Background(), func(tx *Tx) error {
		stored, wasCreated, err = tx.Declare(submission)
		return err
	})
	return stored, wasCreated, err
}

func mustDeclare(t testing.TB, db *DB, slots Slots, wallet sortie.Address, key string) Submission {
	t.Helper()
	stored, wasCreated, err := declare(db, drawSubmission(slots, wallet, key))
	if err != nil || !wasCreated {
		t.Fatalf("Declare(%s): got created %t, error %v", key, wasCreated, err)
	}
	return stored
}

// upload notes a file, and what was found in it.
func upload(db *DB, submission Submission, hash sortie.Hash, media *SubmissionMedia) (Submission, error) {
	err := db.Tx(context.Background(), func(tx *Tx) error {
		if err := tx.MarkUploaded(submission, hash); err != nil {
			return err
		}
		uploaded, err := tx.Submission(submission.ID)
		if err == nil {
			err = tx.RecordMedia(uploaded, media, nil)
		}
		if err == nil {
			submission, err = tx.Submission(submission.ID)
		}
		return err
	})
	return submission, err
}

func somePicture() *SubmissionMedia {
	return &SubmissionMedia{Kind: sortie.MediaPhoto, ServedHash: drawHash(), ServedType: "image/jpeg", ServedSize: 12, ThumbnailHash: drawHash(), Width: 640, Height: 480}
}

func mustUpload(t testing.TB, db *DB, submission Submission) Submission {
	t.Helper()
	uploaded, err := upload(db, submission, submission.Declaration.Hash, somePicture())
	if err != nil {
		t.Fatal(err)
	}
	return uploaded
}

func move(db *DB, was Submission, to sortie.SubmissionStatus) (moved Submission, err error) {
	change := SubmissionMove{To: to, Reason: "because"}
	if mission.HoldsSlot(to) {
		hold := was.CreatedAt
		change.HoldUntil, change.Fragment = &hold, []byte(`{"submissionId":"`+was.ID+`"}`)
	}
	err = db.Tx(context.Background(), func(tx *Tx) error {
		moved, err = tx.MoveSubmission(was, change)
		return err
	})
	return moved, err
}

func mustMove(t testing.TB, db *DB, was Submission, to sortie.SubmissionStatus) Submission {
	t.Helper()
	moved, err := move(db, was, to)
	if err != nil {
		t.Fatalf("move a submission from %s to %s: got %v, want no error", was.Status, to, err)
	}
	return moved
}

func takeSlot(db *DB, was Submission) (final Submission, err error) {
	err = db.Tx(context.Background(), func(tx *Tx) error {
		final, err = tx.TakeSlot(was)
		return err
	})
	return final, err
}

// checkStored compares a submission with what is read of it.
func checkStored(t testing.TB, db *DB, want Submission) {
	t.Helper()
	got, err := db.Submission(context.Background(), want.ID)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v, %v\nwant %+v", got, err, want)
	}
}

// checkSlots compares the counters of a mission with the rows they count.
func checkSlots(t testing.TB, db *DB, draftID string) Slots {
	t.Helper()
	slots := mustSlots(t, db, draftID)
	if slots.Accepted+slots.Reserved > slots.Target || slots.Finals > slots.Accepted {
		t.Errorf("counters: got %d accepted (%d final) and %d reserved of %d", slots.Accepted, slots.Finals, slots.Reserved, slots.Target)
	}
	for _, counter := range []struct {
		name    string
		counted int
		rows    string
	}{
		{"reserved", slots.Reserved, `SELECT COUNT(*) FROM submissions WHERE draft_id = $1 AND status IN ('pending', 'flagged')`},
		{"accepted", slots.Accepted, `SELECT COUNT(*) FROM submissions WHERE draft_id = $1 AND status IN ('accepted', 'curation_accepted') AND accept_seq IS NOT NULL`},
		{"numbered", slots.Accepted, `SELECT COUNT(*) FROM submissions WHERE draft_id = $1 AND accept_seq IS NOT NULL`},
		{"delivered", slots.Accepted, `SELECT COUNT(*) FROM deliverables JOIN submissions USING (draft_id, accept_seq, submission_id) WHERE draft_id = $1`},
		{"deliverable", slots.Accepted, `SELECT COUNT(*) FROM deliverables WHERE draft_id = $1`},
		{"final", slots.Finals, `SELECT COUNT(DISTINCT slot) FROM submissions WHERE draft_id = $1 AND slot < ` + strconv.Itoa(slots.Finals)},
		{"slots", slots.Finals, `SELECT COUNT(*) FROM submissions WHERE draft_id = $1 AND slot IS NOT NULL AND final_at IS NOT NULL`},
		{"held by contributors", slots.Reserved + slots.Accepted, `SELECT COALESCE(SUM(active), 0) FROM contributors WHERE draft_id = $1`},
		{"too many of one contributor", 0, `SELECT COUNT(*) FROM contributors WHERE draft_id = $1 AND active > ` + strconv.Itoa(slots.PerContributor)},
	} {
		if rows := count(t, db, counter.rows, draftID); int(rows) != counter.counted {
			t.Errorf("counter %s: got %d, want %d, the number of rows", counter.name, counter.counted, rows)
		}
	}
	return slots
}

func testSubmissionLife(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(time.Now().UnixMicro())
	db := open(t, url, Options{Clock: clock.now})
	slots := publish(t, db, nil)
	now := time.UnixMicro(clock.micros.Load()).UTC()

	declared := drawSubmission(slots, bob, "key")
	stored, wasCreated, err := declare(db, declared)
	want := Submission{
		NewSubmission: declared, Seq: stored.Seq, Status: sortie.SubmissionPending, Checks: []sortie.SubmissionCheck{}, CreatedAt: now, Version: 1,
		Mission: stored.Mission,
	}
	if err != nil || !wasCreated || stored.Seq == 0 || !reflect.DeepEqual(stored, want) {
		t.Fatalf("declared %+v, %t, %v\nwant %+v", stored, wasCreated, err, want)
	}
	if m := stored.Mission; m.MissionID != slots.MissionID || m.Creator != alice || m.Token != sortie.TokenUSDC || m.Reward.BitLen() != 96 || m.Title == "" {
		t.Errorf("mission of the submission: got %+v, want the published one", m)
	}
	checkStored(t, db, want)

	hash, perceptual := drawHash(), ^uint64(5)
	captured := now.Add(-time.Hour)
	media := &SubmissionMedia{
		Kind: sortie.MediaVideo, ServedHash: drawHash(), ServedType: "video/mp4", ServedSize: 1 << 29, ThumbnailHash: drawHash(), Width: 1, Height: 2,
		Duration: 1500 * time.Millisecond, Keyframes: 3, Perceptual: &perceptual, CapturedAt: &captured, ZoneUnknown: true, Place: &mission.MicroDegrees{Lat: -12_500_000, Lng: 179_990_001},
	}
	stored, err = upload(db, stored, hash, media)
	want.UploadedAt, want.UploadedHash, want.Media, want.Version = &now, hash, media, 3
	if err != nil || !reflect.DeepEqual(stored, want) {
		t.Fatalf("uploaded %+v, %v\nwant %+v", stored, err, want)
	}

	score, checks := 87, []sortie.SubmissionCheck{{Name: "readable", Passed: true, Reason: "it is \u0000"}}
	mustTx(t, db, func(tx *Tx) error {
		stored, err = tx.MoveSubmission(stored, SubmissionMove{
			To: sortie.SubmissionFlagged, Reason: "looks like", Score: &score, Checks: checks, Policy: "checks-1", DecidedBy: "checks", DuplicateOf: "sub_1",
		})
		return err
	})
	want.Status, want.Reason, want.Score, want.Checks, want.Policy, want.DecidedBy, want.DuplicateOf = sortie.SubmissionFlagged, "looks like", &score, checks, "checks-1", "checks", "sub_1"
	want.VerifiedAt, want.Version = &now, 4
	checkStored(t, db, want)

	clock.micros.Add(time.Minute.Microseconds())
	later, hold := now.Add(time.Minute), now.Add(2*time.Minute)
	mustTx(t, db, func(tx *Tx) error {
		stored, err = tx.MoveSubmission(stored, SubmissionMove{To: sortie.SubmissionCurationAccepted, Reason: "fine", DecidedBy: "0x01", HoldUntil: &hold, Fragment: []byte("{}")})
		return err
	})
	want.Status, want.Reason, want.DecidedBy, want.HoldUntil, want.AcceptSeq, want.VerifiedAt, want.Version = sortie.SubmissionCurationAccepted, "fine", "0x01", &hold, 1, &later, 5
	if !reflect.DeepEqual(stored, want) {
		t.Fatalf("accepted %+v\nwant %+v", stored, want)
	}
	checkStored(t, db, want)

	if _, err := takeSlot(db, stored); !errors.Is(err, ErrConflict) {
		t.Fatalf("a slot was taken before the end of the hold: %v", err)
	}
	clock.micros.Add(time.Minute.Microseconds())
	if stored, err = takeSlot(db, stored); err != nil {
		t.Fatal(err)
	}
	slot := uint32(0)
	want.Slot, want.FinalAt, want.Version, want.Payout = &slot, &hold, 6, &SubmissionPayout{Status: sortie.PayoutQueued}
	checkStored(t, db, want)
	if !reflect.DeepEqual(stored, want) {
		t.Fatalf("final %+v\nwant %+v", stored, want)
	}
	for _, to := range []sortie.SubmissionStatus{sortie.SubmissionRejected, sortie.SubmissionFlagged, sortie.SubmissionWithdrawn} {
		if _, err := move(db, stored, to); !errors.Is(err, ErrConflict) {
			t.Errorf("move a final acceptance to %s: got %v, want ErrConflict", to, err)
		}
	}
	if _, err := takeSlot(db, stored); !errors.Is(err, ErrConflict) {
		t.Errorf("a second slot was taken: %v", err)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.PutReceipt(stored, json.RawMessage(`{"signature":"0x00"}`), bob) })
	want.Receipt, want.Signer, want.Version = json.RawMessage(`{"signature":"0x00"}`), bob, 7
	checkStored(t, db, want)
	if slots := checkSlots(t, db, slots.DraftID); slots.Finals != 1 || slots.Accepted != 1 || slots.Reserved != 0 {
		t.Errorf("counters after the move: got %+v, want one final acceptance", slots)
	}
}

func testUnreadableFile(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, nil)
	submission := mustDeclare(t, db, slots, bob, "key")
	problem := &MediaProblem{Code: "corrupt", Message: "cut off"}
	record := func(media *SubmissionMedia, problem *MediaProblem) error {
		return db.Tx(context.Background(), func(tx *Tx) error {
			current, err := tx.Submission(submission.ID)
			if err != nil {
				return err
			}
			return tx.RecordMedia(current, media, problem)
		})
	}
	if err := record(nil, problem); !errors.Is(err, ErrConflict) {
		t.Errorf("a problem was recorded with a file that is not there: %v", err)
	}
	mustTx(t, db, func(tx *Tx) error { return tx.MarkUploaded(submission, drawHash()) })
	if record(nil, nil) == nil {
		t.Error("neither media nor a problem was recorded")
	}
	if err := record(nil, problem); err != nil {
		t.Fatal(err)
	}
	if err := record(somePicture(), nil); !errors.Is(err, ErrConflict) {
		t.Errorf("media was recorded over a problem: %v", err)
	}
	read, err := db.Submission(context.Background(), submission.ID)
	if err != nil || read.Media != nil || !reflect.DeepEqual(read.Problem, problem) {
		t.Errorf("read an unreadable file: got %+v, error %v; want its problem", read, err)
	}
	if err := db.Tx(context.Background(), func(tx *Tx) error { return tx.MarkUploaded(read, drawHash()) }); !errors.Is(err, ErrConflict) {
		t.Errorf("a second file was taken: %v", err)
	}

	// A file that can be served may be in doubt all the same.
	submission = mustDeclare(t, db, slots, alice, "doubt")
	mustTx(t, db, func(tx *Tx) error { return tx.MarkUploaded(submission, drawHash()) })
	picture := somePicture()
	if err := record(picture, problem); err != nil {
		t.Fatal(err)
	}
	if err := record(somePicture(), nil); !errors.Is(err, ErrConflict) {
		t.Errorf("media was recorded twice: %v", err)
	}
	read, err = db.Submission(context.Background(), submission.ID)
	if err != nil || !reflect.DeepEqual(read.Media, picture) || !reflect.DeepEqual(read.Problem, problem) {
		t.Errorf("read a file in doubt: got %+v, error %v; want media and problem", read, err)
	}
}

// testDeclareRefusals checks every reason to refuse a declaration.
func testDeclareRefusals(t *testing.T, url string) {
	db := open(t, url, Options{})
	now := time.Now()
	for name, c := range map[string]struct {
		change func(*Slots)
		before func(*testing.T, Slots)
		forget bool
		want   error
	}{
		"open":      {},
		"not begun": {change: func(s *Slots) { s.OpensAt = now.Add(time.Hour) }, want: ErrMissionClosed},
		"over":      {change: func(s *Slots) { s.EndsAt = now.Add(-time.Second) }, want: ErrMissionClosed},
		"closed": {before: func(t *testing.T, s Slots) {
			mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(s.DraftID, true) })
		}, want: ErrMissionClosed},
		"closed after all": {before: func(t *testing.T, s Slots) {
			mustTx(t, db, func(tx *Tx) error {
				return errors.Join(tx.CloseSlots(s.DraftID, true), tx.CloseSlots(s.DraftID, false))
			})
		}},
		"full": {change: func(s *Slots) { s.Target = 1 }, before: func(t *testing.T, s Slots) { mustDeclare(t, db, s, alice, s.DraftID) }, want: ErrMissionFull},
		"over and full": {
			change: func(s *Slots) { s.Target, s.EndsAt = 0, now.Add(-time.Second) }, want: ErrMissionClosed,
		},
		"at the limit": {before: func(t *testing.T, s Slots) { mustDeclare(t, db, s, bob, s.DraftID+"1") }, want: ErrContributorLimit},
		"below the limit": {
			change: func(s *Slots) { s.PerContributor = 2 }, before: func(t *testing.T, s Slots) { mustDeclare(t, db, s, bob, s.DraftID+"2") },
		},
		"withdrawn before": {before: func(t *testing.T, s Slots) {
			mustMove(t, db, mustDeclare(t, db, s, bob, s.DraftID+"3"), sortie.SubmissionWithdrawn)
		}},
		"full of withdrawn ones": {change: func(s *Slots) { s.Target = 1 }, before: func(t *testing.T, s Slots) {
			mustMove(t, db, mustDeclare(t, db, s, alice, s.DraftID+"4"), sortie.SubmissionWithdrawn)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			slots := publish(t, db, c.change)
			if c.before != nil {
				c.before(t, slots)
			}
			before := checkSlots(t, db, slots.DraftID)
			submission := drawSubmission(slots, bob, slots.DraftID)
			if c.forget {
				submission.DraftID = "draft_nowhere"
			}
			stored, wasCreated, err := declare(db, submission)
			if !errors.Is(err, c.want) || wasCreated != (c.want == nil) {
				t.Fatalf("Declare: created %t, %v; want %v", wasCreated, err, c.want)
			}
			after := checkSlots(t, db, slots.DraftID)
			if c.want != nil {
				if !reflect.DeepEqual(before, after) {
					t.Errorf("counters after a refusal: got %+v, want %+v", after, before)
				}
				return
			}
			if after.Reserved != before.Reserved+1 {
				t.Errorf("reserved slots: got %d after %d, want one more", after.Reserved, before.Reserved)
			}
			// A replay gives the same, closed and full as the mission may be.
			mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(slots.DraftID, true) })
			again := drawSubmission(slots, bob, slots.DraftID)
			if replayed, wasCreated, err := declare(db, again); err != nil || wasCreated || !reflect.DeepEqual(replayed, stored) {
				t.Errorf("the replay gave %+v, created %t, %v; want %+v", replayed, wasCreated, err, stored)
			}
		})
	}
}

func testTakenSubmissionID(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, nil)
	first := mustDeclare(t, db, slots, bob, "key")
	taken := drawSubmission(slots, alice, "key")
	fresh := taken.ID
	taken.ID = first.ID
	mustTx(t, db, func(tx *Tx) error {
		if _, _, err := tx.Declare(taken); !errors.Is(err, ErrIDTaken) {
			return fmt.Errorf("a taken id: %w", err)
		}
		taken.ID = fresh
		_, wasCreated, err := tx.Declare(taken)
		if err == nil && !wasCreated {
			err = errors.New("not created")
		}
		return err
	})
	if slots := checkSlots(t, db, slots.DraftID); slots.Reserved != 2 {
		t.Errorf("%d are reserved, want 2", slots.Reserved)
	}
}
