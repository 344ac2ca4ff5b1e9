package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/porttest"
	"github.com/sortie-labs/sortie/internal/verify"
)

const secretLink = "https://api.example.com/media/original?sig=open-sesame"

func links() (mediaURL, thumbnailURL string) { return secretLink, secretLink + "-small" }

// answering is the URL of a verifier program.
func answering(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/check?token=url-secret"
}

func saying(t *testing.T, answer string) string {
	t.Helper()
	return answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
}

func ask(t *testing.T, url string, link func() (string, string)) (verify.Verdict, error) {
	t.Helper()
	return verify.New(verify.Config{Mode: program(t, url)}).Check(t.Context(), goodPhoto(t), link)
}

func TestTheVerifiersScoreDecides(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sortie.SubmissionStatus{
		"0": sortie.SubmissionRejected, "29": sortie.SubmissionRejected, "30": sortie.SubmissionFlagged, "69": sortie.SubmissionFlagged,
		"70": sortie.SubmissionAccepted, "100": sortie.SubmissionAccepted, "7e1": sortie.SubmissionAccepted, "85.0": sortie.SubmissionAccepted, "-0": sortie.SubmissionRejected,
	} {
		got, err := ask(t, saying(t, `{"score":`+text+`,"reason":"Seen.","model":"ignored"}`), links)
		if err != nil || got.Status != want || got.Reason != "Seen." || got.Policy != "checks-3/http-70-30" || got.DuplicateOf != "" {
			t.Errorf("score %s: got %+v, error %v, want status %s", text, got, err, want)
		}
		last := got.Checks[len(got.Checks)-1]
		if isAccepted := want == sortie.SubmissionAccepted; len(got.Checks) != 12 || last != (sortie.SubmissionCheck{Name: "verifier", Passed: isAccepted, Reason: "Seen."}) {
			t.Errorf("%s: the last check is %+v", text, last)
		}
	}
}

func TestTheQuestion(t *testing.T) {
	t.Parallel()
	var question map[string]any
	var header http.Header
	url := answering(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s with a body that is no JSON: %v", r.Method, err)
		}
		_, _ = io.WriteString(w, `{"score":80,"reason":"Fine."}`)
	})
	verifier := verify.New(verify.Config{Mode: program(t, strings.Replace(url, "//", "//me:password@", 1))})
	if _, err := verifier.Check(t.Context(), goodVideo(t), links); err != nil {
		t.Fatal(err)
	}
	if question["thumbnailUrl"] != secretLink+"-small" || question["mediaUrl"] != secretLink || question["mediaType"] != "video" || question["version"] != 1.0 {
		t.Errorf("the question is %v", question)
	}
	for _, list := range []string{"accept", "reject"} {
		if rules, ok := question[list].([]any); !ok || len(rules) != 0 {
			t.Errorf("%s is %v, want a list without elements", list, question[list])
		}
	}
	if header.Get("Content-Type") != "application/json" || header.Get("Authorization") != "Basic bWU6cGFzc3dvcmQ=" {
		t.Errorf("the header is %v", header)
	}
}

