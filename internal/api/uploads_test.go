package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// awaiting returns a service with a declared file that was not uploaded.
func awaiting(t *testing.T, options serviceOptions) (*testService, shot, sortie.SubmissionDeclared) {
	t.Helper()
	s := newService(t, options)
	file := s.shoot(1)
	return s, file, s.declare(s.publish("k1", wideMission).MissionID, "photo-1", file)
}

// isWaiting checks that nothing of an upload was stored.
func (s *testService) isWaiting(t *testing.T, id string) {
	t.Helper()
	own := s.submission(id)
	s.chain.mu.Lock()
	defer s.chain.mu.Unlock()
	if own.Status != sortie.SubmissionPending || len(own.Checks) != 0 || len(s.chain.checks) != 0 {
		t.Errorf("%+v, checks of %v", own, s.chain.checks)
	}
}

func TestBadUploads(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	size := len(file.data)
	target := s.target(declared.Upload.PutURL)
	put := func(body string) message {
		m := s.unsigned(http.MethodPut, target).with("Content-Type", "image/jpeg")
		m.body = body
		return m
	}
	whole := string(file.data)
	for name, row := range map[string]struct {
		m      message
		status int
		code   sortie.Code
	}{
		"body of 0 bytes":                  {put(""), 422, sortie.CodeValidationFailed},
		"body of 1 byte":                   {put(whole[:1]), 422, sortie.CodeValidationFailed},
		"body a byte too short":            {put(whole[:size-1]), 422, sortie.CodeValidationFailed},
		"body a byte too long":             {put(whole + "x"), 413, sortie.CodePayloadTooLarge},
		"length a byte too long, not sent": {put("").with("Content-Length", fmt.Sprint(size+1)), 413, sortie.CodePayloadTooLarge},
		"length of 2^62 bytes":             {put("").with("Content-Length", "4611686018427387904"), 413, sortie.CodePayloadTooLarge},
		"body in chunks, a byte too short": {put(whole[:size-1]).chunked(), 422, sortie.CodeValidationFailed},
		"body in chunks, a byte too long":  {put(whole + "x").chunked(), 413, sortie.CodePayloadTooLarge},
		"nothing, in chunks":               {put("").chunked(), 422, sortie.CodeValidationFailed},
		"bare LF in a chunk":               {put("").with("Transfer-Encoding", "chunked").withBody("1;a\nx\r\n0\r\n\r\n"), 400, sortie.CodeInvalidRequest},
		"a part of it":                     {put(whole).with("Content-Range", "bytes 0-9/10"), 400, sortie.CodeInvalidRequest},
		"body in gzip":                     {put(whole).with("Content-Encoding", "gzip"), 415, sortie.CodeUnsupportedMediaType},
		"a link that was changed":          {message{method: http.MethodPut, target: target + "A", host: put("").host, body: whole}, 403, sortie.CodeMediaURLInvalid},
		"the link of tus":                  {message{method: http.MethodPut, target: strings.Replace(s.target(declared.Upload.TusURL), "/tus?", "?", 1), host: put("").host, body: whole}, 403, sortie.CodeMediaURLInvalid},
		"no link":                          {message{method: http.MethodPut, target: "/api/uploads/" + declared.SubmissionID, host: put("").host, body: whole}, 403, sortie.CodeMediaURLInvalid},
		"another id":                       {message{method: http.MethodPut, target: strings.Replace(target, declared.SubmissionID, neighbour(declared.SubmissionID), 1), host: put("").host, body: whole}, 403, sortie.CodeMediaURLInvalid},
		"POST":                             {message{method: http.MethodPost, target: target, host: put("").host, body: whole}, 405, sortie.CodeMethodNotAllowed},
		"GET":                              {message{method: http.MethodGet, target: target, host: put("").host}, 405, sortie.CodeMethodNotAllowed},
		"HEAD is no way to learn of them":  {message{method: http.MethodHead, target: target, host: put("").host}, 405, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := s.dial()
			w.write(row.m.with("Connection", "close").String())
			if row.m.method == http.MethodHead {
				if response, err := http.ReadResponse(w.reader, &http.Request{Method: http.MethodHead}); err != nil || response.StatusCode != row.status {
					t.Errorf("HEAD: got %+v, %v, want %d", response, err, row.status)
				}
				return
			}
			a := w.read()
			if a == nil || a.StatusCode != row.status || a.code() != row.code {
				t.Fatalf("%+v, want %d %s", a, row.status, row.code)
			}
			checkError(t, *a)
			s.isWaiting(t, declared.SubmissionID)
		})
	}
	mustBe(t, "the file", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
}

func (m message) withBody(body string) message {
	m.body = body
	return m
}

