package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// Every change of a submission is conditional on the version that was read. Its row is changed
// first: if another transaction was faster, nothing is changed and the transaction can continue.
// The mission's counters are changed next, and stay locked until the transaction ends. Transactions
// that change several submissions of one mission may therefore deadlock; the store then runs one of
// them again.

// SubmissionMove is a change of a submission's status.
type SubmissionMove struct {
	To          sortie.SubmissionStatus
	Reason      string
	Score       *int                     // nil: stays
	Checks      []sortie.SubmissionCheck // nil: stay
	Policy      string                   // empty: stays
	DecidedBy   string                   // empty: stays
	DuplicateOf string                   // empty: stays
	HoldUntil   *time.Time               // from when an acceptance may become final; for acceptances only
	Fragment    []byte                   // what deliverables show of it; for acceptances only
}

// MarkUploaded records that the whole file of a pending submission has arrived, with this hash. Its
// declared size no longer counts as outstanding; it counts against meters and the share of
// newcomers until it is decided about. If another transaction changed the submission first, it
// fails with [ErrConflict] and changes nothing.
func (tx *Tx) MarkUploaded(was Submission, hash sortie.Hash) error {
	if err := tx.changeSubmission("record the upload of", was, markUploaded, tx.Now.UnixMicro(), hash.String()); err != nil {
		return err
	}
	reservation, err := tx.reservationOf(was)
	if err == nil {
		_, err = tx.exec(noteArrival, was.ID)
	}
	if err == nil {
		err = tx.releaseBytes(reservation)
	}
	if err != nil {
		return fmt.Errorf("record the upload of submission %s: %w", was.ID, err)
	}
	return nil
}

// NoteFailure records since when the checks of a submission fail. [Tx.RecordMedia] ends it. It does
// not change the version: no decision depends on it.
func (tx *Tx) NoteFailure(was Submission) error {
	if _, err := tx.exec(noteFailure, was.ID, tx.Now.UnixMicro()); err != nil {
		return fmt.Errorf("record the failed check of submission %s: %w", was.ID, err)
	}
	return nil
}

// RecordMedia stores the media of an uploaded submission, the problem with its file, or both. A
// file that can be served may still have a problem. [DB.Duplicates] finds the submission
// afterwards. If another transaction changed the submission first, or its media is already
// recorded, it fails with [ErrConflict] and changes nothing.
func (tx *Tx) RecordMedia(was Submission, media *SubmissionMedia, problem *MediaProblem) error {
	if media == nil && problem == nil {
		return fmt.Errorf("record media of submission %s: want media, a problem, or both", was.ID)
	}
	if media == nil {
		return tx.changeSubmission("record a problem with", was, recordProblem, problem.Code, problem.Message)
	}
	perceptual := sql.NullInt64{Valid: media.Perceptual != nil}
	if media.Perceptual != nil {
		perceptual.Int64 = int64(*media.Perceptual)
	}
	var code, message sql.NullString
	if problem != nil {
		code, message = sql.NullString{String: problem.Code, Valid: true}, sql.NullString{String: problem.Message, Valid: true}
	}
	var lat, lng sql.NullFloat64 // degrees
	if media.Place != nil {
		lat.Valid, lng.Valid = true, true
		lat.Float64, lng.Float64 = media.Place.Degrees()
	}
	err := tx.changeSubmission("record media of", was, recordMedia, string(media.Kind), media.ServedHash.String(), media.ServedType,
		media.ServedSize, nullableHash(media.ThumbnailHash), media.Width, media.Height, media.Duration.Milliseconds(), media.Keyframes,
		perceptual, nullableTime(media.CapturedAt), media.ZoneUnknown, lat, lng, code, message)
	if err == nil && media.Perceptual != nil {
		err = tx.indexPerceptual(was.ID, *media.Perceptual)
	}
	return err
}