// hostileAnswers are invalid answers.
var hostileAnswers = map[string]string{
	"nothing":                 "",
	"white space":             " \n",
	"null":                    "null",
	"a list":                  `[{"score":80,"reason":"x"}]`,
	"a number":                "80",
	"HTML":                    "<html>502 Bad Gateway</html>",
	"cut off":                 `{"score":80,"reason":"x"`,
	"two values":              `{"score":80,"reason":"x"} {"score":0}`,
	"a byte order mark":       "\xef\xbb\xbf" + `{"score":80,"reason":"x"}`,
	"a score twice":           `{"score":80,"score":0,"reason":"x"}`,
	"a score twice, escaped":  `{"score":80,"\u0073core":0,"reason":"x"}`,
	"a reason twice":          `{"score":80,"reason":"x","reason":"x"}`,
	"unknown twice":           `{"score":80,"reason":"x","a":{"b":1,"b":1}}`,
	"bad UTF-8":               `{"score":80,"reason":"` + "\xff" + `"}`,
	"a lone surrogate":        `{"score":80,"reason":"\ud800"}`,
	"a raw control character": `{"score":80,"reason":"` + "\x01" + `"}`,
	"no score":                `{"reason":"x"}`,
	"no reason":               `{"score":80}`,
	"an error with a score":   `{"score":0,"error":"overloaded"}`,
	"another case":            `{"Score":80,"Reason":"x"}`,
	"score null":              `{"score":null,"reason":"x"}`,
	"reason null":             `{"score":80,"reason":null}`,
	"score in quotes":         `{"score":"80","reason":"x"}`,
	"score true":              `{"score":true,"reason":"x"}`,
	"score from 0 to 1":       `{"score":0.85,"reason":"x"}`,
	"score with a fraction":   `{"score":69.5,"reason":"x"}`,
	"score below":             `{"score":-1,"reason":"x"}`,
	"score above":             `{"score":101,"reason":"x"}`,
	"score huge":              `{"score":1e308,"reason":"x"}`,
	"score endless":           `{"score":1e999999999,"reason":"x"}`,
	"score 2^64+80":           `{"score":18446744073709551696,"reason":"x"}`,
	"score NaN":               `{"score":NaN,"reason":"x"}`,
	"score of many digits":    `{"score":` + strings.Repeat("9", 60_000) + `,"reason":"x"}`,
	"reason empty":            `{"score":80,"reason":""}`,
	"reason blank":            `{"score":80,"reason":" \t\n\u00a0\u3000"}`,
	"reason invisible":        `{"score":80,"reason":"\u200b\u202e\u0000\udb40\udc41\u200d"}`,
	"reason of marks":         `{"score":80,"reason":"a` + strings.Repeat(`\u0301`, 40) + `"}`,
	"reason a number":         `{"score":80,"reason":80}`,
	"reason a list":           `{"score":80,"reason":["x"]}`,
	"deep":                    strings.Repeat("[", 60_000),
	"deep in another member":  `{"score":80,"reason":"x","a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
	"one byte too long":       `{"score":80,"reason":"x"}` + strings.Repeat(" ", 64<<10-24),
	"far too long":            `{"score":80,"reason":"` + strings.Repeat("x", 8<<20) + `"}`,
}

func TestHostileAnswersAreNone(t *testing.T) {
	t.Parallel()
	for name, text := range hostileAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ask(t, saying(t, text), links)
			wantNoAnswer(t, got, err)
		})
	}
	if len(`{"score":80,"reason":"x"}`) != 25 {
		t.Error("the answer that is one byte too long is not")
	}
	longest := `{"score":80,"reason":"x"}` + strings.Repeat(" ", 64<<10-25)
	if got, err := ask(t, saying(t, longest), links); err != nil || got.Status != sortie.SubmissionAccepted {
		t.Errorf("the longest answer: %+v, %v", got, err)
	}
}

// wantNoAnswer also checks that the error is short and holds neither links nor secrets of the URL.
func wantNoAnswer(t *testing.T, got verify.Verdict, err error) {
	t.Helper()
	if !errors.Is(err, verify.ErrNoAnswer) || got.Status != "" {
		t.Fatalf("got %+v, error %v, want %v and no status", got, err, verify.ErrNoAnswer)
	}
	for _, secret := range []string{"open-sesame", "url-secret", "password"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
	if !strings.Contains(err.Error(), "sub_00000000000000000000000001") || len(err.Error()) > 500 {
		t.Errorf("the error is %v", err)
	}
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	const good = `{"score":99,"reason":"x"}`
	for name, handler := range map[string]http.HandlerFunc{
		"created":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); _, _ = io.WriteString(w, good) },
		"no content":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"not found":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); _, _ = io.WriteString(w, good) },
		"overloaded":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); _, _ = io.WriteString(w, good) },
		"echo":          func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) },
		"echo, failing": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); _, _ = io.Copy(w, r.Body) },
		"large header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
			_, _ = io.WriteString(w, good)
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("\x1f\x8b\x08\x00"))
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, good)
		},
		"says it's huge": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9000000000000000000") },
		"never ends": func(w http.ResponseWriter, _ *http.Request) {
			for _, err := io.WriteString(w, good); err == nil; {
				_, err = io.WriteString(w, strings.Repeat(" ", 1<<16))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ask(t, answering(t, handler), links)
			wantNoAnswer(t, got, err)
		})
	}
}

// Redirects are not followed, also with a client that follows redirects.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	elsewhere := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		_, _ = io.WriteString(w, `{"score":99,"reason":"x"}`)
	})
	for _, status := range []int{300, 301, 302, 303, 307, 308} {
		for _, client := range []*http.Client{nil, {}} {
			url := answering(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, status) })
			got, err := verify.New(verify.Config{Mode: program(t, url), Client: client}).Check(t.Context(), goodPhoto(t), links)
			wantNoAnswer(t, got, err)
			if err != nil && !strings.Contains(err.Error(), "redirects") {
				t.Errorf("status %d: got error %v, want one about redirects", status, err)
			}
		}
	}
	if visits.Load() != 0 {
		t.Errorf("%d redirects were followed", visits.Load())
	}
}

// slow is a program that answers up to a point and then waits until its client disconnects.
func slow(t *testing.T, beginning string) (url string) {
	t.Helper()
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if beginning != "" {
			_, _ = io.WriteString(w, beginning)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
}

func TestSlowAnswersAreNone(t *testing.T) {
	t.Parallel()
	for name, beginning := range map[string]string{"silent": "", "stops in the answer": `{"score":9`, "stops after the answer": `{"score":99,"reason":"x"}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verifier := verify.New(verify.Config{Mode: program(t, slow(t, beginning)), Timeout: 50 * time.Millisecond})
			got, err := verifier.Check(t.Context(), goodPhoto(t), links)
			wantNoAnswer(t, got, err)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it is not said that the time was up: %v", err)
			}
		})
	}
}

