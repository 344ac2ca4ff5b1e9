package api

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/sortie-labs/sortie"
)

// logBook keeps the lines of a log for a test to read.
type logBook struct{ lines chan string }

func newLogBook() logBook { return logBook{make(chan string, 10_000)} }

func (b logBook) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write receives one line: slog writes each record at once.
func (b logBook) Write(line []byte) (int, error) {
	b.lines <- string(line)
	return len(line), nil
}

// next waits for a line. Lines are written after the answer, so a test must wait.
func (b logBook) next(t testing.TB) (line map[string]any) {
	t.Helper()
	text := b.nextText(t)
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("log line %s: %v", text, err)
	}
	return line
}

func (b logBook) nextText(t testing.TB) string {
	t.Helper()
	select {
	case text := <-b.lines:
		return text
	case <-time.After(patience):
		t.Fatal("no line was written")
		return ""
	}
}

// Every request is one line in the log, without control characters and secrets.
func TestEachRequestIsOneLine(t *testing.T) {
	t.Parallel()
	logs, signer := newLogBook(), newMoodySigner(t)
	s := newService(t, serviceOptions{signer: signer, config: func(config *Config) { config.Logger = logs.logger() }})
	const injected = "\r\n{\"level\":\"ERROR\",\"msg\":\"injected\"}\n\x1b[31m\u2028\u202e"
	escaped := strings.NewReplacer("\r", "%0d", "\n", "%0a", "\x1b", "%1b").Replace("injected\r\n\x1b[31m")
	create := s.post(draftsPath, "key-of-the-test", goodMission)
	failure := s.post(draftsPath, "failure", goodMission)
	for _, row := range []struct {
		name string
		message
		status int
	}{
		{"created", create, http.StatusCreated},
		{"title", s.post(draftsPath, "k2", titleIs("main "+injected)), http.StatusUnprocessableEntity},
		{"body", s.post(draftsPath, "k3", injected), http.StatusBadRequest},
		{"member", s.post(draftsPath, "k4", missionWith(`"targetCount"`, `"injected\r\n\u001b[31m":1,"targetCount"`)), http.StatusCreated},
		{"key", create.with(sortie.HeaderIdempotencyKey, "injected\t\xff"), http.StatusBadRequest},
		{"wallet", create.with(sortie.HeaderWallet, "0xinjected\xff\u202e"), http.StatusUnauthorized},
		{"query", s.get(listPath + "?status=" + escaped), http.StatusBadRequest},
		{"parameter", s.get(listPath + "?" + escaped + "=1"), http.StatusBadRequest},
		{"path", s.get("/" + escaped), http.StatusNotFound},
		{"id", s.get(listPath + "/injected\xff\u202e"), http.StatusNotFound},
		{"method", s.unsigned("INJECTED", listPath), http.StatusMethodNotAllowed},
		{"other headers", s.get(listPath).and("User-Agent", "injected\t\u2028").and("Referer", "injected").and("X-Forwarded-For", "injected").and("X-Request-Id", "injected"), http.StatusOK},
		{"signature", create.retarget(previewPath), http.StatusUnauthorized},
		{"failure", failure, http.StatusServiceUnavailable},
		{"health", s.unsigned(http.MethodGet, "/healthz"), http.StatusOK},
	} {
		if row.name == "failure" {
			signer.set(func(context.Context) error { return errors.New("the signer says: " + injected) })
		}
		w := s.dial()
		w.write(row.String())
		a := w.read()
		if a == nil || a.StatusCode != row.status {
			t.Errorf("%s: %+v, want %d", row.name, a, row.status)
			continue
		}
		text := logs.nextText(t)
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: log line %q: %v", row.name, text, err)
		}
		if line["msg"] != "request" || line["id"] != a.Header.Get("X-Request-Id") || line["status"] != float64(a.StatusCode) || line["took"] == nil || line["route"] == nil {
			t.Errorf("%s: got log line %s, want the request with id, status, time and route", row.name, text)
		}
		if isFailure := a.StatusCode >= 500; (line["level"] == "ERROR") != isFailure || (line["error"] != nil) != isFailure {
			t.Errorf("%s: got log line %s, want an error for status 5xx only", row.name, text)
		}
		if strings.ContainsFunc(strings.TrimSuffix(text, "\n"), unicode.IsControl) {
			t.Errorf("%s: control characters in %q", row.name, text)
		}
		if row.name != "failure" && strings.Contains(text, "injected") {
			t.Errorf("%s: the client's text is in the log: %s", row.name, text)
		}
		for name, secret := range map[string]string{
			"signature": row.header(sortie.HeaderSignature), "authorizer's key": hex.EncodeToString(authority[:]), "idempotency key": "key-of-the-test",
			"title": "main entrance", "client's address": "127.0.0.1",
		} {
			if secret != "" && strings.Contains(text, secret) {
				t.Errorf("%s: the %s is in the log: %s", row.name, name, text)
			}
		}
	}
	select {
	case text := <-logs.lines:
		t.Errorf("got a further log line %s, want none", text)
	default:
	}
}
