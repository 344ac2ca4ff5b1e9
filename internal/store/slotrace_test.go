package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// testSlotRace lets 500 contributors race for 100 slots. Some withdraw and some are rejected at
// first: their slots are taken by others, who try again until the mission is full.
func testSlotRace(t *testing.T, url string) {
	const contributors, target, spoilers = 500, 100, 60
	db := open(t, url, Options{})
	slots := publish(t, db, func(s *Slots) { s.Target = target })
	var accepted, spoiled atomic.Int64
	// What gives others a reason to come again, or to stop.
	outcomes := newTally()
	watch := watchSlots(t, db, slots)
	mustAll(t, together(contributors, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		for attempt := 0; ; attempt++ {
			seen := outcomes.count()
			submission, _, err := declare(db, drawSubmission(slots, contributor(i), fmt.Sprintf("%d-%d", i, attempt)))
			switch {
			case errors.Is(err, ErrMissionFull) && accepted.Load() == target:
				return nil
			case errors.Is(err, ErrMissionFull):
				outcomes.awaitMore(seen) // another contributor may still release a slot
				continue
			case err != nil:
				return err
			}
			spoil := attempt == 0 && spoiled.Add(1) <= spoilers
			submission, err = raceOn(db, random, submission, spoil)
			if err != nil {
				return err
			}
			wasAccepted := mission.HoldsSlot(submission.Status)
			if !wasAccepted || accepted.Add(1) == target {
				outcomes.add()
			}
			if wasAccepted {
				return nil
			}
		}
	}))
	watch()
	if got := checkSlots(t, db, slots.DraftID); got.Accepted != target || got.Reserved != 0 || accepted.Load() != target {
		t.Errorf("slots: got %d accepted and %d reserved of %d, want %d accepted, as acknowledged", got.Accepted, got.Reserved, got.Target, accepted.Load())
	}
	if wallets := count(t, db, "SELECT COUNT(DISTINCT contributor) FROM submissions WHERE draft_id = $1 AND accept_seq IS NOT NULL", slots.DraftID); wallets != target {
		t.Errorf("%d contributors have an acceptance, want %d", wallets, target)
	}
	if last := count(t, db, "SELECT COUNT(DISTINCT accept_seq) FROM submissions WHERE draft_id = $1", slots.DraftID); last != target {
		t.Errorf("%d numbers of acceptance, want %d", last, target)
	}
	raceForFinality(t, db, slots, target)
}

// tally counts what happened, for those who wait for more.
type tally struct {
	changed  *sync.Cond
	happened int
}

func newTally() *tally { return &tally{changed: sync.NewCond(new(sync.Mutex))} }

func (t *tally) count() int {
	t.changed.L.Lock()
	defer t.changed.L.Unlock()
	return t.happened
}

func (t *tally) add() {
	t.changed.L.Lock()
	defer t.changed.L.Unlock()
	t.happened++
	t.changed.Broadcast()
}

func (t *tally) awaitMore(seen int) {
	t.changed.L.Lock()
	defer t.changed.L.Unlock()
	for t.happened == seen {
		t.changed.Wait()
	}
}

// raceOn takes a declared submission to its acceptance, in one of several ways, or to its end.
func raceOn(db *DB, random *rand.Rand, submission Submission, spoil bool) (Submission, error) {
	if spoil && random.IntN(3) == 0 {
		return move(db, submission, sortie.SubmissionWithdrawn)
	}
	submission, err := upload(db, submission, drawHash(), somePicture())
	if err != nil {
		return submission, err
	}
	way := [][]sortie.SubmissionStatus{
		{sortie.SubmissionAccepted},
		{sortie.SubmissionFlagged, sortie.SubmissionCurationAccepted},
		{sortie.SubmissionAccepted, sortie.SubmissionFlagged, sortie.SubmissionCurationAccepted}, // taken back for a while
	}[random.IntN(3)]
	if spoil {
		way = [][]sortie.SubmissionStatus{
			{sortie.SubmissionRejected}, {sortie.SubmissionFlagged, sortie.SubmissionWithdrawn}, {sortie.SubmissionAccepted, sortie.SubmissionRejected},
		}[random.IntN(3)]
	}
	for _, to := range way {
		if submission, err = move(db, submission, to); err != nil {
			return submission, err
		}
	}
	return submission, nil
}

