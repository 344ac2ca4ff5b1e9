package sortie_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/porttest"
)

// tusService is a tus server for one upload. It keeps the bytes of requests that are cut off.
type tusService struct {
	*httptest.Server
	mu       sync.Mutex
	stored   []byte
	requests []string // method and offset
	trouble  []trouble
}

// trouble is a fault of one request that sends bytes.
type trouble struct {
	cutAfter int              // store that many bytes and close the connection
	answer   http.HandlerFunc // or store nothing and answer with this
	lose     bool             // or store everything and close the connection before the answer
}

func newTusService(t *testing.T, stored []byte, troubles ...trouble) *tusService {
	t.Helper()
	service := &tusService{stored: stored, trouble: troubles}
	service.Server = httptest.NewServer(service)
	t.Cleanup(service.Close)
	return service
}

func (s *tusService) links() sortie.UploadLinks {
	return sortie.UploadLinks{PutURL: s.URL + "/put?sig=secret", TusURL: s.URL + "/tus?sig=secret"}
}

func (s *tusService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.Header.Get("Upload-Offset")))
	if r.Header.Get("Tus-Resumable") != "1.0.0" {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	if r.Header.Get(sortie.HeaderSignature) != "" {
		w.WriteHeader(http.StatusTeapot) // requests under a link are not signed
		return
	}
	if r.Method == http.MethodPatch {
		if done := s.take(w, r); !done {
			return
		}
	}
	w.Header().Set("Upload-Offset", strconv.Itoa(len(s.stored)))
	w.WriteHeader(http.StatusNoContent)
}

func (s *tusService) take(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Upload-Offset") != strconv.Itoa(len(s.stored)) || r.Header.Get("Content-Type") != "application/offset+octet-stream" {
		w.WriteHeader(http.StatusConflict)
		return false
	}
	var now trouble
	if len(s.trouble) > 0 {
		now, s.trouble = s.trouble[0], s.trouble[1:]
	}
	if now.answer != nil {
		now.answer(w, r)
		return false
	}
	source := io.Reader(r.Body)
	if now.cutAfter > 0 {
		source = io.LimitReader(source, int64(now.cutAfter))
	}
	piece, err := io.ReadAll(source)
	s.stored = append(s.stored, piece...)
	if now.cutAfter > 0 || now.lose || err != nil {
		panic(http.ErrAbortHandler)
	}
	return true
}

// patient makes the client count its waits instead of waiting.
func patient(waits *int) sortie.ClientOption {
	return sortie.WithWait(func(ctx context.Context, _ time.Duration) error {
		*waits++
		return ctx.Err()
	})
}

func randomBytes(n int) []byte {
	source := rand.New(rand.NewPCG(1, uint64(n)))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return data
}

func TestUploadResumes(t *testing.T) {
	t.Parallel()
	file := randomBytes(1 << 20)
	busy := answerWith(http.StatusConflict, `{"ok":false,"error":{"code":"idempotency_in_progress","message":"another request uploads it"}}`)
	for name, c := range map[string]struct {
		stored   int
		troubles []trouble
		want     string
	}{
		"without interruption":     {0, nil, "HEAD|PATCH 0"},
		"from an offset":           {700_000, nil, "HEAD|PATCH 700000"},
		"cut at 99 %":              {0, []trouble{{cutAfter: 1_038_000}}, "HEAD|PATCH 0|HEAD|PATCH 1038000"},
		"cut eight times":          {0, []trouble{{cutAfter: 1}, {cutAfter: 1}, {cutAfter: 1}, {cutAfter: 1}, {cutAfter: 1}, {cutAfter: 1}, {cutAfter: 1}, {cutAfter: 1}}, ""},
		"the answer is lost":       {0, []trouble{{lose: true}}, "HEAD|PATCH 0|HEAD|PATCH 1048576"},
		"it could not be stored":   {1 << 20, []trouble{{answer: unavailable("0")}}, "HEAD|PATCH 1048576|HEAD|PATCH 1048576"},
		"another request holds it": {0, []trouble{{answer: busy}, {answer: busy}}, "HEAD|PATCH 0|HEAD|PATCH 0|HEAD|PATCH 0"},
		"bad gateway":              {10, []trouble{{answer: answerWith(502, "<html>")}}, "HEAD|PATCH 10|HEAD|PATCH 10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newTusService(t, bytes.Clone(file[:c.stored]), c.troubles...)
			waits, last := 0, int64(-1)
			client := newClient(t, service.URL, patient(&waits))
			err := client.UploadResumable(t.Context(), service.links(), bytes.NewReader(file), int64(len(file)), func(sent int64) { last = sent })
			requests := strings.Join(service.requests, "|")
			if err != nil || !bytes.Equal(service.stored, file) || last != int64(len(file)) || waits != len(c.troubles) || (c.want != "" && requests != c.want) {
				t.Errorf("upload: got error %v, %d bytes stored, progress %d, %d waits, requests %s; want %d bytes, %d waits, requests %s",
					err, len(service.stored), last, waits, requests, len(file), len(c.troubles), c.want)
			}
		})
	}
}

