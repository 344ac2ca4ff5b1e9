package e2e

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	attackerAddress = "127.0.2.1"
	attackPause     = 20 * time.Millisecond // between the requests of one loop; with all loops well above every limit
	halfSentBodies  = 2_500
)

// tally counts the answers to the attacker.
type tally struct {
	lock   sync.Mutex
	counts map[string]int
}

func (c *tally) count(what string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.counts[what]++
}

func (c *tally) countError(what string, err error) {
	outcome := "ok"
	if code, found := sortie.ErrorCode(err), err != nil; found {
		outcome = string(code)
	}
	c.count(what + " " + outcome)
}

// attack runs all attacks until the returned function is called, which returns the tally.
func (s *attackSoak) attack(hoarder *sortie.Client) (stop func() string) {
	ctx, cancel := context.WithCancel(s.ctx)
	answered := &tally{counts: make(map[string]int)}
	var running sync.WaitGroup
	repeat := func(loops int, request func()) {
		for range loops {
			running.Go(func() {
				pause := time.NewTicker(attackPause)
				defer pause.Stop()
				for ctx.Err() == nil {
					request()
					select {
					case <-pause.C:
					case <-ctx.Done():
					}
				}
			})
		}
	}
	large := largeMission()
	client := s.httpFrom(attackerAddress)
	repeat(8, func() { // lists of 58 MB
		_, err := hoarder.Drafts(ctx, sortie.ListQuery{})
		answered.countError("list", err)
	})
	repeat(2, func() { // reservations that are never used
		_, err := s.tryToDeclare(s.stranger(client), s.mission, photo(1))
		answered.countError("declare", err)
	})
	repeat(2, func() { answered.count("forge " + s.forge(ctx, client)) })
	repeat(2, func() { // drafts that are never funded
		_, err := s.stranger(client).CreateDraft(ctx, large, "one")
		answered.countError("create", err)
	})
	running.Go(func() { s.holdBodies(ctx, answered) })
	return func() string {
		cancel()
		running.Wait()
		var lines []string
		for _, what := range slices.Sorted(maps.Keys(answered.counts)) {
			lines = append(lines, fmt.Sprintf("%s %d", what, answered.counts[what]))
		}
		return strings.Join(lines, ", ")
	}
}

// forge sends a request with a signature that is not the wallet's, and returns the status.
func (s *attackSoak) forge(ctx context.Context, client *http.Client) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.service.url+"/api/external/missions", nil)
	if err != nil {
		return err.Error()
	}
	request.Header.Set("X-Service-Wallet", s.chain.wallet("operator").String())
	request.Header.Set("X-Service-Timestamp", fmt.Sprint(time.Now().Unix()))
	request.Header.Set("X-Service-Signature", "0x"+strings.Repeat("11", 64)+"1b")
	response, err := client.Do(request)
	if err != nil {
		return "no answer"
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.Status
}

// holdBodies keeps connections open that have sent half of a body, and replaces each that is
// closed.
func (s *attackSoak) holdBodies(ctx context.Context, answered *tally) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(attackerAddress)}}
	host := strings.TrimPrefix(s.service.url, "http://")
	places := make(chan struct{}, halfSentBodies)
	var held sync.WaitGroup
	defer held.Wait()
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case places <- struct{}{}:
		}
		connection, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			answered.count("half-sent body: no connection")
			<-places
			continue
		}
		answered.count("half-sent body")
		held.Go(func() {
			defer func() { <-places }()
			holdBody(ctx, connection, host)
		})
	}
}

func holdBody(ctx context.Context, connection net.Conn, host string) {
	defer connection.Close()
	release := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer release()
	_, _ = fmt.Fprintf(connection, "POST /api/external/missions/drafts HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: 60000\r\n\r\n{", host)
	_, _ = io.Copy(io.Discard, connection) // until the service closes it
}