// watchSlots reads the counters of a mission all the time until the function that it returns is
// called.
func watchSlots(t *testing.T, db *DB, slots Slots) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for reads := 0; ; reads++ {
			seen, err := db.SlotsOf(context.Background(), slots.DraftID)
			if err != nil || seen.Accepted+seen.Reserved > seen.Target || seen.Accepted < 0 || seen.Reserved < 0 {
				t.Errorf("slots during the race: got %d accepted and %d reserved of %d, error %v; want at most the target", seen.Accepted, seen.Reserved, seen.Target, err)
				return
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// raceForFinality lets several workers make the same acceptances final while an operator takes some
// of them back.
func raceForFinality(t *testing.T, db *DB, slots Slots, target int) {
	t.Helper()
	due, err := db.AcceptancesDue(context.Background(), time.Now().Add(time.Hour), target+1)
	if err != nil || len(due) != target {
		t.Fatalf("%d acceptances are due, %v; want %d", len(due), err, target)
	}
	var finals, revoked atomic.Int64
	mustAll(t, together(4, func(worker int) error {
		for i, submission := range due {
			var err error
			if worker == 0 {
				if i%10 != 0 {
					continue
				}
				if _, err = move(db, submission, sortie.SubmissionRejected); err == nil {
					revoked.Add(1)
				}
			} else if _, err = takeSlot(db, submission); err == nil {
				finals.Add(1)
			}
			if err != nil && !errors.Is(err, ErrConflict) {
				return err
			}
		}
		return nil
	}))
	got := checkSlots(t, db, slots.DraftID)
	if got.Finals != int(finals.Load()) || got.Accepted != got.Finals || finals.Load()+revoked.Load() != int64(target) {
		t.Errorf("race for slots: %d became final and %d were revoked of %d; got counters %d of %d accepted, want the same", finals.Load(), revoked.Load(), target, got.Finals, got.Accepted)
	}
}

// delivered is a row of a page of deliverables.
type delivered struct {
	acceptSeq int64
	id        string
}

func page(t testing.TB, db *DB, draftID string, afterSeq int64, limit int) (rows []delivered) {
	t.Helper()
	err := db.DeliverablePage(context.Background(), draftID, afterSeq, limit, func(acceptSeq int64, id string, hasThumbnail bool, fragment []byte) {
		if want := `{"submissionId":"` + id + `"}`; string(fragment) != want || !hasThumbnail {
			t.Errorf("fragment of %s: got %s, want that of its acceptance", id, fragment)
		}
		rows = append(rows, delivered{acceptSeq, id})
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// testDeliverablePages reads all pages of a mission of 1,000 accepted submissions again and again,
// 7 at a time, while 200 more are accepted, 50 withdrawn and 100 taken back.
func testDeliverablePages(t *testing.T, url string) {
	const before, more, withdrawn, revoked = 1000, 200, 50, 100
	db := open(t, url, Options{MaxWaiting: before + more + withdrawn})
	slots := publish(t, db, func(s *Slots) { s.Target = 10_000 })
	submissions := make([]Submission, before+more+withdrawn)
	mustAll(t, together(len(submissions), func(i int) (err error) {
		if submissions[i], _, err = declare(db, drawSubmission(slots, contributor(i), "key")); err != nil || i >= before+more {
			return err
		}
		submissions[i], err = upload(db, submissions[i], drawHash(), somePicture())
		if err == nil && i < before {
			submissions[i], err = move(db, submissions[i], sortie.SubmissionAccepted)
		}
		return err
	}))

	ended := make(chan struct{})
	moves := make(chan []error, 1)
	go func() {
		defer close(ended)
		moves <- together(more+withdrawn+revoked, func(i int) (err error) {
			switch {
			case i < more:
				_, err = move(db, submissions[before+i], []sortie.SubmissionStatus{sortie.SubmissionAccepted, sortie.SubmissionCurationAccepted}[i%2])
			case i < more+withdrawn:
				_, err = move(db, submissions[before+i], sortie.SubmissionWithdrawn)
			default:
				_, err = move(db, submissions[(i-more-withdrawn)*10], []sortie.SubmissionStatus{sortie.SubmissionRejected, sortie.SubmissionFlagged}[i%2])
			}
			return err
		})
	}()
	staying := make(map[string]bool, before) // those that every reader must see
	for i, submission := range submissions[:before] {
		staying[submission.ID] = i%10 != 0 || i >= revoked*10
	}
	for running, passes := true, 0; running || passes < 2; passes++ {
		select {
		case <-ended:
			running = false
		default:
		}
		readAllPages(t, db, slots.DraftID, staying)
	}
	mustAll(t, <-moves)

	all := readAllPages(t, db, slots.DraftID, staying)
	if got := checkSlots(t, db, slots.DraftID); got.Accepted != before+more-revoked || len(all) != got.Accepted {
		t.Errorf("%d deliverables at the end, and the mission counts %d; want %d", len(all), got.Accepted, before+more-revoked)
	}
}

func readAllPages(t *testing.T, db *DB, draftID string, staying map[string]bool) (ids []string) {
	t.Helper()
	seen := make(map[string]bool)
	for after := int64(0); ; {
		rows := page(t, db, draftID, after, 7)
		for _, row := range rows {
			if row.acceptSeq <= after || seen[row.id] {
				t.Fatalf("order of deliverables: got %d (%s) after %d, seen before: %t; want increasing numbers", row.acceptSeq, row.id, after, seen[row.id])
			}
			after, seen[row.id] = row.acceptSeq, true
			ids = append(ids, row.id)
		}
		if len(rows) < 7 {
			break
		}
	}
	for id, stays := range staying {
		if stays && !seen[id] {
			t.Fatalf("deliverable %s: got it skipped, want it in a page", id)
		}
	}
	return ids
}

// testAcceptanceOrder reads acceptances while they are made: no new one has a smaller number than
// those already read.
func testAcceptanceOrder(t *testing.T, url string) {
	db := open(t, url, Options{})
	slots := publish(t, db, func(s *Slots) { s.Target = 1000 })
	submissions := make([]Submission, 200)
	mustAll(t, together(len(submissions), func(i int) (err error) {
		if submissions[i], _, err = declare(db, drawSubmission(slots, contributor(i), "key")); err == nil {
			submissions[i], err = upload(db, submissions[i], drawHash(), somePicture())
		}
		return err
	}))
	accepted := make(chan []error, 1)
	go func() {
		accepted <- together(len(submissions), func(i int) error {
			_, err := move(db, submissions[i], sortie.SubmissionAccepted)
			return err
		})
	}()
	var followed []delivered
	for len(followed) < len(submissions) {
		after := int64(len(followed))
		followed = append(followed, page(t, db, slots.DraftID, after, 100)...)
		for i, row := range followed {
			if row.acceptSeq != int64(i+1) {
				t.Fatalf("number of acceptance %d: got %d, want no gaps for a reader", i+1, row.acceptSeq)
			}
		}
	}
	mustAll(t, <-accepted)
	if all := page(t, db, slots.DraftID, 0, 1000); !slices.Equal(all, followed) {
		t.Error("the order that was followed is not the order that stays")
	}
}
