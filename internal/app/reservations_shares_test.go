package app

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// withHistory gives wallets a final acceptance each.
func (s *testMedia) withHistory(key string, wallets ...sortie.Address) {
	s.t.Helper()
	draft := s.publish(key, len(wallets), "")
	for _, wallet := range wallets {
		s.submitQuickly(wallet, draft, key)
	}
	s.pass(testHold)
	s.due()
	if slots := s.slots(draft); slots.Finals != len(wallets) {
		s.t.Fatalf("%d acceptances are final, want %d", slots.Finals, len(wallets))
	}
}

// declareSize declares a file of any size from a network.
func (s *testMedia) declareSize(network netip.Prefix, wallet sortie.Address, draft store.Draft, size int64) error {
	body := fmt.Sprintf(`{"location":{"lat":48.8584,"lng":2.2945,"accuracyMeters":10},"capturedAt":%q,"contentType":"image/jpeg","sizeBytes":%d,"sha256":"%064x"}`,
		sortie.FormatTime(s.clock()), size, 1)
	_, _, err := s.app.Declare(context.Background(), testBase, wallet, network, draft.MissionID, "one", []byte(body))
	return err
}

// New wallets that upload copies of one photo, which are flagged, hold no more of a mission than
// those that upload nothing.
func TestUploadedCopiesDoNotTakeAMissionAway(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]struct {
		configure func(*Config)
		want      int // of one address
	}{
		"checks decide":    {func(*Config) {}, 16 + 1}, // the first copy is accepted and given back
		"a person decides": {curated, 16},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTestMedia(t, sqliteDatabase(t), func(config *Config) {
				boundReservations(config)
				mode.configure(config)
			})
			draft, file := s.publish("k", 50, ""), photo(7)
			submit := func(network func(int) netip.Prefix, first int) (got int, refusal error) {
				for i := range 60 {
					declared, err := s.declareFrom(network(i), contributor(first+i), draft, "one", file)
					if err != nil {
						return got, err
					}
					s.upload(declared, file)
					s.must(s.app.CheckSubmission(context.Background(), declared.SubmissionID))
					got++
				}
				return got, nil
			}
			got, refusal := submit(func(int) netip.Prefix { return testNetwork }, 1000)
			if got != mode.want {
				t.Errorf("60 fresh wallets of one address submitted %d copies, want %d", got, mode.want)
			}
			wantCode(t, refusal, sortie.CodeRateLimited)
			s.pass(3 * 24 * time.Hour)
			s.due()
			if _, err := s.declareFrom(address(500), contributor(9000), draft, "one", photo(3)); err != nil {
				t.Errorf("an honest newcomer elsewhere: got %v, want a slot", err)
			}
			_, refusal = submit(address, 2000)
			wantCode(t, refusal, sortie.CodeMissionFull)
			slots := s.slots(draft)
			if most := 25 + 1; slots.Reserved+slots.Accepted > most {
				t.Errorf("fresh wallets of 60 addresses hold %d slots, want %d at most", slots.Reserved+slots.Accepted, most)
			}
		})
	}
}

// Reservations of rejected files count: one address does not fill the database with them.
func TestRejectedFilesAreMetered(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, boundReservations)
		draft := s.publish("k", 1, "")
		submit := func(i int) error {
			file := []byte{byte(i), byte(i >> 8)}
			declared, err := s.declareFrom(testNetwork, contributor(5000+i), draft, "one", file)
			if err != nil {
				return err
			}
			s.upload(declared, file)
			s.must(s.app.CheckSubmission(context.Background(), declared.SubmissionID))
			s.wantStatus(declared.SubmissionID, sortie.SubmissionRejected)
			return nil
		}
		for i := range 16 {
			s.must(submit(i))
		}
		wantCode(t, submit(16), sortie.CodeRateLimited)
	})
}