func TestUploadsInChunks(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	m := s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL))
	m.body = string(file.data)
	w := s.dial()
	w.write(m.chunked().String())
	if a := w.read(); a == nil || a.StatusCode != http.StatusOK {
		t.Fatalf("chunked upload: got %+v, want 200", a)
	}
	if !w.isClosed() { // a proxy in front may have believed another length
		t.Error("the connection is still open")
	}
	s.chain.check()
	if own := s.submission(declared.SubmissionID); own.Status != sortie.SubmissionAccepted {
		t.Errorf("own submission: got %+v, want it accepted", own)
	}
}

// Other bytes of the declared size reject the submission.
func TestUploadsOfAnotherFile(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s, file, declared := awaiting(t, serviceOptions{database: database})
		other := bytes.Clone(file.data)
		other[len(other)/2] ^= 1
		a := s.put(declared.Upload.PutURL, other)
		if a.StatusCode != http.StatusUnprocessableEntity || a.code() != sortie.CodeValidationFailed {
			t.Fatalf("another file: got %d %s, want 422 validation_failed", a.StatusCode, a.body)
		}
		if own := s.submission(declared.SubmissionID); own.Status != sortie.SubmissionRejected || own.Reason == "" {
			t.Errorf("own submission: got %+v, want it rejected with a reason", own)
		}
		for _, content := range [][]byte{other, file.data} { // a retry must not look like a success
			if again := s.put(declared.Upload.PutURL, content); again.StatusCode != http.StatusUnprocessableEntity || again.code() != sortie.CodeValidationFailed {
				t.Errorf("afterwards: got %d %s, want 422 validation_failed", again.StatusCode, again.body)
			}
		}
		mustBe(t, "tus", s.tusRequest(http.MethodHead, declared, nil, ""), http.StatusUnprocessableEntity)
	})
}

// An upload that was withdrawn is not reported as complete: a resuming client would believe that it
// had sent the file.
func TestUploadsOfWithdrawnSubmissions(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	mustBe(t, "a part", s.tusRequest(http.MethodPatch, declared, at(0), string(file.data[:100])), http.StatusNoContent)
	mustBe(t, "withdraw", s.send(testRequest{method: http.MethodPost, target: submissionsPath + "/" + declared.SubmissionID + "/withdraw", signer: contributor}), http.StatusOK)
	for name, a := range map[string]answer{
		"HEAD": s.tusRequest(http.MethodHead, declared, nil, ""), "PATCH": s.tusRequest(http.MethodPatch, declared, at(100), string(file.data[100:])),
		"POST": s.tusRequest(http.MethodPost, declared, http.Header{"Upload-Length": {fmt.Sprint(len(file.data))}}, ""), "PUT": s.put(declared.Upload.PutURL, file.data),
	} {
		if a.StatusCode != http.StatusConflict || a.Header.Get("Upload-Offset") != "" {
			t.Errorf("%s after the withdrawal: got %d %v %s, want 409 without an offset", name, a.StatusCode, a.Header, a.body)
		}
	}
}

// The same file again, of any contributor, waits for an operator.
func TestUploadsOfTheSameFile(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	missionID := s.publish("k1", wideMission).MissionID
	file := s.shoot(1)
	if own := s.submit(missionID, "one", file); own.Status != sortie.SubmissionAccepted {
		t.Fatalf("own submission: got %+v, want it accepted", own)
	}
	if own := s.submit(missionID, "two", file); own.Status != sortie.SubmissionFlagged {
		t.Errorf("the same file twice: %+v", own)
	}
	declared := decode[sortie.SubmissionDeclared](t, s.declareBy(another, missionID, "k", file.String()))
	mustBe(t, "upload", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
	s.chain.check()
	if theirs := s.reviewed(declared.SubmissionID); theirs.Status != sortie.SubmissionFlagged || theirs.DuplicateOf == nil {
		t.Errorf("another contributor's file: %+v", theirs)
	}
}

// A finished upload is answered with its submission, and its body is not read.
func TestUploadsThatAreDone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: waits for the server to close connections")
	}
	s, file, declared := awaiting(t, serviceOptions{})
	mustBe(t, "the first time", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
	mustBe(t, "the second time", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
	s.chain.mu.Lock()
	if len(s.chain.checks) != 1 {
		t.Errorf("checks of %v", s.chain.checks)
	}
	s.chain.mu.Unlock()
	s.chain.check()
	w := s.dial()
	w.write(s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(len(file.data))).String()) // and nothing more
	a := w.read()
	if a == nil || a.StatusCode != http.StatusOK || decode[sortie.SubmissionDetail](t, *a).Submission.Status != sortie.SubmissionAccepted {
		t.Fatalf("upload that is done: got %+v, want 200 and the accepted submission", a)
	}
	if !w.isClosed() {
		t.Error("the connection, on which a body may follow, is still open")
	}
}

