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

// ErrNoAnswer is in the error of a check whose verifier program could not be reached, or answered
// something that is no answer. Ask again later; [Verifier.WithoutAnswer] is what is left when that
// did not help.
var ErrNoAnswer = errors.New("the verifier gave no answer")

// Input is all that is known about a submission whose file has been uploaded.
type Input struct {
	SubmissionID string
	MissionID    string
	Mission      mission.Normalized
	OpensAt      time.Time // of the mission: submissions are captured from here
	EndsAt       time.Time // until just before here

	Location     sortie.Location // as declared
	CapturedAt   time.Time       // as declared
	DeclaredHash sortie.Hash

	UploadedAt   time.Time
	UploadedHash sortie.Hash
	Media        *Media   // what was found in the file; nil when it was refused or not looked at
	Problem      *Problem // why it was refused; beside Media, why it is in doubt

	ClockInDoubt bool // UploadedAt, OpensAt and EndsAt may be those of a wrong clock

	ExactDuplicate string // the id of an earlier submission of the same bytes; empty when there is none
	NearDuplicate  string // the id of an earlier submission that looks the same
}

// Media is what was found in a file.
type Media struct {
	Kind          sortie.MediaType
	Width, Height int // as shown
	Duration      time.Duration
	CapturedAt    *time.Time            // as the file says; nil when it says nothing
	ZoneUnknown   bool                  // CapturedAt is a wall clock's reading in an unknown zone, written as if it were UTC
	Place         *mission.MicroDegrees // as the file says
}

// Problem is why a file was refused or is in doubt, in words for the person who sent it.
type Problem struct{ Code, Message string }

// Verdict is what becomes of a submission.
type Verdict struct {
	Status      sortie.SubmissionStatus // accepted, flagged or rejected
	Score       int                     // 0-100
	Reason      string
	Checks      []sortie.SubmissionCheck // all of them, in the same order; then the verifier program's word, if it was asked
	Policy      string                   // the version of the rules, and the mode
	DuplicateOf string                   // the id of the submission it repeats; empty when there is none
}

// Config says how submissions are decided. The zero value lets a person decide.
type Config struct {
	Mode    Mode
	Client  *http.Client  // that reaches the verifier program; one with bounded headers, if nil. Redirects are never followed
	Timeout time.Duration // of one question to the verifier program; a minute, if 0
}

// Verifier decides about submissions. It is safe for use by many at once.
type Verifier struct {
	mode    Mode
	program program
}

// New makes a verifier.
func New(config Config) *Verifier {
	return &Verifier{mode: config.Mode, program: newProgram(config)}
}

// Policy names the version of the rules and the mode, as verdicts carry it.
func (v *Verifier) Policy() string {
	switch v.mode.by {
	case byChecks:
		return checksVersion + "/auto"
	case byProgram:
		return fmt.Sprintf("%s/http-%d-%d", checksVersion, acceptFrom, rejectBelow)
	}
	return checksVersion + "/curate"
}

// Check decides about a submission. It calls link only when the verifier program is asked: what it
// gives (the second is empty for media without a thumbnail) lets everybody who has it see the
// media.
//
// A file that is not the declared one need not be looked at: with neither Media nor Problem the
// verdict is a rejection.
//
// The error is [ErrNoAnswer] when the verifier program gave no verdict; any other error says what
// is missing in the input.
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

// WithoutAnswer decides about a submission that [Verifier.Check] gave no verdict on for too long:
// what passes the checks waits for a person in every mode.
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

// examine holds a submission against the checks. The verdict has no status when all passed: then
// the mode decides.
func (v *Verifier) examine(in Input) (Verdict, error) {
	isDeclared := in.UploadedHash == in.DeclaredHash
	if in.Media == nil && in.Problem == nil && isDeclared {
		return Verdict{}, fmt.Errorf("check submission %s: its file was not looked at; take it in first", in.SubmissionID)
	}
	verdict := Verdict{Policy: v.Policy(), DuplicateOf: in.ExactDuplicate}
	if verdict.DuplicateOf == "" {
		verdict.DuplicateOf = in.NearDuplicate
	}
	var rejecting, flagging []string
	for _, check := range checks {
		passed, reason := check.judge(in)
		verdict.Checks = append(verdict.Checks, sortie.SubmissionCheck{Name: check.name, Passed: passed, Reason: reason})
		switch {
		case passed:
			verdict.Score += check.weight
		case strings.HasPrefix(reason, notChecked): // why not, another check has said
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
