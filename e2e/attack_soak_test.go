package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	attackVariable = "SORTIE_ATTACK_SOAK" // how long the attack lasts, for example 10m; empty: a fixed number of rounds
	honestClients  = 20                   // half of them creators, half contributors
	shortRounds    = 10                   // of each honest client where no duration is given
	roundInterval  = 3 * time.Second      // of an honest client in a long run: its wallet stays within its limits
	attackSlots    = 8_000
	hoardedDrafts  = 1_000 // of the attacker, each as large as a draft may be
)

// One attacker with many wallets and one address does everything that is free, at the default
// limits, while honest clients work. No honest request fails and the service's memory stays
// bounded. A long run also compares latency with and without the attack: SORTIE_ATTACK_SOAK=10m go
// test ./e2e -run TestAttackSoak -v -timeout 30m
func TestAttackSoak(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.keepingFiles(sqliteIn(t), t.TempDir()))
	wanted := photoMission(attackSlots)
	wanted.Reward.Amount = "0.01"
	s := &attackSoak{following: f, mission: f.publish(wanted), duration: soakDuration(t)}
	hoarder := s.hoard()
	f.environment = append(f.environment, "SORTIE_RATE_LIMITS=on")
	if s.duration > 0 { // each contributor submits every three seconds, faster than its submissions are decided
		f.environment = append(f.environment, "SORTIE_RESERVATIONS_PER_ADDRESS=1000")
	}
	f.restart()

	alone := s.work("alone", 1, s.duration/5)
	attack := s.attack(hoarder)
	memory := s.watchMemory()
	attacked := s.work("under attack", 101, s.duration)
	resident := memory()
	t.Log("the attacker's requests: " + attack())
	s.report(alone, attacked, resident)
}

type attackSoak struct {
	*following
	mission  drafted
	duration time.Duration // 0: shortRounds
}

func soakDuration(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(attackVariable)
	if text == "" {
		return 0
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration <= 0 {
		t.Fatalf("%s=%q: want a duration such as 10m", attackVariable, text)
	}
	return duration
}

// stranger is a client with a new wallet that shares these connections.
func (s *attackSoak) stranger(connections *http.Client) *sortie.Client {
	s.t.Helper()
	client, err := sortie.NewClient(s.service.url, newKey(s.t), sortie.WithAttempts(1), sortie.WithHTTPClient(connections))
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// httpFrom makes connections from this address.
func (s *attackSoak) httpFrom(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 16}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// timings are how long the requests of one phase took, by their kind.
type timings struct {
	lock  sync.Mutex
	kinds map[string][]time.Duration
}

// measure sends one request and fails the test if the request fails.
func (s *attackSoak) measure(phase string, to *timings, kind string, send func() error) {
	started := time.Now()
	if err := send(); err != nil {
		if s.ctx.Err() == nil {
			s.t.Errorf("phase %s: request %s failed: %v", phase, kind, err)
		}
		return
	}
	took := time.Since(started)
	to.lock.Lock()
	defer to.lock.Unlock()
	to.kinds[kind] = append(to.kinds[kind], took)
}

// work runs the rounds of every honest client, each from its own address, and returns the timings.
// The addresses start at first, because undecided submissions of another phase count against their
// addresses.
func (s *attackSoak) work(phase string, first int, duration time.Duration) *timings {
	measured := &timings{kinds: make(map[string][]time.Duration)}
	ended := make(chan struct{})
	if duration > 0 {
		timer := time.AfterFunc(duration, func() { close(ended) })
		defer timer.Stop()
	}
	var running sync.WaitGroup
	for i := range honestClients {
		client := s.stranger(s.httpFrom(fmt.Sprintf("127.0.1.%d", first+i)))
		round := s.createAndRead
		if i%2 == 1 {
			round = s.submitAndRead
		}
		running.Go(func() {
			for turn := range rounds(duration > 0, ended) {
				round(phase, measured, client, i, turn)
			}
		})
	}
	running.Wait()
	return measured
}

// rounds counts the rounds of one client: paced until ended in a long run, a fixed number without a
// pause otherwise.
func rounds(paced bool, ended <-chan struct{}) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if !paced {
			for turn := range shortRounds {
				if !yield(turn) {
					return
				}
			}
			return
		}
		next := time.NewTicker(roundInterval)
		defer next.Stop()
		for turn := 0; yield(turn); turn++ {
			select {
			case <-next.C:
			case <-ended:
				return
			}
		}
	}
}

func (s *attackSoak) createAndRead(phase string, to *timings, client *sortie.Client, _, turn int) {
	title := fmt.Sprintf("Round %d", turn)
	var draftID string
	s.measure(phase, to, "create", func() error {
		created, err := client.CreateDraft(s.ctx, titled(title), title)
		draftID = created.DraftID
		return err
	})
	s.measure(phase, to, "status", func() error {
		_, err := client.Mission(s.ctx, draftID)
		return err
	})
	s.measure(phase, to, "list", func() error {
		_, err := client.Drafts(s.ctx, sortie.ListQuery{Limit: 20})
		return err
	})
}