// A large file is sent in pieces, which grow while they are fast.
func TestLargeFileIsUploadedInPieces(t *testing.T) {
	t.Parallel()
	file := randomBytes(8 << 20)
	service := newTusService(t, nil, trouble{}, trouble{}, trouble{cutAfter: 1000})
	waits := 0
	err := newClient(t, service.URL, patient(&waits)).UploadResumable(t.Context(), service.links(), bytes.NewReader(file), int64(len(file)), nil)
	requests := strings.Join(service.requests, "|")
	if err != nil || !bytes.Equal(service.stored, file) || waits != 1 || !strings.HasPrefix(requests, "HEAD|PATCH 0|PATCH 1048576|") || strings.Count(requests, "HEAD") != 2 {
		t.Errorf("upload: got error %v, %d bytes stored, %d waits, requests %s; want %d bytes, 1 wait", err, len(service.stored), waits, requests, len(file))
	}
}

func TestUploadStopsOnFinalErrors(t *testing.T) {
	t.Parallel()
	file := randomBytes(100_000)
	refuse := func(status int, code sortie.Code) trouble {
		return trouble{answer: answerWith(status, `{"ok":false,"error":{"code":"`+string(code)+`","message":"no"}}`)}
	}
	for name, c := range map[string]struct {
		troubles []trouble
		code     sortie.Code
		waits    int
	}{
		"other bytes than declared": {[]trouble{refuse(422, sortie.CodeValidationFailed)}, sortie.CodeValidationFailed, 0},
		"the reservation has ended": {[]trouble{refuse(410, sortie.CodeMediaURLExpired)}, sortie.CodeMediaURLExpired, 0},
		"unavailable for long":      {[]trouble{refuse(503, "service_unavailable"), refuse(503, "service_unavailable"), refuse(503, "service_unavailable"), refuse(503, "service_unavailable")}, sortie.CodeServiceUnavailable, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newTusService(t, nil, c.troubles...)
			waits := 0
			err := newClient(t, service.URL, patient(&waits), sortie.WithAttempts(2)).UploadResumable(t.Context(), service.links(), bytes.NewReader(file), int64(len(file)), nil)
			if sortie.ErrorCode(err) != c.code || waits != c.waits {
				t.Errorf("upload: got %v after %d waits, want %s after %d", err, waits, c.code, c.waits)
			}
		})
	}
}

// Answers to HEAD have no body, so the error's code follows from the status.
func TestUploadWithInvalidLink(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]sortie.Code{403: sortie.CodeMediaURLInvalid, 404: sortie.CodeNotFound, 410: sortie.CodeMediaURLExpired} {
		url, requests := fakeService(t, answerWith(status, ""))
		err := newClient(t, url).UploadResumable(t.Context(), sortie.UploadLinks{TusURL: url + "/x?sig=secret"}, bytes.NewReader(nil), 1, nil)
		if sortie.ErrorCode(err) != code || requests.Load() != 1 {
			t.Errorf("upload after status %d: got %v after %d requests, want %s after 1", status, err, requests.Load(), code)
		}
	}
	url, _ := fakeService(t, answerWith(200, ""))
	if err := newClient(t, url).UploadResumable(t.Context(), sortie.UploadLinks{TusURL: url}, bytes.NewReader(nil), 1, nil); err == nil || !strings.Contains(err.Error(), "tus") {
		t.Errorf("upload to a server without tus: got %v, want an error about tus", err)
	}
	url, _ = fakeService(t, answerWith(200, "", "Upload-Offset", "7"))
	if err := newClient(t, url).UploadResumable(t.Context(), sortie.UploadLinks{TusURL: url}, bytes.NewReader(nil), 1, nil); err == nil || !strings.Contains(err.Error(), "another file") {
		t.Errorf("upload with an offset past the end: got %v, want an error about another file", err)
	}
	for _, link := range []string{"", "/api/uploads/x", "file:///etc/passwd", "ftp://a.example/x", "http://user:secret@a.example/x"} {
		err := newClient(t, url).UploadResumable(t.Context(), sortie.UploadLinks{TusURL: link}, bytes.NewReader(nil), 1, nil)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("upload to link %q: got %v, want an error without the password", link, err)
		}
	}
}