// Networks that declare the largest files leave room for other networks, and newcomers leave room
// for others. A network is an IPv6 /48.
func TestDeclaredBytesAreShared(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		const total = 8 * sortie.MaxUploadBytes // half is for newcomers, and a network may always declare one file
		s := openTestMedia(t, database, func(config *Config) {
			boundReservations(config)
			config.Reservations.TotalBytes = total
		})
		s.withHistory("history", bob)
		draft := s.publish("k", 1000, "")
		for site := range 3 {
			part := func(number int) netip.Prefix {
				return netip.PrefixFrom(netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:%x::", site, number)), 64)
			}
			s.must(s.declareSize(part(1), contributor(10*site), draft, sortie.MaxUploadBytes))
			wantCode(t, s.declareSize(part(2), contributor(10*site+1), draft, 1), sortie.CodeRateLimited)
		}
		if err := s.declareSize(address(5), contributor(9000), draft, sortie.MaxUploadBytes); err != nil {
			t.Errorf("an honest newcomer elsewhere: got %v, want a slot", err)
		}
		wantCode(t, s.declareSize(address(6), contributor(9001), draft, 1), sortie.CodeServiceUnavailable)
		if err := s.declareSize(address(6), bob, draft, sortie.MaxUploadBytes); err != nil {
			t.Errorf("a wallet with history when newcomers hold their half: got %v, want a slot", err)
		}
	})
}

// Each share of bytes has room for one file that fits into the total.
func TestByteShares(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		total                      int64
		known                      bool
		wantNewcomers, wantNetwork int64
	}{
		{64 << 30, false, 32 << 30, 2 << 30},
		{64 << 30, true, 32 << 30, 4 << 30},
		{4 << 30, false, 2 << 30, sortie.MaxUploadBytes},
		{100, false, 100, 100},
		{1, true, 1, 1},
	} {
		newcomers, network := byteShares(test.total, test.known)
		if newcomers != test.wantNewcomers || network != test.wantNetwork {
			t.Errorf("of %d bytes, known %t: newcomers %d and network %d, want %d and %d", test.total, test.known, newcomers, network, test.wantNewcomers, test.wantNetwork)
		}
	}
}

// Reservations of wallets with history count for their address, and an acceptance that is not final
// is no history.
func TestWalletsWithHistoryAreBounded(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), func(config *Config) {
		config.Reservations = ReservationLimits{PerAddress: 2, PerWallet: 4, NewcomerPercent: 50}
	})
	declare := func(network netip.Prefix, wallet sortie.Address, draft store.Draft, key string) error {
		_, err := s.declareFrom(network, wallet, draft, key, photo(1))
		return err
	}
	own := s.publish("own", 1, "")
	s.submitQuickly(contributor(1), own, "one")
	victim := s.publish("victim", 100, `,"maxSubmissionsPerContributor":50`)
	s.must(declare(address(2), contributor(1), victim, "a"))
	s.must(declare(address(2), contributor(1), victim, "b"))
	wantCode(t, declare(address(2), contributor(1), victim, "c"), sortie.CodeRateLimited)
	s.pass(testHold)
	s.due()

	known := make([]sortie.Address, 12)
	for i := range known {
		known[i] = contributor(100 + i)
		s.withHistory(fmt.Sprint("history", i), known[i])
	}
	got := 0
	for i, wallet := range known {
		if err := declare(address(3), wallet, victim, fmt.Sprint("one", i)); err == nil {
			got++
		} else {
			wantCode(t, err, sortie.CodeRateLimited)
		}
	}
	if want := 2 * knownShare; got != want {
		t.Errorf("12 wallets with history reserved %d slots from one address, want %d", got, want)
	}
	s.must(declare(address(3), contributor(9000), victim, "newcomer at the same address"))
	for i := range 4 {
		s.must(declare(address(10+i), known[11], victim, fmt.Sprint("wallet", i)))
	}
	wantCode(t, declare(address(20), known[11], victim, "one too many of a wallet"), sortie.CodeRateLimited)
}
