package sortie_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// mediaService serves one file under a link, with the faults that a test asks for.
type mediaService struct {
	*httptest.Server
	file     []byte
	noRanges bool

	mu       sync.Mutex
	requests []string           // the Range of each
	cuts     []int              // the connection of each request is closed after this many bytes
	before   []http.HandlerFunc // answer the first requests instead
}

func newMediaService(t *testing.T, file []byte) *mediaService {
	t.Helper()
	service := &mediaService{file: file}
	service.Server = httptest.NewServer(service)
	t.Cleanup(service.Close)
	return service
}

func (s *mediaService) link() string { return s.URL + "/media?sig=secret" }

func (s *mediaService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimPrefix(r.Header.Get("Range"), "bytes="))
	var instead http.HandlerFunc
	if len(s.before) > 0 {
		instead, s.before = s.before[0], s.before[1:]
	}
	cut := 0
	if instead == nil && len(s.cuts) > 0 {
		cut, s.cuts = s.cuts[0], s.cuts[1:]
	}
	s.mu.Unlock()
	if instead != nil {
		instead(w, r)
		return
	}
	if s.noRanges {
		r.Header.Del("Range")
	}
	w.Header().Set("ETag", `"v1"`)
	if cut > 0 {
		w = &cutWriter{ResponseWriter: w, left: cut}
	}
	http.ServeContent(w, r, "x.jpg", time.Time{}, bytes.NewReader(s.file))
}

// cutWriter closes the connection after left bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	n, _ := w.ResponseWriter.Write(p[:min(len(p), w.left)])
	if w.left -= n; w.left <= 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func download(client *sortie.Client, ctx context.Context, link string, offset int64) ([]byte, *sortie.MediaStream, error) {
	stream, err := client.Download(ctx, link, offset)
	if err != nil {
		return nil, nil, err
	}
	defer stream.Close()
	data, err := io.ReadAll(stream)
	return data, stream, err
}

func TestDownloadResumes(t *testing.T) {
	t.Parallel()
	file := randomBytes(1 << 20)
	for name, c := range map[string]struct {
		offset   int64
		noRanges bool
		cuts     []int
		before   []http.HandlerFunc
		want     string
	}{
		"without interruption":      {want: ""},
		"from an offset":            {offset: 700_000, want: "700000-"},
		"the last byte":             {offset: 1<<20 - 1, want: "1048575-"},
		"cut at 99 %":               {cuts: []int{1_038_000}, want: "|1038000-"},
		"cut twice after an offset": {offset: 5, cuts: []int{10, 10}, want: "5-|15-|25-"},
		"no ranges":                 {offset: 700_000, noRanges: true, want: "700000-"},
		"no ranges and cut":         {noRanges: true, cuts: []int{700_000}, want: "|700000-"},
		"unavailable at first":      {before: []http.HandlerFunc{unavailable("0"), unavailable("0")}, want: "||"},
		"a smaller range than requested": {offset: 10, before: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Range", "bytes=10-19")
			w.Header().Set("ETag", `"v1"`)
			http.ServeContent(w, r, "x.jpg", time.Time{}, bytes.NewReader(file))
		}}, want: "10-|20-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newMediaService(t, file)
			service.noRanges, service.cuts, service.before = c.noRanges, c.cuts, c.before
			waits := 0
			data, stream, err := download(newClient(t, service.URL, patient(&waits)), t.Context(), service.link(), c.offset)
			if err != nil || !bytes.Equal(data, file[c.offset:]) || stream.Size != int64(len(file)) || stream.ContentType != "image/jpeg" || strings.Join(service.requests, "|") != c.want {
				t.Errorf("download: got %d bytes, error %v, stream %+v, ranges %v; want %d bytes, ranges %s", len(data), err, stream, service.requests, len(file)-int(c.offset), c.want)
			}
		})
	}
}

