package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
)

func wantNotFound(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

func testServedMedia(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, nil)
	wantNotFound(t, second(db.ServedMedia(context.Background(), "sub_nowhere")))
	submission := mustDeclare(t, db, slots, bob, "key")
	check := func(want Served) {
		t.Helper()
		if served, err := db.ServedMedia(context.Background(), submission.ID); err != nil || served != want {
			t.Errorf("served is %+v, %v; want %+v", served, err, want)
		}
	}
	check(Served{Status: sortie.SubmissionPending, DraftID: slots.DraftID})
	submission = mustUpload(t, db, submission)
	want := Served{
		Status: sortie.SubmissionPending, DraftID: slots.DraftID, ServedHash: submission.Media.ServedHash, ServedType: "image/jpeg",
		ServedSize: 12, ThumbnailHash: submission.Media.ThumbnailHash,
	}
	check(want)
	for _, status := range []sortie.SubmissionStatus{sortie.SubmissionAccepted, sortie.SubmissionFlagged, sortie.SubmissionRejected} {
		submission = mustMove(t, db, submission, status)
		want.Status = status
		check(want)
	}
}

// testServedMediaAtOnce reads while decisions are made: after a decision is acknowledged, no read
// returns the state before it.
func testServedMediaAtOnce(t *testing.T, url string) {
	db := open(t, url, Options{})
	submission := mustUpload(t, db, mustDeclare(t, db, publish(t, db, nil), bob, "key"))
	statuses := []sortie.SubmissionStatus{sortie.SubmissionAccepted, sortie.SubmissionFlagged, sortie.SubmissionCurationAccepted, sortie.SubmissionRejected}
	submission = mustMove(t, db, submission, statuses[0])
	var decided atomic.Int64 // of statuses
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			for {
				before := decided.Load()
				served, err := db.ServedMedia(context.Background(), submission.ID)
				if err != nil {
					return err
				}
				if now := int64(slices.Index(statuses, served.Status)); now < before {
					return fmt.Errorf("served as %s after it was %s", served.Status, statuses[before])
				}
				if before == int64(len(statuses)-1) {
					return nil
				}
			}
		})
	}
	for i, status := range statuses[1:] {
		submission = mustMove(t, db, submission, status)
		decided.Store(int64(i + 1))
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestServedCacheIsEmptiedByEveryCommit(t *testing.T) {
	t.Parallel()
	var cache servedCache
	check := func(id string, commits int64, want bool) {
		t.Helper()
		if _, found := cache.get(id, commits); found != want {
			t.Errorf("%s after commit %d: found %v, want %v", id, commits, found, want)
		}
	}
	check("a", 0, false)
	cache.put("a", Served{}, 1)
	check("a", 1, true)
	check("a", 0, false)
	check("a", 2, false)
	cache.put("b", Served{}, 2)
	check("a", 2, false)
	check("b", 2, true)
	cache.put("c", Served{}, 1) // read before the commit, and slow
	check("c", 2, false)
	check("c", 1, false)
	check("b", 2, true)
	for i := range maxServedRows {
		cache.put(strconv.Itoa(i), Served{}, 2)
	}
	if len(cache.rows) > maxServedRows {
		t.Errorf("rows in the cache: got %d, want at most the limit", len(cache.rows))
	}
}

// testUsedObjects asks for more objects than one statement looks up.
func testUsedObjects(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, func(s *Slots) { s.Target = 1000 })
	used := make(map[sortie.Hash]bool)
	for i, status := range []sortie.SubmissionStatus{"pending", "flagged", "accepted", "curation_accepted", "rejected", "withdrawn"} {
		submission := mustUpload(t, db, mustDeclare(t, db, slots, contributor(i), "key"))
		live := i < 4
		used[submission.UploadedHash] = status == sortie.SubmissionPending
		used[submission.Media.ServedHash], used[submission.Media.ThumbnailHash] = live, live
		used[submission.Fingerprint] = false
		if status != sortie.SubmissionPending {
			mustMove(t, db, submission, status)
		}
	}
	unseen := mustDeclare(t, db, slots, contributor(6), "flagged before it was looked at")
	mustTx(t, db, func(tx *Tx) error {
		err := tx.MarkUploaded(unseen, unseen.Declaration.Hash)
		if err == nil {
			unseen, err = tx.Submission(unseen.ID)
		}
		if err == nil {
			_, err = tx.MoveSubmission(unseen, SubmissionMove{To: sortie.SubmissionFlagged})
		}
		return err
	})
	used[unseen.Declaration.Hash] = true
	// The same bytes are served for one that is gone and for one that is not.
	shared := somePicture()
	for i, status := range []sortie.SubmissionStatus{sortie.SubmissionAccepted, sortie.SubmissionRejected} {
		submission, err := upload(db, mustDeclare(t, db, slots, contributor(7+i), "key"), drawHash(), shared)
		if err != nil {
			t.Fatal(err)
		}
		mustMove(t, db, submission, status)
	}
	used[shared.ServedHash] = true

	var hashes []sortie.Hash
	var want []bool
	for hash, isUsed := range used {
		for range 5 {
			hashes, want = append(hashes, hash, drawHash()), append(want, isUsed, false)
		}
	}
	got, err := db.UsedObjects(context.Background(), hashes)
	if err != nil || !slices.Equal(got, want) || len(hashes) < 3*lookupSize {
		t.Errorf("of %d objects these are used: %v, %v\nwant %v", len(hashes), got, err, want)
	}
	if none, err := db.UsedObjects(context.Background(), nil); err != nil || len(none) != 0 {
		t.Errorf("UsedObjects of no objects: got %v, error %v; want none", none, err)
	}
}

