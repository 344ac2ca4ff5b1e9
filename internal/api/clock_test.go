package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// TestRequestsSayThatTheClockIsOff sends requests from several networks to a service whose clock
// jumps by ten minutes. All are refused, but their timestamps are recorded.
func TestRequestsSayThatTheClockIsOff(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{config: func(config *Config) {
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}})
	from := func(i int) http.Header { return http.Header{"X-Forwarded-For": {fmt.Sprintf("203.0.%d.1", i)}} }
	for i := range 5 {
		mustBe(t, "before the jump", s.send(testRequest{target: listPath, header: from(i)}), http.StatusOK)
	}
	if got := s.app.Clock(); !got.Known || got.InDoubt {
		t.Errorf("before the jump: %+v, want known and not in doubt", got)
	}
	var built []*http.Request
	for i := range 5 {
		built = append(built, s.build(testRequest{target: listPath, header: from(i)}))
	}
	s.clock.advance(10 * time.Minute)
	for _, r := range built {
		if a := s.roundTrip(r); a.code() != sortie.CodeTimestampOutOfRange {
			t.Errorf("after the jump: %d %s, want %s", a.StatusCode, a.body, sortie.CodeTimestampOutOfRange)
		}
	}
	if got := s.app.Clock(); !got.InDoubt || (got.Offset-10*time.Minute).Abs() > time.Minute {
		t.Errorf("after the jump: %+v, want in doubt by ten minutes", got)
	}
}

// TestAForgedTimestampSaysNothing changes the timestamp of signed requests.
func TestAForgedTimestampSaysNothing(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{config: func(config *Config) {
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}})
	for i := range 10 {
		forged := http.Header{"X-Forwarded-For": {fmt.Sprintf("203.0.%d.1", i)}, sortie.HeaderTimestamp: {fmt.Sprint(s.clock.Now().Add(-time.Hour).Unix())}}
		if a := s.send(testRequest{target: listPath, header: forged}); a.code() != sortie.CodeTimestampOutOfRange {
			t.Errorf("forged: %d %s, want %s", a.StatusCode, a.body, sortie.CodeTimestampOutOfRange)
		}
	}
	if got := s.app.Clock(); got.Known {
		t.Errorf("%+v, want nothing known", got)
	}
}
