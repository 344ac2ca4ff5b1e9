package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"

	strict "github.com/go-json-experiment/json"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// What a verifier program's score does. Both numbers are part of the policy.
const (
	acceptFrom  = 70
	rejectBelow = 30
)

const (
	questionVersion = 1
	maxAnswerBytes  = 64 << 10
	maxHeaderBytes  = 64 << 10
	defaultTimeout  = time.Minute
	verifierCheck   = "verifier" // the name under which its answer is shown beside the checks
	answerMustBe    = "it must be one JSON object with a whole score from 0 to 100 and a reason to read; docs/verifier.md has the contract"
)

// program is the verifier program of the operator: where it is and how it is reached.
type program struct {
	url     string
	host    string // what may be told of the URL
	client  *http.Client
	timeout time.Duration
}

func newProgram(config Config) program {
	p := program{url: config.Mode.url, host: config.Mode.host(), timeout: config.Timeout}
	if p.timeout <= 0 {
		p.timeout = defaultTimeout
	}
	client := http.Client{Transport: newTransport()}
	if config.Client != nil {
		client = *config.Client
	}
	// Where a redirect leads is not what the operator configured, and the question holds links to
	// media.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.client = &client
	return p
}

func newTransport() http.RoundTripper {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // somebody replaced it, and knows why
	}
	transport = transport.Clone()
	transport.MaxResponseHeaderBytes = maxHeaderBytes
	transport.DisableCompression = true // an answer is short
	return transport
}

// question is what the verifier program is sent. Members are added in place; what one means never
// changes under a version.
type question struct {
	Version      int                      `json:"version"`
	SubmissionID string                   `json:"submissionId"`
	MissionID    string                   `json:"missionId"`
	Title        string                   `json:"title"`
	Description  string                   `json:"description"`
	MediaType    sortie.MediaType         `json:"mediaType"`
	Accept       []string                 `json:"accept"`
	Reject       []string                 `json:"reject"`
	Location     sortie.Location          `json:"location"`
	CapturedAt   string                   `json:"capturedAt"`
	MediaURL     string                   `json:"mediaUrl"`
	ThumbnailURL *string                  `json:"thumbnailUrl"`
	Score        int                      `json:"score"`
	Checks       []sortie.SubmissionCheck `json:"checks"`
}

func newQuestion(in Input, examined Verdict, mediaURL, thumbnailURL string) question {
	m := in.Mission.Mission()
	q := question{
		Version: questionVersion, SubmissionID: in.SubmissionID, MissionID: in.MissionID,
		Title: m.Title, Description: m.Description, MediaType: m.MediaType,
		Accept: append([]string{}, m.Verification.Accept...), Reject: append([]string{}, m.Verification.Reject...), // never null
		Location: in.Location, CapturedAt: instant(in.CapturedAt), MediaURL: mediaURL, Score: examined.Score, Checks: examined.Checks,
	}
	if thumbnailURL != "" {
		q.ThumbnailURL = &thumbnailURL
	}
	return q
}

// ask sends a question and reads the answer. Every failure of the program's is [ErrNoAnswer].
func (p program) ask(ctx context.Context, in Input, examined Verdict, link func() (mediaURL, thumbnailURL string)) (answer, error) {
	mediaURL, thumbnailURL := link()
	body, err := json.Marshal(newQuestion(in, examined, mediaURL, thumbnailURL))
	if err != nil {
		return answer{}, fmt.Errorf("check submission %s: write the question for the verifier: %w", in.SubmissionID, err)
	}
	given, err := p.exchange(ctx, body)
	if err != nil {
		return answer{}, fmt.Errorf("check submission %s: %w: %s: %w", in.SubmissionID, ErrNoAnswer, p.host, err)
	}
	return given, nil
}

func (p program) exchange(ctx context.Context, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, withoutURL(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "sortie")
	response, err := p.client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("%w; start it, or let operators decide (verification mode curate)", withoutURL(err))
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode >= 300 && response.StatusCode <= 399:
		return answer{}, errors.New("it redirects, which is not followed; configure its final URL")
	case response.StatusCode != http.StatusOK:
		return answer{}, fmt.Errorf("it answered with status %d; its log should say why", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return answer{}, fmt.Errorf("its answer broke off: %w", withoutURL(err))
	}
	return readAnswer(text)
}

// withoutURL is the error without the URL that package http puts into it: it may hold a password.
func withoutURL(err error) error {
	if described := (*url.Error)(nil); errors.As(err, &described) {
		return described.Err
	}
	return err
}

// answer is what the verifier program thinks of a submission.
type answer struct {
	score  int    // 0-100
	reason string // one line
}

// readAnswer is strict about what decides over money and says nothing of what it read: a program
// that fails may echo the links it was given.
func readAnswer(text []byte) (answer, error) {
	if len(text) > maxAnswerBytes {
		return answer{}, fmt.Errorf("its answer has more than %d bytes; %s", maxAnswerBytes, answerMustBe)
	}
	var members struct {
		Score  *float64 `json:"score"`
		Reason *string  `json:"reason"`
	}
	// Both are asked for, so that an error in JSON is not taken for a verdict.
	switch err := strict.Unmarshal(text, &members); {
	case err != nil, members.Score == nil, members.Reason == nil:
		return answer{}, errors.New("its answer was not understood; " + answerMustBe)
	case !(*members.Score >= 0 && *members.Score <= 100), *members.Score != math.Trunc(*members.Score):
		// A program that counts from 0 to 1 must not have everything rejected.
		return answer{}, fmt.Errorf("its score is %v; %s", *members.Score, answerMustBe)
	}
	given := answer{score: int(*members.Score), reason: plainLine(*members.Reason)}
	if _, err := mission.NormalizeReason(given.reason, true); err != nil {
		return answer{}, errors.New("its reason has nothing to read; " + answerMustBe)
	}
	return given, nil
}

// decide completes the verdict on a submission that passed all checks.
func (a answer) decide(verdict Verdict) Verdict {
	switch {
	case a.score >= acceptFrom:
		verdict.Status = sortie.SubmissionAccepted
	case a.score < rejectBelow:
		verdict.Status = sortie.SubmissionRejected
	default:
		verdict.Status = sortie.SubmissionFlagged
	}
	verdict.Score, verdict.Reason = a.score, a.reason
	verdict.Checks = append(verdict.Checks, sortie.SubmissionCheck{Name: verifierCheck, Passed: a.score >= acceptFrom, Reason: a.reason})
	return verdict
}
