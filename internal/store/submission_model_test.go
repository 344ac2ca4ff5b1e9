package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// testSubmissionModel takes random steps, right and wrong ones, and compares every answer and
// counter with a model that is nothing but a list of submissions.
func testSubmissionModel(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(time.Now().UnixMicro())
	db := open(t, url, Options{Clock: clock.now})
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		m := &submissionModel{t: t, db: db, clock: clock, round: round}
		m.slots = publish(t, db, func(s *Slots) {
			s.Target, s.PerContributor = rapid.IntRange(1, 4).Draw(rt, "target"), rapid.IntRange(1, 2).Draw(rt, "each")
			s.EndsAt = time.UnixMicro(clock.micros.Load()).Add(20 * time.Minute).UTC()
		})
		for range rapid.IntRange(10, 40).Draw(rt, "steps") {
			m.step(rt)
			m.compare(rt)
		}
	})
}

type submissionModel struct {
	t         *testing.T
	db        *DB
	clock     *fixedClock
	round     int
	slots     Slots
	all       []Submission
	acceptSeq int64
	finals    uint32
	closed    bool
	completed bool
}

func (m *submissionModel) now() time.Time { return time.UnixMicro(m.clock.micros.Load()).UTC() }

func (m *submissionModel) held(status func(sortie.SubmissionStatus) bool) (n int) {
	for _, submission := range m.all {
		if status(submission.Status) {
			n++
		}
	}
	return n
}

func (m *submissionModel) step(rt *rapid.T) {
	switch rapid.SampledFrom([]string{"declare", "declare", "upload", "move", "move", "move", "take", "wait", "close", "complete"}).Draw(rt, "step") {
	case "declare":
		m.declare(rt)
	case "wait":
		m.clock.micros.Add(time.Minute.Microseconds())
	case "close":
		m.closed = rapid.IntRange(0, 3).Draw(rt, "close") == 0
		mustTx(m.t, m.db, func(tx *Tx) error { return tx.CloseSlots(m.slots.DraftID, m.closed) })
		m.completed = m.completed && m.closed
	case "complete":
		m.complete(rt)
	default:
		if len(m.all) == 0 {
			return
		}
		m.change(rt, rapid.IntRange(0, len(m.all)-1).Draw(rt, "submission"))
	}
}

func (m *submissionModel) declare(rt *rapid.T) {
	wallet := rapid.IntRange(0, 2).Draw(rt, "contributor")
	holding := 0
	for _, submission := range m.all {
		if submission.Contributor == contributor(wallet) && (mission.HoldsReservation(submission.Status) || mission.HoldsSlot(submission.Status)) {
			holding++
		}
	}
	var want error
	switch {
	case m.held(mission.HoldsSlot) == m.slots.Target && m.now().Before(m.slots.EndsAt):
		want = ErrMissionFull
	case m.closed || m.completed || !m.now().Before(m.slots.EndsAt):
		want = ErrMissionClosed
	case m.held(mission.HoldsReservation)+m.held(mission.HoldsSlot) == m.slots.Target:
		want = ErrMissionFull
	case holding == m.slots.PerContributor:
		want = ErrContributorLimit
	}
	stored, _, err := declare(m.db, drawSubmission(m.slots, contributor(wallet), fmt.Sprintf("%d-%d", m.round, len(m.all))))
	if !errors.Is(err, want) || (want == nil) != (err == nil) {
		rt.Fatalf("Declare: %v, want %v", err, want)
	}
	if err == nil {
		m.all = append(m.all, stored)
	}
}

func (m *submissionModel) complete(rt *rapid.T) {
	decided := m.held(mission.HoldsReservation) == 0 && m.held(mission.HoldsSlot) == int(m.finals)
	want := !m.completed && m.closed && decided
	mustTx(m.t, m.db, func(tx *Tx) error {
		if m.closed {
			if _, err := tx.FailUnpaid(m.slots.DraftID, "the money left", 1000); err != nil {
				return err
			}
		}
		completed, err := tx.CompleteSlots(m.slots.DraftID)
		if completed != want {
			rt.Fatalf("completed: %t, want %t", completed, want)
		}
		return err
	})
	for i := range m.all {
		if payout := m.all[i].Payout; m.closed && payout != nil {
			m.all[i].Payout = &SubmissionPayout{Status: sortie.PayoutFailed, Problem: "the money left"}
		}
	}
	m.completed = m.completed || want
}