func testDeliverablesHeader(t *testing.T, url string) {
	db := open(t, url, Options{})
	draft := mustCreate(t, db, alice, "unpublished")
	slots := publish(t, db, nil)
	mustMove(t, db, mustUpload(t, db, mustDeclare(t, db, slots, bob, "key")), sortie.SubmissionAccepted)
	for id, want := range map[string]Deliverables{
		draft.ID: {DraftID: draft.ID, MissionID: draft.MissionID}, draft.MissionID: {DraftID: draft.ID, MissionID: draft.MissionID},
		slots.DraftID:   {DraftID: slots.DraftID, MissionID: slots.MissionID, Published: true, Summary: slots.Summary, Accepted: 1},
		slots.MissionID: {DraftID: slots.DraftID, MissionID: slots.MissionID, Published: true, Summary: slots.Summary, Accepted: 1},
	} {
		if got, err := db.DeliverablesOf(context.Background(), alice, id); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("deliverables of %s: %+v, %v; want %+v", id, got, err, want)
		}
		wantNotFound(t, second(db.DeliverablesOf(context.Background(), bob, id)))
	}
	wantNotFound(t, second(db.DeliverablesOf(context.Background(), alice, "draft_nowhere")))
}

// testSubmissionLists reads every list in pages.
func testSubmissionLists(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(time.Now().UnixMicro())
	db := open(t, url, Options{Clock: clock.now})
	roomy := func(s *Slots) { s.Target, s.PerContributor = 1000, 1000 }
	here, elsewhere := publish(t, db, roomy), publish(t, db, roomy)
	var all []Submission
	for i := range 30 {
		submission := mustDeclare(t, db, []Slots{here, elsewhere}[i%2], contributor(i%3), key(i))
		switch i % 5 {
		case 1:
			submission = mustMove(t, db, mustUpload(t, db, submission), sortie.SubmissionFlagged)
		case 2, 3:
			clock.micros.Add(1)
			submission = mustMove(t, db, mustUpload(t, db, submission), sortie.SubmissionAccepted)
			if i%5 == 3 {
				var err error
				if submission, err = takeSlot(db, submission); err != nil {
					t.Fatal(err)
				}
			}
		case 4:
			submission = mustUpload(t, db, submission)
		}
		all = append(all, submission)
	}
	ctx := context.Background()
	checkList(t, "own", chosen(all, func(s Submission) bool { return s.Contributor == contributor(1) }, true), func(after Submission) ([]Submission, error) {
		return db.SubmissionsOf(ctx, contributor(1), after.Seq, 4)
	})
	checkList(t, "flagged", chosen(all, func(s Submission) bool { return s.Status == sortie.SubmissionFlagged }, false), func(after Submission) ([]Submission, error) {
		return db.SubmissionsInQueue(ctx, QueueFilter{Status: sortie.SubmissionFlagged, AfterSeq: after.Seq, Limit: 4})
	})
	checkList(t, "pending here", chosen(all, func(s Submission) bool { return s.Status == sortie.SubmissionPending && s.DraftID == here.DraftID }, false),
		func(after Submission) ([]Submission, error) {
			return db.SubmissionsInQueue(ctx, QueueFilter{Status: sortie.SubmissionPending, DraftID: here.DraftID, AfterSeq: after.Seq, Limit: 4})
		})

	early, late := all[0].ReservedUntil.Add(-time.Microsecond), time.Now().Add(2*time.Hour)
	due := func(list []Submission, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return submissionIDs(list)
	}
	unsent := submissionIDs(chosen(all, func(s Submission) bool { return s.UploadedAt == nil }, false))
	if got := due(db.ReservationsToExpire(ctx, late, 100)); !slices.Equal(got, unsent) {
		t.Errorf("reservations to expire %v, want %v", got, unsent)
	}
	if got := due(db.ReservationsToExpire(ctx, all[0].ReservedUntil, 100)); !slices.Equal(got, unsent[:1]) {
		t.Errorf("reservations to expire at the end of the first %v, want %v", got, unsent[:1])
	}
	if got := due(db.ReservationsToExpire(ctx, early, 100)); len(got) != 0 {
		t.Errorf("reservations to expire before their end: got %v, want none", got)
	}
	held := chosen(all, func(s Submission) bool { return s.AcceptSeq > 0 && s.FinalAt == nil }, false)
	if got := due(db.AcceptancesDue(ctx, late, 100)); !slices.Equal(got, submissionIDs(held)) {
		t.Errorf("acceptances due %v, want %v", got, submissionIDs(held))
	}
	if got := due(db.AcceptancesDue(ctx, *held[1].HoldUntil, 100)); !slices.Equal(got, submissionIDs(held[:2])) {
		t.Errorf("acceptances due at the end of the second %v, want %v", got, submissionIDs(held[:2]))
	}
	finals := chosen(all, func(s Submission) bool { return s.FinalAt != nil }, false)
	for len(finals) > 0 {
		if got := due(db.ReceiptsDue(ctx, ReceiptCursor{}, 100)); !slices.Equal(got, submissionIDs(finals)) {
			t.Fatalf("receipts due %v, want %v", got, submissionIDs(finals))
		}
		if got := due(db.ReceiptsDue(ctx, AfterReceipt(finals[0]), 100)); !slices.Equal(got, submissionIDs(finals[1:])) {
			t.Fatalf("receipts due after the first: got %v, want %v", got, submissionIDs(finals[1:]))
		}
		mustTx(t, db, func(tx *Tx) error { return tx.PutReceipt(finals[0], []byte("{}"), alice) })
		if err := db.Tx(ctx, func(tx *Tx) error { return tx.PutReceipt(finals[0], []byte("[]"), alice) }); !errors.Is(err, ErrConflict) {
			t.Fatalf("a second receipt: %v", err)
		}
		finals = finals[1:]
	}
}

