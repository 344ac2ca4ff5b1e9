package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// from is a dialer that connects from an address of this machine, which the service counts as
// another client.
func from(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 0))}
}

// strangerFrom is a contributor with a new wallet at an address.
func (f *following) strangerFrom(address string) *sortie.Client {
	f.t.Helper()
	transport := &http.Transport{DialContext: from(address).DialContext}
	f.t.Cleanup(transport.CloseIdleConnections)
	client, err := sortie.NewClient(f.service.url, newKey(f.t), sortie.WithAttempts(1), sortie.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		f.t.Fatal(err)
	}
	return client
}

// trickle starts the upload of a file from an address, and sends 4 KiB each second until the test
// ends.
func (f *following) trickle(s submission, address string) {
	f.t.Helper()
	link, err := url.Parse(s.links.PutURL)
	if err != nil {
		f.t.Fatal(err)
	}
	connection, err := from(address).DialContext(f.ctx, "tcp", link.Host)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = connection.Close() })
	if _, err := fmt.Fprintf(connection, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", link.RequestURI(), link.Host, len(s.data)); err != nil {
		f.t.Fatal(err)
	}
	go func() {
		pause := time.NewTicker(time.Second)
		defer pause.Stop()
		for rest := s.data; len(rest) > 4<<10; rest = rest[4<<10:] {
			if _, err := connection.Write(rest[:4<<10]); err != nil {
				return
			}
			select {
			case <-pause.C:
			case <-f.ctx.Done():
				return
			}
		}
	}()
}

// New wallets at four addresses reserve as many slots as they can and keep 64 slow uploads open.
// The mission stays in the feed, and a newcomer at another address gets a slot and uploads a file.
func TestReservationsDoNotBlockContributors(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.keepingFiles(sqliteIn(t), t.TempDir()))
	wanted := photoMission(200)
	wanted.MaxSubmissionsPerContributor = 1
	mission := f.publish(wanted)
	f.environment = append(f.environment, "SORTIE_RATE_LIMITS=on") // the last value counts
	f.restart()

	const perAddress = 16
	large := largePhoto(1, 1<<20)
	for _, address := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"} {
		for i := range perAddress + 1 {
			s, err := f.tryToDeclare(f.strangerFrom(address), mission, large)
			switch {
			case i == perAddress && !isCode(err, sortie.CodeRateLimited):
				t.Errorf("reservation %d from %s: got %v, want %s", i+1, address, err, sortie.CodeRateLimited)
			case i < perAddress && err != nil:
				t.Fatalf("reservation %d from %s: got %v, want a slot", i+1, address, err)
			case i < perAddress:
				f.trickle(s, address)
			}
		}
	}
	honest := f.strangerFrom("127.0.0.9")
	feed, err := honest.Feed(f.ctx, sortie.FeedQuery{})
	if err != nil || len(feed.Missions) != 1 || feed.Missions[0].SlotsReserved != 4*perAddress {
		t.Fatalf("the feed has %+v, %v; want the mission with %d slots reserved", feed.Missions, err, 4*perAddress)
	}
	s, err := f.tryToDeclare(honest, mission, largePhoto(2, 20<<20))
	if err != nil {
		t.Fatalf("declare as a newcomer at another address: %v", err)
	}
	if err := f.upload(s); err != nil {
		t.Fatalf("upload as a newcomer at another address: %v", err)
	}
}

// New wallets at one address upload copies of one photo. Files that are not accepted count against
// the address, and a newcomer at another address gets a slot.
func TestUploadedCopiesLeaveSlotsToOthers(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.keepingFiles(sqliteIn(t), t.TempDir()))
	wanted := photoMission(50)
	wanted.MaxSubmissionsPerContributor = 1
	mission := f.publish(wanted)
	f.environment = append(f.environment, "SORTIE_RATE_LIMITS=on") // the last value counts
	f.restart()

	const most = 16 + 1 // the first copy may be accepted, and then does not count
	photo, got := largePhoto(1, 20<<10), 0
	for ; got <= most; got++ {
		s, err := f.tryToDeclare(f.strangerFrom("127.0.0.2"), mission, photo)
		if isCode(err, sortie.CodeRateLimited) {
			break
		}
		if err != nil {
			t.Fatalf("declare as stranger %d: got %v, want a slot or %s", got+1, err, sortie.CodeRateLimited)
		}
		if err := f.upload(s); err != nil {
			t.Fatalf("upload as stranger %d: %v", got+1, err)
		}
	}
	if got > most {
		t.Errorf("new wallets at one address submitted %d copies, want %d at most", got, most)
	}
	if _, err := f.tryToDeclare(f.strangerFrom("127.0.0.9"), mission, largePhoto(2, 20<<10)); err != nil {
		t.Errorf("declare as a newcomer at another address: got %v, want a slot", err)
	}
}
