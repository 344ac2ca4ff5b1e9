package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// halfSent sends a request without the end of its body.
func (s *testService) halfSent(text string) *wire {
	s.t.Helper()
	w := s.dial()
	w.write(text[:len(text)-10])
	return w
}

// Slow bodies do not block other clients: at the bound the oldest is displaced.
func TestSlowBodiesDoNotBlockOtherRequests(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{config: func(config *Config) { config.MaxInFlight, config.BodyTimeout = 1, time.Minute }})
	bodies := s.Config.Handler.(*Server).bodies.signed
	var slow []*wire
	for i := range bodiesPerRequest {
		slow = append(slow, s.halfSent(s.post(draftsPath, fmt.Sprint("k", i), goodMission).String()))
		eventually(t, "the body is on its way", func() bool { return bodies.len() == i+1 })
	}
	mustBe(t, "a read", s.send(testRequest{target: listPath}), http.StatusOK)
	mustBe(t, "health", s.send(testRequest{target: "/healthz", unsigned: true}), http.StatusOK)
	mustBe(t, "one body more", s.send(testRequest{method: http.MethodPost, target: previewPath, body: goodMission}), http.StatusOK)
	a := slow[0].read()
	if a == nil {
		t.Fatal("the oldest body: got no answer, want one before its time is over")
	}
	unavailable(t, "the oldest body", *a, sortie.CodeServiceUnavailable)
	if got, want := bodies.len(), bodiesPerRequest-1; got != want {
		t.Errorf("bodies on their way: got %d, want %d", got, want)
	}
	_, _ = io.WriteString(slow[1].connection, goodMission[len(goodMission)-10:])
	if a := slow[1].read(); a == nil || a.StatusCode != http.StatusCreated {
		t.Errorf("a slow body that came: got %+v, want 201", a)
	}
}

// Half-sent bodies without a valid signature do not block operators, for any path and wallet.
func TestHalfSentBodiesDoNotKeepOperatorsOut(t *testing.T) {
	t.Parallel()
	const share = 8
	s := newService(t, serviceOptions{limits: &Limits{AddressBodies: share}, config: func(config *Config) {
		config.MaxInFlight, config.BodyTimeout = 2, time.Minute
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}})
	server := s.Config.Handler.(*Server)
	draft := s.create("k1", goodMission)
	from := func(text message, host int) string {
		return text.with("X-Forwarded-For", fmt.Sprint("203.0.113.", host)).String()
	}
	decide := decidePath + "/" + draft.DraftID + "/reject"
	for host := range 4 { // creators' paths, and operators' paths with another wallet, fill the pool of all
		for i := range share / 2 {
			s.halfSent(from(s.post(draftsPath, fmt.Sprint("slow", i), goodMission), host))
			s.halfSent(from(s.post(decide, "", goodReason), host)) // signed by the creator
		}
	}
	eventually(t, "the pool of all is full", func() bool { return server.bodies.signed.len() == server.bodies.signed.size })
	if got := server.bodies.operator.len(); got != 0 {
		t.Errorf("bodies in the operators' pool: got %d, want none of wallets that are no operators", got)
	}
	named := s.post(decide, "", goodReason).with(sortie.HeaderWallet, reviewer.Address().String())
	for host := range 8 { // an attacker who knows an operator's wallet fills that pool too
		s.halfSent(from(named, 100+host))
	}
	eventually(t, "the operators' pool is full", func() bool { return server.bodies.operator.len() == server.bodies.operator.size })
	mustBe(t, "an operator", s.decide(reviewer, draft.DraftID, "reject", goodReason), http.StatusOK)
	mustBe(t, "a creator", s.send(testRequest{method: http.MethodPost, target: previewPath, body: goodMission}), http.StatusOK)
}

// Half-sent bodies from an operator's own address do not block the operator.
func TestHalfSentBodiesOfANeighbourDoNotKeepOperatorsOut(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: DefaultLimits(), config: func(config *Config) { config.BodyTimeout = time.Minute }})
	bodies := s.Config.Handler.(*Server).bodies.operator
	draft := s.create("k1", goodMission)
	named := s.post(decidePath+"/"+draft.DraftID+"/reject", "", goodReason).with(sortie.HeaderWallet, reviewer.Address().String())
	for range bodies.share {
		s.halfSent(named.String())
	}
	eventually(t, "the bodies are on their way", func() bool { return bodies.len() == bodies.share })
	mustBe(t, "the operator", s.decide(reviewer, draft.DraftID, "reject", goodReason), http.StatusOK)
}

// A new body displaces the oldest of its own network, not those of others.
func TestBodiesOfOneAddress(t *testing.T) {
	t.Parallel()
	const share = 3
	for name, c := range map[string]struct {
		address func(i int) string
		most    int
	}{
		"one IPv4 address": {func(int) string { return "203.0.113.1" }, share},
		"one IPv6 /48":     {func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i) }, networkShares * share},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, serviceOptions{limits: &Limits{AddressBodies: share}, config: func(config *Config) {
				config.BodyTimeout = time.Minute
				config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}})
			bodies := s.Config.Handler.(*Server).bodies.signed
			var slow []*wire // the first is that of another network
			for i, address := range append([]string{"198.51.100.1"}, addresses(c.most, c.address)...) {
				slow = append(slow, s.halfSent(s.post(draftsPath, fmt.Sprint("k", i), goodMission).with("X-Forwarded-For", address).String()))
				eventually(t, "the body is on its way", func() bool { return bodies.len() == i+1 })
			}
			preview := testRequest{method: http.MethodPost, target: previewPath, body: goodMission, header: http.Header{"X-Forwarded-For": {c.address(c.most)}}}
			mustBe(t, "one body more of the same network", s.send(preview), http.StatusOK)
			if got := bodies.len(); got != c.most {
				t.Fatalf("bodies on their way: got %d, want %d of the network and 1 of another", got, c.most-1)
			}
			a := slow[1].read()
			if a == nil {
				t.Fatal("the oldest body of the network: got no answer, want one before its time is over")
			}
			unavailable(t, "the oldest body of the network", *a, sortie.CodeServiceUnavailable)
			_, _ = io.WriteString(slow[0].connection, goodMission[len(goodMission)-10:])
			if a := slow[0].read(); a == nil || a.StatusCode != http.StatusCreated {
				t.Errorf("the body of another network: got %+v, want 201", a)
			}
		})
	}
}

// The body timeout does not apply to the work after the body.
func TestTheBodyTimeoutEndsWithTheBody(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: waits longer than the body timeout")
	}
	const timeout = 5 * time.Second // in which a busy machine sends the body
	signer := newMoodySigner(t)
	s := newService(t, serviceOptions{signer: signer, config: func(config *Config) { config.BodyTimeout = timeout }})
	signer.set(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(timeout + timeout/4):
			return nil
		}
	})
	mustBe(t, "a create that takes its time", s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission}), http.StatusCreated)
}