func chosen(all []Submission, want func(Submission) bool, newestFirst bool) (some []Submission) {
	for _, submission := range all {
		if want(submission) {
			some = append(some, submission)
		}
	}
	if newestFirst {
		slices.Reverse(some)
	}
	return some
}

func submissionIDs(submissions []Submission) (ids []string) {
	for _, submission := range submissions {
		ids = append(ids, submission.ID)
	}
	return ids
}

func checkList(t *testing.T, name string, want []Submission, page func(after Submission) ([]Submission, error)) {
	t.Helper()
	var got []Submission
	var last Submission
	for {
		rows, err := page(last)
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		got = append(got, rows...)
		if len(rows) < 4 {
			break
		}
		last = rows[len(rows)-1]
	}
	if len(want) < 3 || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", name, submissionIDs(got), submissionIDs(want))
	}
}

func testLinkKeys(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(time.Now().UnixMicro())
	db := open(t, url, Options{Clock: clock.now})
	now := time.UnixMicro(clock.micros.Load()).UTC()
	want := []LinkKey{}
	for i, id := range []string{"1", "2", "3"} {
		key := LinkKey{ID: id, Secret: []byte{0, 255, byte(i)}, CreatedAt: now.Add(time.Duration(i) * time.Hour), SignsFrom: now.Add(24 * time.Hour)}
		mustTx(t, db, func(tx *Tx) error { return tx.AddLinkKey(id, key.Secret, key.SignsFrom) })
		want = append([]LinkKey{key}, want...)
		clock.micros.Add(time.Hour.Microseconds())
	}
	check := func(want []LinkKey) {
		t.Helper()
		if keys, err := db.LinkKeys(context.Background()); err != nil || !reflect.DeepEqual(keys, want) {
			t.Errorf("keys %+v, %v; want %+v", keys, err, want)
		}
	}
	check(want)
	mustTx(t, db, func(tx *Tx) error { return tx.RetireLinkKeys("1", "3", "unknown") })
	check(want[1:2])
	if left := count(t, db, "SELECT COUNT(*) FROM link_keys WHERE retired_at IS NOT NULL AND LENGTH(secret) > 0"); left != 0 {
		t.Errorf("stored secrets of retired keys: got %d, want 0", left)
	}
	mustTx(t, db, func(tx *Tx) error {
		for _, taken := range []string{"1", "2"} {
			if err := tx.AddLinkKey(taken, []byte{1}, now); !errors.Is(err, ErrConflict) {
				t.Errorf("add key %s a second time: got %v, want ErrConflict", taken, err)
			}
		}
		keys, err := tx.LinkKeys()
		if !reflect.DeepEqual(keys, want[1:2]) {
			t.Errorf("link keys inside the transaction: got %+v, want the added ones", keys)
		}
		return err
	})
	mustTx(t, db, func(tx *Tx) error { return tx.RetireLinkKeys("2") })
	check(nil)
}
