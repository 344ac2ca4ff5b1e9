package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// ErrNoAnswer is in the error of a check whose verifier program could not be reached or gave an
// invalid answer. Retry later; after too many tries use [Verifier.WithoutAnswer].
var ErrNoAnswer = errors.New("the verifier gave no answer")

// Input is what is known about a submission whose file has been uploaded.
type Input struct {
	SubmissionID string
	MissionID    string
	Mission      mission.Normalized
	OpensAt      time.Time // submissions are captured from this time on
	EndsAt       time.Time // submissions are captured before this time

	Location     sortie.Location // as declared
	CapturedAt   time.Time       // as declared
	DeclaredHash sortie.Hash

	UploadedAt   time.Time
	UploadedHash sortie.Hash
	Media        *Media   // what was found in the file; nil when it was refused or not read
	Problem      *Problem // why it was refused or, with Media, why it is in doubt

	ClockInDoubt bool // UploadedAt, OpensAt and EndsAt may be wrong

	ExactDuplicate string // the id of an earlier submission of the same bytes; empty when there is none
	NearDuplicate  string // the id of an earlier submission that looks the same
}

// Media is what was found in a file.
type Media struct {
	Kind          sortie.MediaType
	Width, Height int // as shown
	Duration      time.Duration
	CapturedAt    *time.Time            // by the file's metadata; nil when it has none
	ZoneUnknown   bool                  // CapturedAt is local time in an unknown zone, as if it were UTC
	Place         *mission.MicroDegrees // by the file's metadata
}

// Problem is why a file was refused or is in doubt. The contributor reads the message.
type Problem struct{ Code, Message string }

// Verdict is the decision about a submission.
type Verdict struct {
	Status      sortie.SubmissionStatus // accepted, flagged or rejected
	Score       int                     // 0-100
	Reason      string
	Checks      []sortie.SubmissionCheck // all checks in order, then the verifier program's answer, if it was asked
	Policy      string                   // the version of the rules, and the mode
	DuplicateOf string                   // the id of the submission it repeats; empty when there is none
}

// Config configures a verifier. With the zero value a person decides.
type Config struct {
	Mode    Mode
	Client  *http.Client  // for the verifier program; nil: a client with bounded headers. Redirects are not followed
	Timeout time.Duration // of a request to the verifier program; 0: a minute
}

// Verifier decides about submissions. It is safe for concurrent use.
type Verifier struct {
	mode    Mode
	program program
}

// New returns a verifier.
func New(config Config) *Verifier {
	return &Verifier{mode: config.Mode, program: newProgram(config)}
}

// Policy returns the version of the rules and the mode, as in verdicts.
func (v *Verifier) Policy() string {
	switch v.mode.by {
	case byChecks:
		return checksVersion + "/auto"
	case byProgram:
		return fmt.Sprintf("%s/http-%d-%d", checksVersion, acceptFrom, rejectBelow)
	}
	return checksVersion + "/curate"
}

// Check decides about a submission. It calls link only to ask the verifier program: the links give
// access to the media; the second is empty for media without a thumbnail.
//
// A file that is not the declared one need not be read: with neither Media nor Problem the verdict
// is a rejection.
//
// It fails with [ErrNoAnswer] when the verifier program gave no verdict, and otherwise when the
// input is incomplete.
func (v *Verifier) Check(ctx context.Context, in Input, link func() (mediaURL, thumbnailURL string)) (Verdict, error) {
	verdict, err := v.examine(in)
	if err != nil || verdict.Status != "" {
		return verdict, err
	}
	switch v.mode.by {
	case byChecks:
		verdict.Status, verdict.Reason = sortie.SubmissionAccepted, allPassed
	case byProgram:
		answer, err := v.program.ask(ctx, in, verdict, link)
		if err != nil {
			return Verdict{}, err
		}
		return answer.decide(verdict), nil
	default:
		verdict.Status, verdict.Reason = sortie.SubmissionFlagged, allPassed+waits
	}
	return verdict, nil
}

// WithoutAnswer decides about a submission for which [Verifier.Check] had no verdict for too long:
// if it passes the checks, it waits for a person.
func (v *Verifier) WithoutAnswer(in Input) (Verdict, error) {
	verdict, err := v.examine(in)
	if err != nil || verdict.Status != "" {
		return verdict, err
	}
	verdict.Status, verdict.Reason = sortie.SubmissionFlagged, allPassed+waits
	if v.mode.by == byProgram {
		verdict.Reason = allPassed + ", but the verifier gave no answer" + waits
	}
	return verdict, nil
}

const (
	allPassed = "all checks passed"
	waits     = "; waits for a person"
)

// examine runs the checks. The verdict has no status when all passed: then the mode decides.
func (v *Verifier) examine(in Input) (Verdict, error) {
	isDeclared := in.UploadedHash == in.DeclaredHash
	if in.Media == nil && in.Problem == nil && isDeclared {
		return Verdict{}, fmt.Errorf("check submission %s: its file was not read", in.SubmissionID)
	}
	verdict := Verdict{Policy: v.Policy(), DuplicateOf: in.ExactDuplicate}
	if verdict.DuplicateOf == "" {
		verdict.DuplicateOf = in.NearDuplicate
	}
	var rejecting, flagging []string
	for _, check := range checks {
		found, reason := check.judge(in)
		verdict.Checks = append(verdict.Checks, sortie.SubmissionCheck{Name: check.name, Passed: found == passed, Reason: reason})
		switch {
		case found == passed:
			verdict.Score += check.weight
		case found == notChecked:
		case check.rejects(in):
			rejecting = append(rejecting, reason)
		default:
			flagging = append(flagging, reason)
		}
	}
	switch {
	case len(rejecting) > 0:
		verdict.Status, verdict.Reason = sortie.SubmissionRejected, strings.Join(rejecting, "; ")
	case len(flagging) > 0:
		verdict.Status, verdict.Reason = sortie.SubmissionFlagged, strings.Join(flagging, "; ")+waits
	}
	return verdict, nil
}
