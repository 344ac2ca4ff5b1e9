package api

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/sortie-labs/sortie"
)

// A client that reads no answer before it has sent everything, as many libraries do, still gets an answer that was made early.
func TestEarlyAnswersReachClientsThatSendEverythingFirst(t *testing.T) {
	t.Parallel()
	const size = 40 << 20 // more than the buffers of both sides take
	s, _, declared := awaiting(t, serviceOptions{})
	for name, c := range map[string]struct {
		target string
		status int
		code   sortie.Code
	}{
		"file larger than declared": {s.target(declared.Upload.PutURL), http.StatusRequestEntityTooLarge, sortie.CodePayloadTooLarge},
		"link that was made up":     {s.target(declared.Upload.PutURL) + "0", http.StatusForbidden, sortie.CodeMediaURLInvalid},
		"unknown path":              {"/nowhere", http.StatusNotFound, sortie.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.dial()
			head := s.unsigned(http.MethodPut, c.target).with("Content-Length", fmt.Sprint(size)).String()
			if _, err := io.WriteString(w.connection, head); err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(w.connection, &zeros{size}); err != nil {
				t.Fatalf("the connection was lost after %d of %d bytes: %v", n, size, err)
			}
			a := w.read()
			if a == nil || a.StatusCode != c.status || a.code() != c.code {
				t.Errorf("got %+v, want %d %s", a, c.status, c.code)
			}
		})
	}
}

// A client that waits for 100 Continue is answered and not asked for its file.
func TestEarlyAnswersAskForNoBody(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	w := s.dial()
	w.write(s.unsigned(http.MethodPut, "/nowhere").with("Content-Length", "1000000").and("Expect", "100-continue").String())
	if a := w.read(); a == nil || a.StatusCode != http.StatusNotFound {
		t.Fatalf("got %+v, want 404 at once", a)
	}
	if !w.isClosed() {
		t.Error("the connection is still open")
	}
}

// With all places to linger taken, the connection is closed after an early answer.
func TestLingeringIsBounded(t *testing.T) {
	t.Parallel()
	s := newService(t, withBodyTimeout(patience))
	server := s.Config.Handler.(*Server)
	for range cap(server.lingering) {
		if err := server.lingering.take(); err != nil {
			t.Fatal(err)
		}
	}
	const size = 40 << 20 // more than the buffers of both sides take
	w := s.dial()
	if _, err := io.WriteString(w.connection, s.unsigned(http.MethodPut, "/nowhere").with("Content-Length", fmt.Sprint(size)).String()); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(w.connection, &zeros{size}); err == nil {
		t.Errorf("the service read all %d bytes, want the connection closed", n)
	}
}
