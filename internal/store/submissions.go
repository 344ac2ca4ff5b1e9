package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// NewSubmission holds the values of a new submission. Only the end of its reservation changes. Its
// bounds are not stored.
type NewSubmission struct {
	ID            string
	DraftID       string
	Contributor   sortie.Address
	Key           string // the contributor's idempotency key
	Fingerprint   sortie.Hash
	Declaration   mission.Declaration
	ReservedUntil time.Time // when the file must be uploaded, unless it is prolonged
	Bounds        ReservationBounds
}

// Submission is a stored submission.
type Submission struct {
	NewSubmission
	Seq         int64 // newer submissions have greater ones
	Status      sortie.SubmissionStatus
	Reason      string
	Score       *int
	Checks      []sortie.SubmissionCheck
	Policy      string
	DecidedBy   string
	DuplicateOf string

	UploadedAt   *time.Time
	UploadedHash sortie.Hash
	Media        *SubmissionMedia // nil before the file was checked
	Problem      *MediaProblem    // why it could not be read
	FailingSince *time.Time       // when its checks began to fail; nil if they do not

	AcceptSeq  int64      // number in the order of the mission's acceptances, from 1; 0: not accepted
	HoldUntil  *time.Time // from when the acceptance may become final
	Slot       *uint32    // from 0; nil before the acceptance is final
	FinalAt    *time.Time
	Payout     *SubmissionPayout // nil before the acceptance is final
	Receipt    json.RawMessage
	Signer     sortie.Address // of the receipt; zero: none, or not stored
	EndorsedBy string         // the operator who accepted it above an hourly limit; empty: none, or not needed
	CreatedAt  time.Time
	VerifiedAt *time.Time // when it was last checked or decided about
	Version    int64      // grows with every change

	Mission SubmissionMission
}

// SubmissionPayout is the part of a submission's payout that is shown with it.
type SubmissionPayout struct {
	Status      sortie.PayoutStatus
	Transaction sortie.Hash // zero: none yet
	Problem     string
}

// SubmissionMission is the part of a submission's mission that is shown with it.
type SubmissionMission struct {
	MissionID string
	Title     string
	Domain    sortie.Domain // of the contract that pays for it
	Creator   sortie.Address
	Token     sortie.Token
	Reward    *big.Int   // base units
	Reclaim   *time.Time // from when its creator may reclaim the money; nil while it is not funded
}

// SubmissionMedia describes an uploaded file and what is served in its place.
type SubmissionMedia struct {
	Kind          sortie.MediaType
	ServedHash    sortie.Hash
	ServedType    string
	ServedSize    int64
	ThumbnailHash sortie.Hash // zero: none
	Width, Height int
	Duration      time.Duration // to the millisecond
	Keyframes     int
	Perceptual    *uint64               // nil: no perceptual hash
	CapturedAt    *time.Time            // from the file's metadata
	ZoneUnknown   bool                  // CapturedAt is the wall clock of an unknown zone
	Place         *mission.MicroDegrees // from the file's metadata
}

// MediaProblem is why an uploaded file cannot be used.
type MediaProblem struct{ Code, Message string }

// State returns the part of the submission that determines which events are allowed.
func (s Submission) State() mission.SubmissionState {
	return mission.SubmissionState{Status: s.Status, Uploaded: s.UploadedAt != nil, Final: s.FinalAt != nil}
}

// QueueFilter selects a page of submissions for operators, oldest first.
type QueueFilter struct {
	Status   sortie.SubmissionStatus
	DraftID  string // empty: of any mission
	AfterSeq int64
	Limit    int
}