// A link is a permission, so errors, which are logged, must not contain it.
func TestTransferErrorsDoNotContainTheLink(t *testing.T) {
	t.Parallel()
	gone := "http://" + porttest.Reserve(t) // no server listens there
	waits := 0
	client := newClient(t, gone, patient(&waits))
	link := gone + "/x?sig=secret"
	_, put := client.Upload(t.Context(), sortie.UploadLinks{PutURL: link}, strings.NewReader("x"), 1)
	_, get := client.Download(t.Context(), link, 0)
	for name, err := range map[string]error{
		"tus": client.UploadResumable(t.Context(), sortie.UploadLinks{TusURL: link}, strings.NewReader("x"), 1, nil), "put": put, "get": get,
	} {
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "secret") {
			t.Errorf("%s: got %v, want an error without the link", name, err)
		}
	}
}

func TestStalledUploadIsResumed(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	service := newTusService(t, nil, trouble{answer: func(http.ResponseWriter, *http.Request) { <-hang }})
	file := randomBytes(8 << 20) // more than the network buffers hold
	waits := 0
	wake := sync.OnceFunc(func() { close(hang) })
	client := newClient(t, service.URL, sortie.WithStallTimeout(3*time.Second), sortie.WithWait(func(context.Context, time.Duration) error {
		waits++
		wake()
		return nil
	}))
	if err := client.UploadResumable(t.Context(), service.links(), bytes.NewReader(file), int64(len(file)), nil); err != nil || waits == 0 || !bytes.Equal(service.stored, file) {
		t.Errorf("upload: got error %v, %d waits, %d bytes stored; want %d bytes after a wait", err, waits, len(service.stored), len(file))
	}
}

func TestUploadIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	service := newTusService(t, nil, trouble{answer: func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		_, _ = io.Copy(io.Discard, r.Body) // until the connection is gone
	}})
	file := randomBytes(8 << 20)
	err := newClient(t, service.URL).UploadResumable(ctx, service.links(), bytes.NewReader(file), int64(len(file)), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("upload with a cancelled context: got %v, want %v", err, context.Canceled)
	}
}

func TestUploadInOneRequest(t *testing.T) {
	t.Parallel()
	file := randomBytes(300_000)
	var got []byte
	url, _ := fakeService(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut || r.ContentLength != int64(len(file)) || r.Header.Get(sortie.HeaderWallet) != "" {
			t.Errorf("got %s with %d bytes and headers %v, want an unsigned PUT with %d bytes", r.Method, r.ContentLength, r.Header, len(file))
		}
		got, _ = io.ReadAll(r.Body)
		answerWith(200, `{"ok":true,"submission":{"submissionId":"sub_1","status":"pending"}}`)(w, r)
	})
	submission, err := newClient(t, url).Upload(t.Context(), sortie.UploadLinks{PutURL: url + "/put?sig=x"}, bytes.NewReader(file), int64(len(file)))
	if err != nil || submission.SubmissionID != "sub_1" || !bytes.Equal(got, file) {
		t.Errorf("upload: got submission %q, error %v, %d bytes received; want sub_1 and %d bytes", submission.SubmissionID, err, len(got), len(file))
	}
	url, requests := fakeService(t, answerWith(413, `{"ok":false,"error":{"code":"payload_too_large","message":"at most 1 byte"}}`))
	unread := &countingReader{Reader: bytes.NewReader(file)}
	_, err = newClient(t, url).Upload(t.Context(), sortie.UploadLinks{PutURL: url + "/put?sig=x"}, unread, int64(len(file)))
	if sortie.ErrorCode(err) != sortie.CodePayloadTooLarge || requests.Load() != 1 || unread.n != 0 {
		t.Errorf("upload that is refused: got %v after %d requests and %d bytes, want payload_too_large after 1 request and 0 bytes", err, requests.Load(), unread.n)
	}
	if _, err = newClient(t, url).Upload(t.Context(), sortie.UploadLinks{PutURL: url + "/put?sig=x"}, strings.NewReader("short"), 10); err == nil {
		t.Error("a file shorter than its size was accepted")
	}
}

type countingReader struct {
	io.Reader
	n int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += n
	return n, err
}