// A client that sends Expect: 100-continue sends only a body that is accepted.
func TestUploadsThatAskFirst(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	ask := func(length int) *wire {
		w := s.dial()
		w.write(s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(length)).with("Expect", "100-continue").String())
		return w
	}
	if a := ask(len(file.data) + 1).read(); a == nil || a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("not wanted: %+v", a)
	}
	w := ask(len(file.data))
	if line, err := w.reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("got %q, %v, want 100 Continue", line, err)
	}
	if line, err := w.reader.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("after 100 Continue: got %q, %v, want an empty line", line, err)
	}
	w.write(string(file.data))
	if a := w.read(); a == nil || a.StatusCode != http.StatusOK {
		t.Errorf("wanted: %+v", a)
	}
}

// Of two concurrent uploads one holds the lock. The other gets a conflict at once, and both get the
// same answer in the end.
func TestTwoUploadsAtOnce(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	half := len(file.data) / 2
	first := s.dial()
	m := s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(len(file.data)))
	if _, err := io.WriteString(first.connection, m.String()+string(file.data[:half])); err != nil {
		t.Fatal(err)
	}
	s.untilBusy(t, declared)
	for range 3 {
		if a := s.put(declared.Upload.PutURL, file.data); a.StatusCode != http.StatusConflict || a.code() != sortie.CodeIdempotencyInProgress {
			t.Errorf("second upload: got %d %s, want 409 idempotency_in_progress", a.StatusCode, a.body)
		}
	}
	first.write(string(file.data[half:]))
	if a := first.read(); a == nil || a.StatusCode != http.StatusOK {
		t.Fatalf("first upload: got %+v, want 200", a)
	}
	mustBe(t, "afterwards", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
}

// untilBusy waits until the body of an upload is being read. It does not ask the service, because
// that would take the lock for a moment.
func (s *testService) untilBusy(t *testing.T, declared sortie.SubmissionDeclared) {
	t.Helper()
	turns := &s.Config.Handler.(*Server).uploadLocks
	s.until(t, "the lock is free", func() bool {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		turn := turns.byID[declared.SubmissionID]
		if turn == nil {
			return false
		}
		turn.mu.Lock()
		defer turn.mu.Unlock()
		return turn.body != nil
	})
}

// until polls until a condition holds.
func (s *testService) until(t *testing.T, otherwise string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
		runtime.Gosched()
	}
}

func TestManyUploadsToOneSubmission(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s, file, declared := awaiting(t, serviceOptions{database: database})
		var group sync.WaitGroup
		statuses := make([]int, 16)
		for i := range statuses {
			group.Go(func() { statuses[i] = s.put(declared.Upload.PutURL, file.data).StatusCode })
		}
		group.Wait()
		for _, status := range statuses {
			if status != http.StatusOK && status != http.StatusConflict {
				t.Errorf("statuses: got %v, want 200 and 409 only", statuses)
			}
		}
		mustBe(t, "in the end", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
		s.chain.mu.Lock()
		defer s.chain.mu.Unlock()
		if len(s.chain.checks) != 1 {
			t.Errorf("checks of %v", s.chain.checks)
		}
	})
}

// A slow upload is cut off, and no longer counts as in flight.
func TestSlowUploadsAreCutOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: waits for the timeout of uploads")
	}
	s, file, declared := awaiting(t, serviceOptions{config: func(config *Config) { config.StallTimeout, config.MaxUploads = 8*time.Second, 1 }})
	w := s.dial()
	m := s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(len(file.data)))
	if _, err := io.WriteString(w.connection, m.String()); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() { // never as much as it must be, but always something
		drip := time.NewTicker(10 * time.Millisecond)
		defer drip.Stop()
		for _, c := range file.data[:len(file.data)-1] {
			select {
			case <-drip.C:
				_, _ = w.connection.Write([]byte{c})
			case <-stop:
				return
			}
		}
	}()
	s.untilBusy(t, declared)
	a := w.read()
	if a == nil || a.StatusCode != http.StatusBadRequest || a.code() != sortie.CodeInvalidRequest {
		t.Fatalf("slow upload: got %+v, want 400 invalid_request", a)
	}
	checkError(t, *a)
	if !w.isClosed() {
		t.Error("the connection is still open")
	}
	s.isWaiting(t, declared.SubmissionID)
	mustBe(t, "the next", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
}