// change moves a submission by an event that may be wrong, or makes it final.
func (m *submissionModel) change(rt *rapid.T, i int) {
	was := m.all[i]
	ways := []string{"upload", "take", "move", "move", "move"}
	if was.UploadedAt == nil {
		ways = append(ways, "upload", "upload", "upload", "upload") // or hardly any would come far
	}
	switch rapid.SampledFrom(ways).Draw(rt, "change") {
	case "upload":
		uploaded, err := upload(m.db, was, drawHash(), somePicture())
		if want := was.Status == sortie.SubmissionPending && was.UploadedAt == nil; want != (err == nil) || err != nil && !errors.Is(err, ErrConflict) {
			rt.Fatalf("mark %s uploaded: got %v, want success only for a pending one", was.Status, err)
		} else if want {
			m.all[i] = uploaded
		}
	case "take":
		final, err := takeSlot(m.db, was)
		want := was.AcceptSeq > 0 && was.FinalAt == nil && !was.HoldUntil.After(m.now())
		if want && m.closed {
			if !errors.Is(err, ErrMissionClosed) {
				rt.Fatalf("a slot of a closed mission: got %v, want %v", err, ErrMissionClosed)
			}
			return
		}
		if want != (err == nil) || err != nil && !errors.Is(err, ErrConflict) {
			rt.Fatalf("take a slot for %s: got %v, want success only after its hold", was.Status, err)
		}
		if want {
			if *final.Slot != m.finals {
				rt.Fatalf("slot %d was taken, want %d", *final.Slot, m.finals)
			}
			m.finals++
			m.all[i] = final
		}
	default:
		m.move(rt, i)
	}
}

func (m *submissionModel) move(rt *rapid.T, i int) {
	was := m.all[i]
	events := slices.DeleteFunc(mission.SubmissionEvents(), func(event mission.SubmissionEvent) bool {
		_, err := mission.NextSubmission(was.State(), event)
		return err != nil
	})
	if len(events) == 0 {
		return
	}
	event := rapid.SampledFrom(events).Draw(rt, "event")
	to, err := mission.NextSubmission(was.State(), event)
	if err != nil {
		rt.Fatal(err)
	}
	hold := m.now().Add(time.Duration(rapid.IntRange(0, 1).Draw(rt, "hold")) * time.Minute)
	stale := was
	if rapid.IntRange(0, 3).Draw(rt, "stale") == 0 {
		stale.Version--
	}
	moved := Submission{}
	err = m.db.Tx(context.Background(), func(tx *Tx) (err error) {
		moved, err = tx.MoveSubmission(stale, SubmissionMove{To: to, Reason: string(event), HoldUntil: &hold, Fragment: []byte(was.ID)})
		return err
	})
	if stale.Version != was.Version {
		if !errors.Is(err, ErrConflict) {
			rt.Fatalf("a move of an old version: %v", err)
		}
		return
	}
	if m.closed && mission.HoldsSlot(to) {
		if !errors.Is(err, ErrMissionClosed) {
			rt.Fatalf("an acceptance to a closed mission: %v", err)
		}
		return
	}
	if err != nil {
		rt.Fatalf("move by %s: got %v, want no error", event, err)
	}
	if mission.HoldsSlot(to) {
		m.acceptSeq++
		if moved.AcceptSeq != m.acceptSeq || !moved.HoldUntil.Equal(hold) {
			rt.Fatalf("acceptance %d until %s, want %d until %s", moved.AcceptSeq, moved.HoldUntil, m.acceptSeq, hold)
		}
	}
	m.all[i] = moved
}

// compare reads everything back.
func (m *submissionModel) compare(rt *rapid.T) {
	slots := mustSlots(m.t, m.db, m.slots.DraftID)
	if slots.Reserved != m.held(mission.HoldsReservation) || slots.Accepted != m.held(mission.HoldsSlot) || slots.Finals != int(m.finals) ||
		(slots.ClosedAt != nil) != m.closed || (slots.CompletedAt != nil) != m.completed {
		rt.Fatalf("counters of the mission: got %+v, want those of the model %+v", slots, m)
	}
	checkSlots(m.t, m.db, m.slots.DraftID)
	if m.t.Failed() {
		rt.Fatal("see above")
	}
	var want, got []delivered
	for _, submission := range m.all {
		if read, err := m.db.Submission(context.Background(), submission.ID); err != nil || !reflect.DeepEqual(read, submission) {
			rt.Fatalf("read %+v, %v\nwant %+v", read, err, submission)
		}
		if mission.HoldsSlot(submission.Status) {
			want = append(want, delivered{submission.AcceptSeq, submission.ID})
		}
	}
	slices.SortFunc(want, func(a, b delivered) int { return cmp.Compare(a.acceptSeq, b.acceptSeq) })
	err := m.db.DeliverablePage(context.Background(), m.slots.DraftID, 0, 100, func(acceptSeq int64, id string, _ bool, fragment []byte) {
		if string(fragment) != id {
			rt.Fatalf("fragment of %s: got %s, want that of its acceptance", id, fragment)
		}
		got = append(got, delivered{acceptSeq, id})
	})
	if err != nil || !slices.Equal(got, want) {
		rt.Fatalf("deliverables %v, %v; want %v", got, err, want)
	}
}