// MoveSubmission moves a submission from the state that was read to another, with everything that
// depends on it: its reservation or slot, its contributor's count, and the deliverables. It returns
// the new submission. Package mission decides which moves are allowed; final acceptances, rejected
// and withdrawn submissions never move.
//
// If another transaction changed the submission first, it fails with [ErrConflict] and changes
// nothing. An acceptance fails the transaction with [ErrMissionClosed] if the mission was closed.
func (tx *Tx) MoveSubmission(was Submission, move SubmissionMove) (Submission, error) {
	accepts := mission.HoldsSlot(move.To)
	switch {
	case !mission.HoldsReservation(was.Status) && !mission.HoldsSlot(was.Status):
		return Submission{}, fmt.Errorf("move submission %s, which is %s: %w", was.ID, was.Status, ErrConflict)
	case accepts && (move.HoldUntil == nil || len(move.Fragment) == 0):
		return Submission{}, fmt.Errorf("accept submission %s: want the end of its hold and its fragment", was.ID)
	}
	moved := move.apply(was, tx.Now)
	checks, err := json.Marshal(moved.Checks)
	if err != nil {
		return Submission{}, fmt.Errorf("move submission %s: %w", was.ID, err)
	}
	score := sql.NullInt64{Valid: moved.Score != nil}
	if moved.Score != nil {
		score.Int64 = int64(*moved.Score)
	}
	err = tx.changeSubmission("move", was, moveSubmission, string(moved.Status), moved.Reason, score, string(checks), moved.Policy,
		moved.DecidedBy, moved.DuplicateOf, nullableTime(moved.HoldUntil), nullableTime(moved.VerifiedAt))
	if err != nil {
		return Submission{}, err
	}
	if err := tx.follow(was, &moved, move.Fragment); err != nil {
		return Submission{}, fmt.Errorf("move submission %s: %w", was.ID, err)
	}
	return moved, nil
}

// apply returns the submission after the move, without its number in the order of acceptances.
func (move *SubmissionMove) apply(was Submission, now time.Time) Submission {
	moved := was
	moved.Status, moved.Reason, moved.AcceptSeq, moved.HoldUntil, moved.Version = move.To, move.Reason, 0, nil, was.Version+1
	moved.EndorsedBy = ""
	if move.Score != nil {
		moved.Score = move.Score
	}
	if move.Checks != nil {
		moved.Checks = move.Checks
	}
	if move.Policy != "" {
		moved.Policy = move.Policy
	}
	if move.DecidedBy != "" {
		moved.DecidedBy = move.DecidedBy
	}
	if move.DuplicateOf != "" {
		moved.DuplicateOf = move.DuplicateOf
	}
	if mission.HoldsSlot(move.To) {
		moved.HoldUntil = move.HoldUntil
	}
	if lookedAt := was.UploadedAt != nil || move.Checks != nil; lookedAt && move.To != sortie.SubmissionWithdrawn {
		moved.VerifiedAt = &now
	}
	return moved
}

// follow changes everything that depends on a submission's status.
func (tx *Tx) follow(was Submission, moved *Submission, fragment []byte) error {
	before, after := holdings(was.Status), holdings(moved.Status)
	var reservation *reservation
	if decided := before.reserved > 0 && after.reserved == 0; decided {
		var err error
		if reservation, err = tx.reservationOf(was); err != nil {
			return err
		}
	}
	if mission.HoldsSlot(was.Status) {
		if _, err := tx.exec(deleteDeliverable, was.DraftID, was.AcceptSeq); err != nil {
			return err
		}
	}
	if add := (slotCounts{reserved: after.reserved - before.reserved, accepted: after.accepted - before.accepted, acceptances: after.accepted, newcomers: -reservation.newcomers()}); add != (slotCounts{}) {
		acceptSeq, _, err := tx.countSlots(was.DraftID, add)
		if err != nil {
			return err
		}
		if mission.HoldsSlot(moved.Status) {
			moved.AcceptSeq = acceptSeq
			if err := tx.deliver(moved, fragment); err != nil {
				return err
			}
		}
	}
	if after == (slotCounts{}) {
		if _, err := tx.exec(endContribution, was.DraftID, hexAddress(was.Contributor)); err != nil {
			return err
		}
	}
	return tx.closeReservation(reservation, after.accepted > 0)
}

// deliver adds an acceptance to the deliverables.
func (tx *Tx) deliver(accepted *Submission, fragment []byte) error {
	if _, err := tx.exec(numberAcceptance, accepted.ID, accepted.AcceptSeq); err != nil {
		return err
	}
	hasThumbnail := accepted.Media != nil && accepted.Media.ThumbnailHash != sortie.Hash{}
	_, err := tx.exec(insertDeliverable, accepted.DraftID, accepted.AcceptSeq, accepted.ID, hasThumbnail, fragment)
	return err
}

// Endorse records that an operator accepted a submission that a second operator must accept too.
// Every move resets it. If another transaction changed the submission first, it fails with
// [ErrConflict] and changes nothing.
func (tx *Tx) Endorse(was Submission, operator string) error {
	return tx.changeSubmission("endorse", was, endorseSubmission, operator)
}

