package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// downloads serves one file, in one of the two ways, and reports how each download ended.
func downloads(t *testing.T, data []byte, timeout time.Duration, byKernel bool) (address string, ended chan error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, err := os.Open(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		req := &request{ResponseWriter: w, http: r}
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.WriteHeader(http.StatusOK)
		whole := part{0, int64(len(data))}
		if byKernel {
			_, err = req.sendPart(file, whole, timeout)
		} else {
			_, err = req.sendStream(file, whole.length, timeout)
		}
		ended <- err
	}))
	server.Config.ConnContext = func(ctx context.Context, connection net.Conn) context.Context {
		_ = connection.(*net.TCPConn).SetWriteBuffer(16 << 10) // so that a client that is slow is seen to be
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), ended
}

// ask requests the file and reads nothing.
func ask(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	_ = connection.(*net.TCPConn).SetReadBuffer(16 << 10)
	_ = connection.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return connection
}

func noise(size int) []byte {
	random := rand.New(rand.NewPCG(3, 4))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func bothWays(t *testing.T, test func(t *testing.T, byKernel bool)) {
	t.Helper()
	for name, byKernel := range map[string]bool{"by the kernel": true, "by hand": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, byKernel)
		})
	}
}

// A client that does not read is cut off after the stall timeout, and no more of the file is read.
func TestStalledDownloads(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, byKernel bool) {
		address, ended := downloads(t, noise(4<<20), 200*time.Millisecond, byKernel)
		ask(t, address)
		if err := <-ended; !errors.Is(err, errClientLeft) {
			t.Errorf("download that stalls: got error %v, want %v", err, errClientLeft)
		}
	})
}

func TestDownloadsWhoseClientLeaves(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, byKernel bool) {
		address, ended := downloads(t, noise(4<<20), time.Minute, byKernel)
		connection := ask(t, address)
		if _, err := io.ReadFull(connection, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		_ = connection.Close()
		if err := <-ended; !errors.Is(err, errClientLeft) {
			t.Errorf("download whose client leaves: got error %v, want %v", err, errClientLeft)
		}
	})
}

// A slow client gets the whole file, although no write completes within the timeout.
func TestDownloadsTakeAsLongAsTheyMove(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: downloads more slowly than the timeout")
	}
	data := noise(5 << 19)
	const stall = 10 * time.Second // far more than a busy machine adds to a pause
	address, ended := downloads(t, data, stall, true)
	connection := ask(t, address)
	pause := time.NewTicker(stall / 60) // of which there are 80
	defer pause.Stop()
	var got bytes.Buffer
	for buffer := make([]byte, 32<<10); ; <-pause.C {
		n, err := connection.Read(buffer)
		got.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	_, body, _ := bytes.Cut(got.Bytes(), []byte("\r\n\r\n"))
	if sha256.Sum256(body) != sha256.Sum256(data) {
		t.Errorf("%d bytes of %d, or others", len(body), len(data))
	}
}

// A file that is too short is an error, not a short answer that looks complete.
func TestFilesThatEndTooEarly(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*request) (int64, error){
		"by the kernel": func(req *request) (int64, error) {
			file, err := os.Open(filepath.Join("..", "..", "go.mod"))
			if err != nil {
				return 0, err
			}
			defer file.Close()
			return req.sendPart(file, part{0, 1 << 20}, time.Minute)
		},
		"by hand": func(req *request) (int64, error) {
			return req.sendStream(strings.NewReader("short"), 1<<20, time.Minute)
		},
	} {
		req := &request{ResponseWriter: httptest.NewRecorder()}
		if _, err := send(req); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got error %v, want %v", name, err, io.ErrUnexpectedEOF)
		}
	}
}

// Downloads and uploads have their own limits: when those are reached, other requests are served.
func TestTransfersHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	s, draft, deliverable := delivered(t, serviceOptions{config: func(config *Config) { config.MaxUploads, config.MaxDownloads = 1, 1 }})
	file := s.shoot(2)
	declared := s.declare(draft.MissionID, "photo-2", file)
	server := s.Config.Handler.(*Server)
	if err := server.inFlight[viewer].acquire(); err != nil {
		t.Fatal(err)
	}
	place, err := server.uploads.acquire(netip.Prefix{})
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]answer{"download": s.follow(deliverable.MediaURL, nil), "upload": s.put(declared.Upload.PutURL, file.data)} {
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d %v, want 503 and Retry-After", name, a.StatusCode, a.Header)
		}
	}
	mustBe(t, "the feed", s.send(testRequest{target: feedPath, unsigned: true}), http.StatusOK)
	mustBe(t, "an operator's link", s.follow(*s.reviewed(deliverable.SubmissionID).MediaURL, nil), http.StatusOK)
	server.uploads.release(place)
	server.inFlight[viewer].release()
	mustBe(t, "download", s.follow(deliverable.MediaURL, nil), http.StatusOK)
	mustBe(t, "upload", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
}