func TestACallerThatLeavesIsNotKept(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	link := func() (string, string) {
		leave()
		return secretLink, ""
	}
	got, err := verify.New(verify.Config{Mode: program(t, slow(t, ""))}).Check(ctx, goodPhoto(t), link)
	wantNoAnswer(t, got, err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it is not said that the caller left: %v", err)
	}
}

func TestAVerifierThatIsAway(t *testing.T) {
	t.Parallel()
	away := porttest.Reserve(t) // no program listens there
	verifier := verify.New(verify.Config{Mode: program(t, fmt.Sprintf("http://me:password@%s/?token=url-secret", away))})
	got, err := verifier.Check(t.Context(), goodPhoto(t), links)
	wantNoAnswer(t, got, err)
	if !strings.Contains(err.Error(), away) || !strings.Contains(err.Error(), "verification mode curate") {
		t.Errorf("the error does not say who is away and what to do: %v", err)
	}

	instead, err := verifier.WithoutAnswer(goodPhoto(t))
	if err != nil || instead.Status != sortie.SubmissionFlagged || instead.Score != 100 || instead.Policy != "checks-3/http-70-30" ||
		instead.Reason != "all checks passed, but the verifier gave no answer; waits for a person" {
		t.Errorf("without an answer: %+v, %v", instead, err)
	}
	bad := goodPhoto(t)
	bad.Location.Lat = "0"
	if instead, err := verifier.WithoutAnswer(bad); err != nil || instead.Status != sortie.SubmissionRejected {
		t.Errorf("without an answer, outside of the area: %+v, %v", instead, err)
	}
}

// checkPlain checks that a line is printable.
func checkPlain(t rapid.TB, line string) {
	t.Helper()
	if length := utf8.RuneCountInString(line); length > 280 || strings.ContainsFunc(line, unicode.IsControl) || !utf8.ValidString(line) {
		t.Fatalf("%d characters: %q", length, line)
	}
	if kept, err := mission.NormalizeReason(line, true); err != nil || kept != line {
		t.Fatalf("%q is not what the service takes from operators: %q, %v", line, kept, err)
	}
}

func TestAnyReasonBecomesPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reason := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\u202e\u0301\u200d\x1b\n\u0958 ")))).Draw(t, "reason")
		text, err := json.Marshal(map[string]any{"score": rapid.IntRange(-5, 105).Draw(t, "score"), "reason": reason})
		if err != nil {
			t.Fatal(err)
		}
		score, line, err := verify.ReadAnswer(text)
		if err != nil {
			return
		}
		if score < 0 || score > 100 {
			t.Fatalf("the score is %d", score)
		}
		checkPlain(t, line)
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"score":85,"reason":"The whole fountain is to be seen."}`))
	for _, text := range hostileAnswers {
		if len(text) < 1<<10 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		score, line, err := verify.ReadAnswer(text)
		if err != nil {
			if score != 0 || line != "" || len(err.Error()) > 300 {
				t.Fatalf("got score %d, reason %q, error %v, want a short error alone", score, line, err)
			}
			return
		}
		var members map[string]any
		if json.Unmarshal(text, &members) != nil || members["score"] != float64(score) || score < 0 || score > 100 {
			t.Fatalf("the score is %d, another reader says %v", score, members["score"])
		}
		checkPlain(t, line)
	})
}