// Declare stores a submission and reserves a slot of its mission. If the contributor already has a
// submission under the same idempotency key, it returns that one, even if the mission is full or
// closed, and created is false; the caller must compare the declarations.
//
// It fails, and the transaction with it, with [ErrMissionClosed] when the mission takes no
// submissions now, [ErrMissionFull] when every slot is taken or reserved, and [ErrContributorLimit]
// when the contributor holds as many as allowed; with [ErrNewcomersFull], [MeterError],
// [ErrContributorBytes], [ErrNetworkBytes], [ErrNewcomerBytes] and [ErrReservedBytes] when a bound
// is exceeded; and with [ErrIDTaken], after which the transaction can continue with another id.
func (tx *Tx) Declare(submission NewSubmission) (stored Submission, created bool, err error) {
	d := &submission.Declaration
	_, err = tx.insert(insertSubmission, submission.ID, submission.DraftID, hexAddress(submission.Contributor),
		submission.Key, submission.Fingerprint.String(), string(d.Location.Lat), string(d.Location.Lng),
		string(d.Location.AccuracyMeters), d.CapturedAt.UnixMicro(), d.ContentType, d.SizeBytes, d.Hash.String(),
		submission.ReservedUntil.UnixMicro(), tx.Now.UnixMicro())
	if errors.Is(err, ErrNotFound) { // a unique index refused the row
		stored, err = tx.SubmissionByKey(submission.Contributor, submission.Key)
		if errors.Is(err, ErrNotFound) {
			err = ErrIDTaken
		}
		return stored, false, err
	}
	if err == nil {
		err = tx.reserveSlot(submission)
	}
	if err == nil {
		err = tx.openReservation(submission)
	}
	if err == nil {
		stored, err = tx.Submission(submission.ID)
	}
	if err != nil {
		return Submission{}, false, fmt.Errorf("declare a submission: %w", err)
	}
	return stored, true, nil
}

// Submission reads a submission of any contributor, or fails with [ErrNotFound].
func (db *DB) Submission(ctx context.Context, id string) (Submission, error) {
	return read(ctx, db, func(r reader) (Submission, error) { return r.Submission(id) })
}

// Submission is [DB.Submission] inside the transaction.
func (r reader) Submission(id string) (Submission, error) {
	return r.submission(selectSubmission, id)
}

// SubmissionByKey finds the contributor's submission with this idempotency key, or fails with
// [ErrNotFound].
func (db *DB) SubmissionByKey(ctx context.Context, contributor sortie.Address, key string) (Submission, error) {
	return read(ctx, db, func(r reader) (Submission, error) { return r.SubmissionByKey(contributor, key) })
}

// SubmissionByKey is [DB.SubmissionByKey] inside the transaction.
func (r reader) SubmissionByKey(contributor sortie.Address, key string) (Submission, error) {
	return r.submission(selectSubmissionByKey, hexAddress(contributor), key)
}

// SubmissionsOf reads a page of the contributor's submissions, newest first, before the one
// numbered beforeSeq; 0: from the newest.
func (db *DB) SubmissionsOf(ctx context.Context, contributor sortie.Address, beforeSeq int64, limit int) ([]Submission, error) {
	if beforeSeq == 0 {
		beforeSeq = math.MaxInt64
	}
	return db.submissions(ctx, selectSubmissionsOf, hexAddress(contributor), beforeSeq, limit)
}

// SubmissionsInQueue reads a page of the submissions in a status.
func (db *DB) SubmissionsInQueue(ctx context.Context, filter QueueFilter) ([]Submission, error) {
	if filter.DraftID != "" {
		return db.submissions(ctx, selectSubmissionsOfMission, string(filter.Status), filter.AfterSeq, filter.Limit, filter.DraftID)
	}
	return db.submissions(ctx, selectSubmissionsInStatus, string(filter.Status), filter.AfterSeq, filter.Limit)
}

// ReservationsToExpire reads up to limit pending submissions without a file whose reservation ended
// at or before a time, the longest ended first.
func (db *DB) ReservationsToExpire(ctx context.Context, at time.Time, limit int) ([]Submission, error) {
	return db.submissions(ctx, selectReservationsToExpire, at.UnixMicro(), limit)
}

