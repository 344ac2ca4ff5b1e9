package app

import (
	"context"
	"database/sql"
	"runtime"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

// The money leaves the contract between the read of the checks and their acceptance. Only
// PostgreSQL runs both at once.
func TestAMissionIsClosedWhileItsSubmissionIsAccepted(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	s := openTestMedia(t, database, nil)
	ctx := context.Background()
	draft := s.publish("k", 3, "")
	declared, err := s.declare(bob, draft, "one", photo(1))
	s.must(err)
	s.upload(declared, photo(1))
	s.pretend(declared.SubmissionID)

	db, err := sql.Open("pgx", database)
	s.must(err)
	t.Cleanup(func() { _ = db.Close() })
	inTheWay, err := db.Begin()
	s.must(err)
	_, err = inTheWay.Exec(`SELECT 1 FROM submissions WHERE submission_id = $1 FOR UPDATE`, declared.SubmissionID)
	s.must(err)
	checked := make(chan error, 1)
	go func() { checked <- s.app.CheckSubmission(ctx, declared.SubmissionID) }()
	for s.count(`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 && len(checked) == 0 {
		runtime.Gosched()
	}
	s.extend([]onchain.Event{closingOf(draft, closedByCreator)})
	s.must(inTheWay.Rollback())
	s.must(<-checked)
	s.wantStatus(declared.SubmissionID, sortie.SubmissionRejected)
	s.wantCountsOf(draft.ID)
}

// A decision about a submission of a closed mission is refused by the write.
func TestNothingIsAcceptedForAClosedMission(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, curated)
		draft := s.publish("k", 3, "")
		flagged := s.submitQuickly(bob, draft, "one")
		s.extend([]onchain.Event{closingOf(draft, closedByCreator)})
		move := func(event mission.SubmissionEvent) error {
			return s.app.write(context.Background(), func(tx *writeTx) error {
				_, err := tx.moveSubmission(s.stored(flagged), event, store.SubmissionMove{Reason: "Decided."})
				return err
			})
		}
		wantCode(t, move(mission.OperatorAccepted), sortie.CodeMissionClosed)
		s.wantStatus(flagged, sortie.SubmissionFlagged)
		s.wantCountsOf(draft.ID)
		s.must(move(mission.OperatorRejected))
		s.wantCountsOf(draft.ID)
	})
}