func (s *attackSoak) submitAndRead(phase string, to *timings, client *sortie.Client, contributor, turn int) {
	s.measure(phase, to, "feed", func() error {
		feed, err := client.Feed(s.ctx, sortie.FeedQuery{})
		if err == nil && len(feed.Missions) == 0 {
			err = fmt.Errorf("the feed is empty, want mission %s in it", s.mission.missionID)
		}
		return err
	})
	var declared submission
	s.measure(phase, to, "declare", func() (err error) {
		declared, err = s.tryToDeclare(client, s.mission, photoOf(64, 48, turn*honestClients+contributor))
		return err
	})
	if declared.id == "" {
		return
	}
	s.measure(phase, to, "upload", func() error { return s.upload(declared) })
	s.measure(phase, to, "submission", func() error {
		_, err := client.MySubmission(s.ctx, declared.id)
		return err
	})
}

// watchMemory reads the service's resident memory each second until the returned function is
// called, which returns the readings in bytes.
func (s *attackSoak) watchMemory() (stop func() []int64) {
	ctx, cancel := context.WithCancel(s.ctx)
	var readings []int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		again := time.NewTicker(time.Second)
		defer again.Stop()
		for {
			if resident := residentMemory(s.service.command.Process.Pid); resident > 0 {
				readings = append(readings, resident)
			}
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
		}
	}()
	return func() []int64 { cancel(); <-done; return readings }
}

func residentMemory(pid int) (bytes int64) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(text), "VmRSS:")
	var kilobytes int64
	_, _ = fmt.Sscan(line, &kilobytes)
	return kilobytes << 10
}

// report logs both phases and holds the long run to its goals.
func (s *attackSoak) report(alone, attacked *timings, resident []int64) {
	s.t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(attacked.kinds)) {
		before, after := p95(alone.kinds[kind]), p95(attacked.kinds[kind])
		s.t.Logf("%-10s %6d requests  p95 alone %9s  under attack %9s  ratio %.2f",
			kind, len(attacked.kinds[kind]), before.Round(time.Microsecond), after.Round(time.Microsecond), float64(after)/float64(before))
	}
	before, after := p95(alone.all()), p95(attacked.all())
	s.t.Logf("%-10s %6d requests  p95 alone %9s  under attack %9s  ratio %.2f",
		"all", len(attacked.all()), before.Round(time.Microsecond), after.Round(time.Microsecond), float64(after)/float64(before))
	if len(resident) < 4 {
		return // unknown on this system
	}
	half := len(resident) / 2
	first, second := slices.Max(resident[:half]), slices.Max(resident[half:])
	s.t.Logf("resident memory: at most %d MiB in the first half, %d MiB in the second", first>>20, second>>20)
	if peak := max(first, second); peak > attackMemory {
		s.t.Errorf("resident memory reached %d MiB, want at most %d", peak>>20, attackMemory>>20)
	}
	if s.duration == 0 {
		return // latency and growth of a short run mean little on a busy machine
	}
	if after > 2*before {
		s.t.Errorf("p95 of honest requests: %s under attack, want at most twice the %s without it", after, before)
	}
	if second > first+first/5 {
		s.t.Errorf("resident memory grew from %d MiB in the first half to %d MiB in the second, want at most a fifth more", first>>20, second>>20)
	}
}

const attackMemory = 512 << 20

func (m *timings) all() (all []time.Duration) {
	for _, kind := range m.kinds {
		all = append(all, kind...)
	}
	return all
}

func p95(durations []time.Duration) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[len(sorted)*95/100]
}

// hoard creates as many drafts as one wallet may hold, each of about 56 kB, and returns the
// wallet's client.
func (s *attackSoak) hoard() *sortie.Client {
	s.t.Helper()
	hoarder := s.stranger(s.httpFrom(attackerAddress))
	large := largeMission()
	var running sync.WaitGroup
	for caller := range 8 {
		running.Go(func() {
			for turn := caller; turn < hoardedDrafts; turn += 8 {
				if _, err := hoarder.CreateDraft(s.ctx, large, strconv.Itoa(turn)); err != nil {
					s.t.Errorf("hoard draft %d: %v", turn, err)
					return
				}
			}
		})
	}
	running.Wait()
	return hoarder
}

// largeMission is a mission of nearly as many bytes as a body may have.
func largeMission() sortie.Mission {
	mission := titled("As large as a mission may be")
	mission.Description = strings.Repeat("\U0001F5FA", 4000)
	rules := make([]string, 10)
	for i := range rules {
		rules[i] = strings.Repeat("\U0001F5FA", 270) + rand.Text()[:8]
	}
	mission.Verification = &sortie.VerificationRules{Accept: rules, Reject: rules}
	mission.Metadata = make(map[string]string)
	for i := range 9 {
		mission.Metadata[fmt.Sprint(i)] = strings.Repeat("\U0001F5FA", 490)
	}
	return mission
}