// A slow upload is not cut off while it makes progress: the timeout is for the next bytes, not for
// the whole.
func TestUploadsTakeAsLongAsTheyMove(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: uploads more slowly than the timeout")
	}
	const stall = 9 * time.Second // a busy machine adds far less to a pause of a third of it
	s := newService(t, serviceOptions{config: func(config *Config) { config.StallTimeout = stall }})
	data := s.shoot(1).data
	file := s.fileOf(append(data, make([]byte, 6*minProgress-len(data)%minProgress)...))
	declared := s.declare(s.publish("k1", wideMission).MissionID, "photo-1", file)
	w := s.dial()
	m := s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(len(file.data)))
	if _, err := io.WriteString(w.connection, m.String()); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	pause := time.NewTicker(stall / 3)
	defer pause.Stop()
	for rest := file.data; len(rest) > 0; {
		n := min(len(rest), minProgress)
		if _, err := w.connection.Write(rest[:n]); err != nil {
			t.Fatalf("cut after %s with %d bytes to go: %v", time.Since(start), len(rest), err)
		}
		rest = rest[n:]
		<-pause.C
	}
	if a := w.read(); a == nil || a.StatusCode != http.StatusOK {
		t.Fatalf("steady upload: got %+v, want 200", a)
	}
	if took := time.Since(start); took < stall+stall/2 {
		t.Errorf("took %s, which shows nothing", took)
	}
}

// zeros is a body of any size.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	if z.left == 0 {
		return int(n), io.EOF
	}
	return int(n), nil
}

// An upload costs the same memory for any size. Not parallel: it measures all allocations.
func TestUploadsAreNotKeptInMemory(t *testing.T) {
	const size = 100 << 20
	s := newService(t, serviceOptions{})
	file := s.shoot(1)
	file.SizeBytes = size // its hash is another's: the last byte is refused, all others are taken
	declared := s.declare(s.publish("k1", wideMission).MissionID, "photo-1", file)
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := io.WriteString(connection, s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(size)).String()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{connection}, &zeros{size}, make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil || response.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("got %+v, %v, want 422", response, err)
	}
	_ = response.Body.Close()
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("%d bytes allocated for %d", allocated, size)
	}
}

// One address cannot use up the limit of uploads in flight.
func TestTransfersOfOneAddress(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{limits: &Limits{AddressUploads: 1}})
	m := s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(len(file.data)))
	first := s.dial()
	if _, err := io.WriteString(first.connection, m.String()+string(file.data[:10])); err != nil {
		t.Fatal(err)
	}
	s.untilBusy(t, declared)
	if a := s.put(declared.Upload.PutURL, file.data); a.StatusCode != http.StatusServiceUnavailable || a.code() != sortie.CodeServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("a second upload: got %d %s, want 503 service_unavailable and Retry-After", a.StatusCode, a.body)
	}
	first.write(string(file.data[10:]))
	if a := first.read(); a == nil || a.StatusCode != http.StatusOK {
		t.Fatalf("first upload: got %+v, want 200", a)
	}
	mustBe(t, "afterwards", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
}

// Withdrawing ends the upload in flight and leaves none of its bytes on the disk.
func TestWithdrawingWhileUploading(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	s, file, declared := awaiting(t, serviceOptions{files: files, config: func(config *Config) { config.StallTimeout = time.Minute }})
	slow := s.dial()
	m := s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(len(file.data)))
	if _, err := io.WriteString(slow.connection, m.String()+string(file.data[:100])); err != nil {
		t.Fatal(err)
	}
	s.untilBusy(t, declared)
	mustBe(t, "withdraw", s.send(testRequest{method: http.MethodPost, target: submissionsPath + "/" + declared.SubmissionID + "/withdraw", signer: contributor}), http.StatusOK)
	if a := slow.read(); a == nil || a.StatusCode != http.StatusBadRequest {
		t.Errorf("the upload: %+v", a)
	}
	if left, err := filepath.Glob(filepath.Join(files, "*", "*"+declared.SubmissionID+"*")); err != nil || len(left) > 0 {
		t.Errorf("left on the disk: %v %v", left, err)
	}
}

// A body that makes progress but does not end is cut off when its reservation ends.
func TestBodiesEndWithTheirReservation(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{config: func(config *Config) { config.StallTimeout = time.Minute }})
	file := s.fileOf(append(s.shoot(1).data, make([]byte, 4*minProgress)...)) // more than is read between two looks at the clock
	declared := s.declare(s.publish("k1", wideMission).MissionID, "photo-1", file)
	slow := s.dial()
	m := s.unsigned(http.MethodPut, s.target(declared.Upload.PutURL)).with("Content-Length", fmt.Sprint(len(file.data)))
	if _, err := io.WriteString(slow.connection, m.String()+string(file.data[:100])); err != nil {
		t.Fatal(err)
	}
	s.untilBusy(t, declared)
	s.clock.advance(time.Hour)
	if _, err := slow.connection.Write(file.data[100 : len(file.data)-1]); err != nil {
		t.Fatal(err)
	}
	if a := slow.read(); a == nil || a.StatusCode != http.StatusBadRequest { // without waiting for the last byte
		t.Errorf("upload after its reservation: got %+v, want 400", a)
	}
	mustBe(t, "afterwards", s.put(declared.Upload.PutURL, file.data), http.StatusGone)
}
