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
	"github.com/sortie-labs/sortie/internal/foreign"
	"github.com/sortie-labs/sortie/internal/mission"
)

// The bounds of a verifier program's score. Both are part of the policy.
const (
	acceptFrom  = 70
	rejectBelow = 30
)

const (
	questionVersion = 1
	maxAnswerBytes  = 64 << 10
	maxHeaderBytes  = 64 << 10
	defaultTimeout  = time.Minute
	verifierCheck   = "verifier" // the name of its answer among the checks
	answerMustBe    = "it must be one JSON object with a whole score from 0 to 100 and a reason to read; docs/verifier.md has the contract"
)

// program is the verifier program of the operator.
type program struct {
	url     string
	host    string // the part of the URL that is not secret
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
	// A redirect would send links to media to a host that the operator did not configure.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.client = &client
	return p
}

func newTransport() http.RoundTripper {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // the default transport was replaced
	}
	transport = transport.Clone()
	transport.MaxResponseHeaderBytes = maxHeaderBytes
	transport.DisableCompression = true // an answer is short
	return transport
}

// question is the request to the verifier program. New members may be added; the meaning of a
// member never changes within a version.
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

// ask sends a question and reads the answer. Every failure of the program is [ErrNoAnswer].
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

// withoutURL is the error without the URL that package http adds: it may hold a password.
func withoutURL(err error) error {
	if described := (*url.Error)(nil); errors.As(err, &described) {
		return described.Err
	}
	return err
}

// answer is the verifier program's answer.
type answer struct {
	score  int    // 0-100
	reason string // one line
}

// readAnswer is strict, because the answer decides about money. Its errors hold nothing of the
// text: a failing program may echo the links it was given.
func readAnswer(text []byte) (answer, error) {
	if len(text) > maxAnswerBytes {
		return answer{}, fmt.Errorf("its answer has more than %d bytes; %s", maxAnswerBytes, answerMustBe)
	}
	var members struct {
		Score  *float64 `json:"score"`
		Reason *string  `json:"reason"`
	}
	// Both members are required, so that an error in JSON is not read as a verdict.
	switch err := strict.Unmarshal(text, &members); {
	case err != nil, members.Score == nil, members.Reason == nil:
		return answer{}, errors.New("its answer was not understood; " + answerMustBe)
	case !(*members.Score >= 0 && *members.Score <= 100), *members.Score != math.Trunc(*members.Score):
		// A program that scores from 0 to 1 must not have everything rejected.
		return answer{}, fmt.Errorf("its score is %v; %s", *members.Score, answerMustBe)
	}
	given := answer{score: int(*members.Score), reason: foreign.Line(*members.Reason, foreign.MaxReason)}
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