// holdings returns what a submission in a status holds of its mission.
func holdings(status sortie.SubmissionStatus) (held slotCounts) {
	if mission.HoldsReservation(status) {
		held.reserved = 1
	}
	if mission.HoldsSlot(status) {
		held.accepted = 1
	}
	return held
}

// TakeSlot makes an acceptance final: it takes the mission's next slot and queues the payout. If
// the acceptance is on hold, or was changed since it was read, it fails with [ErrConflict] and
// changes nothing. It fails the transaction with [ErrMissionClosed] if the mission was closed.
func (tx *Tx) TakeSlot(was Submission) (Submission, error) {
	if err := tx.changeSubmission("take a slot for", was, finishAcceptance, tx.Now.UnixMicro()); err != nil {
		return Submission{}, err
	}
	_, finals, err := tx.countSlots(was.DraftID, slotCounts{finals: 1})
	if err == nil {
		_, err = tx.exec(numberSlot, was.ID, finals-1)
	}
	if err == nil {
		err = tx.queuePayout(was, finals-1)
	}
	if err != nil {
		return Submission{}, fmt.Errorf("take a slot for submission %s: %w", was.ID, err)
	}
	final := was
	slot, now := uint32(finals-1), tx.Now
	final.Slot, final.FinalAt, final.Version = &slot, &now, was.Version+1
	final.Payout = &SubmissionPayout{Status: sortie.PayoutQueued}
	return final, nil
}

// ProlongHold delays when an acceptance becomes final. If it is final, or was changed since it was
// read, it fails with [ErrConflict] and changes nothing.
func (tx *Tx) ProlongHold(was Submission, until time.Time) error {
	return tx.changeSubmission("prolong the hold of", was, prolongHold, until.UnixMicro())
}

// changeSubmission runs an update of the version that was read.
func (tx *Tx) changeSubmission(what string, was Submission, statement string, args ...any) error {
	changed, err := tx.exec(statement, append([]any{was.ID, was.Version}, args...)...)
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("%s submission %s: %w", what, was.ID, err)
	}
	return nil
}

const (
	thisSubmission = ` WHERE submission_id = $1 AND version = $2 `
	noteFailure    = `UPDATE submissions SET failing_since = $2 WHERE submission_id = $1 AND failing_since IS NULL`
	recordProblem  = `UPDATE submissions SET problem_code = $3, problem_message = $4, failing_since = NULL, version = version + 1` +
		thisSubmission + notRecorded
	notRecorded       = `AND uploaded_at IS NOT NULL AND media_kind IS NULL AND problem_code IS NULL`
	endorseSubmission = `UPDATE submissions SET endorsed_by = $3, version = version + 1` + thisSubmission + `AND status = 'flagged'`
)

var (
	markUploaded = preparedWrite(`UPDATE submissions SET uploaded_at = $3, uploaded_hash = $4, version = version + 1` + thisSubmission + `
	AND status = 'pending' AND uploaded_at IS NULL`)
	recordMedia = preparedWrite(`UPDATE submissions SET media_kind = $3, served_hash = $4, served_type = $5, served_size = $6, thumbnail_hash = $7,
	width = $8, height = $9, duration_ms = $10, keyframes = $11, perceptual = $12, file_captured_at = $13, file_zone_unknown = $14,
	file_lat = $15, file_lng = $16, problem_code = $17, problem_message = $18, failing_since = NULL, version = version + 1` + thisSubmission + notRecorded)

	moveSubmission = preparedWrite(`UPDATE submissions SET status = $3, reason = $4, score = $5, checks = $6, policy = $7, decided_by = $8,
	duplicate_of = $9, hold_until = $10, verified_at = $11, accept_seq = NULL, endorsed_by = '', version = version + 1` + thisSubmission + `
	AND final_at IS NULL`)
	numberAcceptance = preparedWrite(`UPDATE submissions SET accept_seq = $2 WHERE submission_id = $1`)

	finishAcceptance = preparedWrite(`UPDATE submissions SET final_at = $3, version = version + 1` + thisSubmission + `
	AND accept_seq IS NOT NULL AND final_at IS NULL AND hold_until <= $3`)
	prolongHold = preparedWrite(`UPDATE submissions SET hold_until = $3, version = version + 1` + thisSubmission + `
	AND accept_seq IS NOT NULL AND final_at IS NULL`)
	numberSlot = preparedWrite(`UPDATE submissions SET slot = $2 WHERE submission_id = $1`)
)