// AcceptancesDue reads up to limit acceptances that are not final and whose hold ended at or before
// a time, the longest ended first.
func (db *DB) AcceptancesDue(ctx context.Context, at time.Time, limit int) ([]Submission, error) {
	return db.submissions(ctx, selectAcceptancesDue, at.UnixMicro(), limit)
}

// SlotHolder is the submission that took a slot.
type SlotHolder struct {
	SubmissionID string
	Contributor  sortie.Address
}

// SlotHolders reads which submissions took these slots of a mission. Slots that are not taken are
// left out.
func (tx *Tx) SlotHolders(draftID string, slots []uint64) (map[uint64]SlotHolder, error) {
	holders := make(map[uint64]SlotHolder, len(slots))
	err := lookups(slotNumbers(slots), func(args []any) error {
		return tx.each(selectSlotHolders, append([]any{draftID}, args...), func(row scanner) error {
			var slot int64
			var holder SlotHolder
			var contributor string
			if err := row.Scan(&slot, &holder.SubmissionID, &contributor); err != nil {
				return err
			}
			err := parse(&holder.Contributor, contributor, sortie.ParseAddress)
			holders[uint64(slot)] = holder
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read slot holders of %s: %w", draftID, err)
	}
	return holders, nil
}

// slotNumbers converts slots to the type of the column.
func slotNumbers(slots []uint64) []int64 {
	numbers := make([]int64, len(slots))
	for i, slot := range slots {
		numbers[i] = int64(min(slot, math.MaxInt64)) // no slot has that number
	}
	return numbers
}

func (db *DB) submissions(ctx context.Context, query string, args ...any) ([]Submission, error) {
	return read(ctx, db, func(r reader) (found []Submission, err error) {
		err = r.each(query, args, func(row scanner) error {
			submission, err := scanSubmission(row)
			found = append(found, submission)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read submissions: %w", err)
		}
		return found, nil
	})
}

func (r reader) submission(query string, args ...any) (submission Submission, err error) {
	err = r.one(query, args, func(row scanner) error {
		submission, err = scanSubmission(row)
		return err
	})
	if err != nil {
		return Submission{}, fmt.Errorf("read submission: %w", err)
	}
	return submission, nil
}

var (
	insertSubmission = preparedWrite(`INSERT INTO submissions (submission_id, draft_id, contributor, idempotency_key, fingerprint, lat, lng, accuracy,
	captured_at, content_type, size_bytes, declared_hash, reserved_until, created_at,
	status, reason, checks, policy, decided_by, duplicate_of, version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'pending', '', '[]', '', '', '', 1)
ON CONFLICT DO NOTHING`)

	selectSubmission      = preparedRead(selectSubmissions + `WHERE s.submission_id = $1`)
	selectSubmissionByKey = preparedRead(selectSubmissions + `WHERE s.contributor = $1 AND s.idempotency_key = $2`)

	selectSubmissionsOf       = preparedRead(selectSubmissions + `WHERE s.contributor = $1 AND s.seq < $2 ORDER BY s.seq DESC LIMIT $3 + 0`)
	selectSubmissionsInStatus = preparedRead(selectSubmissions + `WHERE s.status = $1 AND s.seq > $2 ORDER BY s.seq LIMIT $3 + 0`)

	selectSubmissionsOfMission = preparedRead(selectSubmissions + `WHERE s.draft_id = $4 AND s.status = $1 AND s.seq > $2 ORDER BY s.seq LIMIT $3 + 0`)

	selectReservationsToExpire = preparedRead(selectSubmissions + `
WHERE s.expires_at <= $1 ORDER BY s.expires_at LIMIT $2 + 0`)
	selectAcceptancesDue = preparedRead(selectSubmissions + `
WHERE s.accept_seq IS NOT NULL AND s.final_at IS NULL AND s.hold_until <= $1 ORDER BY s.hold_until LIMIT $2 + 0`)
)

var selectSlotHolders = `SELECT slot, submission_id, contributor FROM submissions
WHERE draft_id = $1 AND slot IS NOT NULL AND slot IN (` + placeholders(2, lookupSize) + `)`