func TestDownloadStopsOnFinalErrors(t *testing.T) {
	t.Parallel()
	file := randomBytes(100_000)
	refuse := func(status int, code sortie.Code) http.HandlerFunc {
		return answerWith(status, `{"ok":false,"error":{"code":"`+string(code)+`","message":"no"}}`)
	}
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(&cutWriter{ResponseWriter: w, left: 50_000}, r, "x.jpg", time.Time{}, bytes.NewReader(file))
	}
	for name, c := range map[string]struct {
		offset int64
		before []http.HandlerFunc
		code   sortie.Code
		read   int
	}{
		"expired":                       {0, []http.HandlerFunc{refuse(410, "media_url_expired")}, sortie.CodeMediaURLExpired, 0},
		"expired in the middle":         {0, []http.HandlerFunc{serve, refuse(410, "media_url_expired")}, sortie.CodeMediaURLExpired, 50_000},
		"no longer accepted":            {0, []http.HandlerFunc{refuse(404, "not_found")}, sortie.CodeNotFound, 0},
		"invalid link":                  {0, []http.HandlerFunc{refuse(403, "media_url_invalid")}, sortie.CodeMediaURLInvalid, 0},
		"past the end":                  {100_001, nil, sortie.CodeRangeNotSatisfiable, 0},
		"past the end, refused by code": {100_001, []http.HandlerFunc{refuse(416, "range_not_satisfiable")}, sortie.CodeRangeNotSatisfiable, 0},
		"past the end, no ranges":       {100_001, []http.HandlerFunc{answerWith(200, string(file))}, sortie.CodeRangeNotSatisfiable, 0},
		"another range":                 {5, []http.HandlerFunc{answerWith(206, "xxxxx", "Content-Range", "bytes 4-9/10")}, sortie.CodeInternal, 0},
		"a malformed range":             {5, []http.HandlerFunc{answerWith(206, "xxxxx", "Content-Range", "5-9")}, sortie.CodeInternal, 0},
		"another file in the middle":    {0, []http.HandlerFunc{serve, answerWith(200, string(file), "ETag", `"v2"`)}, sortie.CodeInternal, 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newMediaService(t, file)
			service.before = c.before
			waits := 0
			data, _, err := download(newClient(t, service.URL, patient(&waits)), t.Context(), service.link(), c.offset)
			if sortie.ErrorCode(err) != c.code || len(data) != c.read || !bytes.Equal(data, file[:c.read]) || strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("download: got %v after %d bytes and %d waits, want %s after %d bytes", err, len(data), waits, c.code, c.read)
			}
		})
	}
}

func TestStalledDownloadIsResumed(t *testing.T) {
	t.Parallel()
	file := randomBytes(200_000)
	service := newMediaService(t, file)
	hang := make(chan struct{})
	service.before = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "200000")
		w.Header().Set("ETag", `"v1"`)
		_, _ = w.Write(file[:1000])
		_ = http.NewResponseController(w).Flush()
		<-hang
	}}
	t.Cleanup(func() { close(hang) })
	waits := 0
	client := newClient(t, service.URL, patient(&waits), sortie.WithStallTimeout(3*time.Second))
	if data, _, err := download(client, t.Context(), service.link(), 0); err != nil || !bytes.Equal(data, file) || waits == 0 || service.requests[1] != "1000-" {
		t.Errorf("download: got %d bytes after %d waits, error %v, ranges %v; want %d bytes, the second range from 1000", len(data), waits, err, service.requests, len(file))
	}
}

func TestDownloadFailsWithoutProgress(t *testing.T) {
	t.Parallel()
	file := randomBytes(1000)
	service := newMediaService(t, file)
	drop := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	service.cuts = []int{10}
	waits := 0
	client := newClient(t, service.URL, sortie.WithWait(func(context.Context, time.Duration) error {
		waits++
		service.mu.Lock()
		service.before = []http.HandlerFunc{drop}
		service.mu.Unlock()
		return nil
	}))
	data, _, err := download(client, t.Context(), service.link(), 0)
	if err == nil || len(data) != 10 || waits > 10 {
		t.Errorf("download: got %d bytes after %d waits, error %v; want an error after 10 bytes and at most 10 waits", len(data), waits, err)
	}
}

func TestDownloadIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	service := newMediaService(t, randomBytes(100_000))
	service.cuts = []int{50_000}
	client := newClient(t, service.URL, sortie.WithWait(func(context.Context, time.Duration) error {
		cancel()
		return ctx.Err()
	}))
	if data, _, err := download(client, ctx, service.link(), 0); err == nil || len(data) != 50_000 || len(service.requests) != 1 {
		t.Errorf("download: got %d bytes, error %v, ranges %v; want an error after 50000 bytes and one request", len(data), err, service.requests)
	}
	_, err := client.Download(ctx, service.link(), 0)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("download with a cancelled context: got %v, want %v", err, context.Canceled)
	}
}
