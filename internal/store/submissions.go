package store

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

var errUnwritten = errors.New("store: not written yet")

// NewSubmission is what a submission is made of. None of it ever changes.
type NewSubmission struct {
	ID            string
	DraftID       string
	Contributor   sortie.Address
	Key           string // the contributor's idempotency key
	Fingerprint   sortie.Hash
	Declaration   mission.Declaration
	ReservedUntil time.Time
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
	Media        *SubmissionMedia // nil before the file was looked at
	Problem      *MediaProblem    // why it could not be read

	AcceptSeq  int64 // place in the order of the mission's acceptances, from 1; 0: not accepted
	HoldUntil  *time.Time
	Slot       *uint32 // from 0; nil before the acceptance is final
	FinalAt    *time.Time
	Receipt    json.RawMessage
	CreatedAt  time.Time
	VerifiedAt *time.Time
	Version    int64 // grows with every change

	Mission SubmissionMission
}

// SubmissionMission is what is shown of a submission's mission beside it.
type SubmissionMission struct {
	MissionID string
	Title     string
	Creator   sortie.Address
	Token     sortie.Token
	Reward    *big.Int // base units
}

// SubmissionMedia is what was found in an uploaded file, and what is served in its place.
type SubmissionMedia struct {
	Kind          sortie.MediaType
	ServedHash    sortie.Hash
	ServedType    string
	ServedSize    int64
	ThumbnailHash sortie.Hash // zero: none
	Width, Height int
	Duration      time.Duration // to the millisecond
	Keyframes     int
	Perceptual    *uint64
	CapturedAt    *time.Time // as the file says
	ZoneUnknown   bool       // CapturedAt is the wall clock of an unknown zone
	Lat, Lng      *float64   // as the file says
}

// MediaProblem says why an uploaded file cannot be used.
type MediaProblem struct{ Code, Message string }

// State is what decides which way the submission may go.
func (s Submission) State() mission.SubmissionState {
	return mission.SubmissionState{Status: s.Status, Uploaded: s.UploadedAt != nil, Final: s.FinalAt != nil}
}

// SubmissionMove is where a submission goes.
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

// QueueFilter chooses a page of submissions for operators, oldest first.
type QueueFilter struct {
	Status   sortie.SubmissionStatus // empty: pending and flagged? see [DB.SubmissionsInQueue]
	DraftID  string                  // empty: of any mission
	AfterSeq int64
	Limit    int
}

// Declare stores a submission and reserves a place of its mission for it.
func (tx *Tx) Declare(submission NewSubmission) (stored Submission, created bool, err error) {
	return Submission{}, false, errUnwritten
}

// Submission reads a submission, or fails with [ErrNotFound].
func (db *DB) Submission(ctx context.Context, id string) (Submission, error) {
	return Submission{}, errUnwritten
}

// Submission is [DB.Submission] inside the transaction.
func (tx *Tx) Submission(id string) (Submission, error) { return Submission{}, errUnwritten }

// SubmissionByKey reads the contributor's submission with this idempotency key, or fails with [ErrNotFound].
func (db *DB) SubmissionByKey(ctx context.Context, contributor sortie.Address, key string) (Submission, error) {
	return Submission{}, errUnwritten
}

// SubmissionsOf reads a page of the contributor's submissions, newest first, before the one numbered beforeSeq; 0: from the
// newest.
func (db *DB) SubmissionsOf(ctx context.Context, contributor sortie.Address, beforeSeq int64, limit int) ([]Submission, error) {
	return nil, errUnwritten
}

// SubmissionsInQueue reads a page of the submissions in a status, oldest first.
func (db *DB) SubmissionsInQueue(ctx context.Context, filter QueueFilter) ([]Submission, error) {
	return nil, errUnwritten
}

// MarkUploaded notes that the file is here, whole.
func (tx *Tx) MarkUploaded(was Submission, hash sortie.Hash) error { return errUnwritten }

// RecordMedia keeps what was found in the file, or why it cannot be used.
func (tx *Tx) RecordMedia(was Submission, media *SubmissionMedia, problem *MediaProblem) error {
	return errUnwritten
}

// MoveSubmission moves a submission from the state it was read in to another.
func (tx *Tx) MoveSubmission(was Submission, move SubmissionMove) (Submission, error) {
	return Submission{}, errUnwritten
}

// ReservationsToExpire reads up to limit pending submissions without a file whose reservation ended at or before a time.
func (db *DB) ReservationsToExpire(ctx context.Context, at time.Time, limit int) ([]Submission, error) {
	return nil, errUnwritten
}

// AcceptancesDue reads up to limit acceptances whose hold ended at or before a time.
func (db *DB) AcceptancesDue(ctx context.Context, at time.Time, limit int) ([]Submission, error) {
	return nil, errUnwritten
}

// ReceiptsDue reads up to limit final acceptances that have no receipt.
func (db *DB) ReceiptsDue(ctx context.Context, limit int) ([]Submission, error) {
	return nil, errUnwritten
}

// TakeSlot makes an acceptance final: it takes the mission's next slot.
func (tx *Tx) TakeSlot(was Submission) (Submission, error) { return Submission{}, errUnwritten }

// PutReceipt keeps the receipt of a final acceptance.
func (tx *Tx) PutReceipt(was Submission, receipt json.RawMessage) error { return errUnwritten }
