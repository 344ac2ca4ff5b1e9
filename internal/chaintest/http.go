package chaintest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

func ProxyTo(t *testing.T, target string) http.Handler {
	t.Helper()
	parsed, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return httputil.NewSingleHostReverseProxy(parsed)
}

func Await(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not become true in time, want it true")
		}
	}
}

// Switchable is a server whose handler the test replaces. At first it closes every connection.
type Switchable struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
}

func NewSwitchable(t *testing.T) *Switchable {
	s := &Switchable{}
	s.Set(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load()).ServeHTTP(w, r) }))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(s.Close)
	return s
}

func (s *Switchable) Set(handler http.Handler) { s.handler.Store(&handler) }
