package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// tusRequest sends a tus request to an upload. The given headers replace those of a correct client.
func (s *testService) tusRequest(method string, declared sortie.SubmissionDeclared, header http.Header, body string) answer {
	s.t.Helper()
	all := http.Header{"Tus-Resumable": {tusVersion}}
	if body != "" {
		all.Set("Content-Type", tusContentType)
	}
	for name, values := range header {
		all[name] = values
	}
	if len(all["Tus-Resumable"]) == 0 {
		delete(all, "Tus-Resumable")
	}
	return s.send(testRequest{method: method, target: s.target(declared.Upload.TusURL), header: all, body: body, unsigned: true})
}

func at(offset int) http.Header { return http.Header{"Upload-Offset": {fmt.Sprint(offset)}} }

// holds checks the offset of an upload.
func (s *testService) holds(t *testing.T, declared sortie.SubmissionDeclared, want int) {
	t.Helper()
	a := s.tusRequest(http.MethodHead, declared, nil, "")
	if a.StatusCode != http.StatusOK || a.Header.Get("Upload-Offset") != fmt.Sprint(want) || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v, want %d bytes", a.StatusCode, a.Header, want)
	}
}

func TestResumableUploads(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s, file, declared := awaiting(t, serviceOptions{database: database})
		size := len(file.data)
		created := s.tusRequest(http.MethodPost, declared, http.Header{"Upload-Length": {fmt.Sprint(size)}, "Upload-Metadata": {"filename cGhvdG8uanBn"}}, "")
		if created.StatusCode != http.StatusCreated || created.Header.Get("Location") != s.target(declared.Upload.TusURL) || created.Header.Get("Tus-Resumable") != tusVersion {
			t.Fatalf("create: got %d %v %s, want 201 with Location and Tus-Resumable", created.StatusCode, created.Header, created.body)
		}
		s.holds(t, declared, 0)
		for offset := 0; offset < size; offset += 1000 {
			end := min(offset+1000, size)
			a := s.tusRequest(http.MethodPatch, declared, at(offset), string(file.data[offset:end]))
			if a.StatusCode != http.StatusNoContent || a.Header.Get("Upload-Offset") != fmt.Sprint(end) {
				t.Fatalf("at %d: %d %v %s", offset, a.StatusCode, a.Header, a.body)
			}
		}
		s.holds(t, declared, size)
		s.chain.check()
		if own := s.submission(declared.SubmissionID); own.Status != sortie.SubmissionAccepted {
			t.Errorf("own submission: got %+v, want it accepted", own)
		}
		s.holds(t, declared, size)
		mustBe(t, "nothing more", s.tusRequest(http.MethodPatch, declared, at(size), ""), http.StatusUnsupportedMediaType)
		mustBe(t, "nothing more, well said", s.tusRequest(http.MethodPatch, declared, http.Header{"Upload-Offset": {fmt.Sprint(size)}, "Content-Type": {tusContentType}}, ""), http.StatusNoContent)
	})
}

// The bytes before a lost connection are kept, also for another process.
func TestUploadsCutAtNinetyNinePercent(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	options := serviceOptions{database: "sqlite:" + filepath.Join(t.TempDir(), "sortie.db"), files: files}
	s, file, declared := awaiting(t, options)
	most := len(file.data) * 99 / 100
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		link := map[string]string{http.MethodPut: declared.Upload.PutURL, http.MethodPatch: declared.Upload.TusURL}[method]
		mustBe(t, "begin", s.tusRequest(http.MethodDelete, declared, nil, ""), http.StatusNoContent)
		w := s.dial()
		m := s.unsigned(method, s.target(link)).with("Content-Length", fmt.Sprint(len(file.data))).
			with("Tus-Resumable", tusVersion).with("Upload-Offset", "0").with("Content-Type", tusContentType)
		if _, err := io.WriteString(w.connection, m.String()+string(file.data[:most])); err != nil {
			t.Fatal(err)
		}
		s.until(t, method+": what was sent does not arrive", func() bool { // an earlier request would take the lock
			info, err := os.Stat(filepath.Join(files, "incoming", declared.SubmissionID+".upload"))
			return err == nil && info.Size() == int64(most)
		})
		_ = w.connection.Close()
		s.until(t, method+": the upload is still busy", func() bool { return s.tusRequest(http.MethodHead, declared, nil, "").StatusCode == http.StatusOK })
		s.holds(t, declared, most)
		s.isWaiting(t, declared.SubmissionID) // and no object was stored
	}
	// A new creation would restart the upload. This client resumes it, at a service that was
	// restarted.
	s.stop()
	restarted := newService(t, options)
	declared.Upload.TusURL = restarted.URL + s.target(declared.Upload.TusURL)
	restarted.holds(t, declared, most)
	mustBe(t, "the rest", restarted.tusRequest(http.MethodPatch, declared, at(most), string(file.data[most:])), http.StatusNoContent)
	restarted.chain.check()
	if own := restarted.submission(declared.SubmissionID); own.Status != sortie.SubmissionAccepted {
		t.Errorf("own submission: got %+v, want it accepted", own)
	}
}

// A client that reconnects is not blocked by its own lost connection, which the service has not
// noticed.
func TestClientsThatComeBack(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{config: func(config *Config) { config.StallTimeout = time.Minute }})
	half := len(file.data) / 2
	for _, part := range []int{half, half} { // as often as it likes
		mustBe(t, "begin", s.tusRequest(http.MethodDelete, declared, nil, ""), http.StatusNoContent)
		lost := s.dial()
		m := s.unsigned(http.MethodPatch, s.target(declared.Upload.TusURL)).with("Content-Length", fmt.Sprint(len(file.data))).
			with("Tus-Resumable", tusVersion).with("Upload-Offset", "0").with("Content-Type", tusContentType)
		if _, err := io.WriteString(lost.connection, m.String()+string(file.data[:part])); err != nil {
			t.Fatal(err)
		}
		s.untilBusy(t, declared)
		s.until(t, "the lost connection keeps the upload", func() bool { return s.tusRequest(http.MethodHead, declared, nil, "").StatusCode == http.StatusOK })
		if a := lost.read(); a == nil || a.StatusCode != http.StatusBadRequest {
			t.Errorf("the lost connection: %+v", a)
		}
	}
	begun := s.dial() // with its first bytes, so that it never learns of a place to ask
	m := s.unsigned(http.MethodPost, s.target(declared.Upload.TusURL)).with("Content-Length", fmt.Sprint(len(file.data))).
		with("Tus-Resumable", tusVersion).with("Upload-Length", fmt.Sprint(len(file.data))).with("Content-Type", tusContentType)
	if _, err := io.WriteString(begun.connection, m.String()+string(file.data[:half])); err != nil {
		t.Fatal(err)
	}
	s.untilBusy(t, declared)
	mustBe(t, "begun again", s.tusRequest(http.MethodPost, declared, http.Header{"Upload-Length": {fmt.Sprint(len(file.data))}}, string(file.data[:half])), http.StatusCreated)
	offset, err := strconv.Atoi(s.tusRequest(http.MethodHead, declared, nil, "").Header.Get("Upload-Offset"))
	if err != nil || offset > half {
		t.Fatalf("%d bytes: %v", offset, err)
	}
	mustBe(t, "the rest", s.tusRequest(http.MethodPatch, declared, at(offset), string(file.data[offset:])), http.StatusNoContent)
}

func TestBadTusRequests(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	size := len(file.data)
	mustBe(t, "the first part", s.tusRequest(http.MethodPatch, declared, at(0), string(file.data[:1000])), http.StatusNoContent)
	next := string(file.data[1000:1100])
	for name, row := range map[string]struct {
		a      answer
		status int
		code   sortie.Code
	}{
		"no version":             {s.tusRequest(http.MethodHead, declared, http.Header{"Tus-Resumable": nil}, ""), 412, ""},
		"another version":        {s.tusRequest(http.MethodPatch, declared, http.Header{"Tus-Resumable": {"0.2.2"}, "Upload-Offset": {"1000"}}, next), 412, ""},
		"too early":              {s.tusRequest(http.MethodPatch, declared, at(999), next), 409, sortie.CodeWrongState},
		"too late":               {s.tusRequest(http.MethodPatch, declared, at(1001), next), 409, sortie.CodeWrongState},
		"no offset":              {s.tusRequest(http.MethodPatch, declared, nil, next), 400, sortie.CodeInvalidRequest},
		"two offsets":            {s.tusRequest(http.MethodPatch, declared, http.Header{"Upload-Offset": {"1000", "1000"}}, next), 400, sortie.CodeInvalidRequest},
		"an offset below 0":      {s.tusRequest(http.MethodPatch, declared, at(-1), next), 400, sortie.CodeInvalidRequest},
		"an offset of 2^63":      {s.tusRequest(http.MethodPatch, declared, http.Header{"Upload-Offset": {"9223372036854775808"}}, next), 400, sortie.CodeInvalidRequest},
		"an offset in hex":       {s.tusRequest(http.MethodPatch, declared, http.Header{"Upload-Offset": {"0x3e8"}}, next), 400, sortie.CodeInvalidRequest},
		"an offset with a sign":  {s.tusRequest(http.MethodPatch, declared, http.Header{"Upload-Offset": {"+1000"}}, next), 400, sortie.CodeInvalidRequest},
		"another type":           {s.tusRequest(http.MethodPatch, declared, http.Header{"Upload-Offset": {"1000"}, "Content-Type": {"image/jpeg"}}, next), 415, sortie.CodeUnsupportedMediaType},
		"compressed":             {s.tusRequest(http.MethodPatch, declared, http.Header{"Upload-Offset": {"1000"}, "Content-Encoding": {"gzip"}}, next), 415, sortie.CodeUnsupportedMediaType},
		"more than is left":      {s.tusRequest(http.MethodPatch, declared, at(1000), strings.Repeat("x", size)), 413, sortie.CodePayloadTooLarge},
		"another length":         {s.tusRequest(http.MethodPost, declared, http.Header{"Upload-Length": {fmt.Sprint(size - 1)}}, ""), 422, sortie.CodeValidationFailed},
		"a greater length":       {s.tusRequest(http.MethodPost, declared, http.Header{"Upload-Length": {fmt.Sprint(size + 1)}}, ""), 413, sortie.CodePayloadTooLarge},
		"no length":              {s.tusRequest(http.MethodPost, declared, nil, ""), 400, sortie.CodeInvalidRequest},
		"a deferred length":      {s.tusRequest(http.MethodPost, declared, http.Header{"Upload-Defer-Length": {"1"}}, ""), 400, sortie.CodeInvalidRequest},
		"another method, hidden": {s.tusRequest(http.MethodPost, declared, http.Header{"X-Http-Method-Override": {"GET"}}, ""), 400, sortie.CodeInvalidRequest},
		"PUT":                    {s.tusRequest(http.MethodPut, declared, nil, next), 405, sortie.CodeMethodNotAllowed},
		"GET":                    {s.tusRequest(http.MethodGet, declared, nil, ""), 405, sortie.CodeMethodNotAllowed},
		"HEAD with a body":       {s.tusRequest(http.MethodDelete, declared, nil, "x"), 400, sortie.CodeInvalidRequest},
	} {
		if row.a.StatusCode != row.status || row.a.code() != row.code || row.a.Header.Get("Tus-Resumable") != tusVersion {
			t.Errorf("%s: %d %v %s, want %d %s", name, row.a.StatusCode, row.a.Header, row.a.body, row.status, row.code)
		}
		if row.status == http.StatusPreconditionFailed && (row.a.Header.Get("Tus-Version") != tusVersion || len(row.a.body) != 0) {
			t.Errorf("%s: got %v %s, want Tus-Version and no body", name, row.a.Header, row.a.body)
		}
	}
	s.holds(t, declared, 1000)
	surplus := s.unsigned(http.MethodPatch, s.target(declared.Upload.TusURL)).with("Tus-Resumable", tusVersion).with("Upload-Offset", "1000").with("Content-Type", tusContentType)
	surplus.body = string(file.data[1000:]) + "x"
	w := s.dial()
	w.write(surplus.chunked().String())
	if a := w.read(); a == nil || a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a byte more than is left, in chunks: %+v", a)
	}
	s.holds(t, declared, 1000)
	forged := declared
	links := *declared.Upload
	forged.Upload = &links
	forged.Upload.TusURL += "x"
	for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		a := s.roundTrip(s.build(testRequest{method: method, target: s.target(forged.Upload.TusURL), unsigned: true, header: http.Header{"Tus-Resumable": {tusVersion}}}))
		if a.StatusCode != http.StatusForbidden {
			t.Errorf("%s by a changed link: %d", method, a.StatusCode)
		}
	}
	s.isWaiting(t, declared.SubmissionID)
}

// Other ways to send a file, or to send it again.
func TestOtherWaysOfTus(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	size := len(file.data)
	length := http.Header{"Upload-Length": {fmt.Sprint(size)}}
	a := s.tusRequest(http.MethodPost, declared, length, string(file.data[:100]))
	if a.StatusCode != http.StatusCreated || a.Header.Get("Upload-Offset") != "100" {
		t.Errorf("created with the first bytes: got %d %v, want 201", a.StatusCode, a.Header)
	}
	a = s.tusRequest(http.MethodPost, declared, http.Header{"X-Http-Method-Override": {"PATCH"}, "Upload-Offset": {"100"}}, string(file.data[100:200]))
	if a.StatusCode != http.StatusNoContent || a.Header.Get("Upload-Offset") != "200" {
		t.Errorf("patched by POST: got %d %v, want 204", a.StatusCode, a.Header)
	}
	mustBe(t, "begun anew", s.tusRequest(http.MethodPost, declared, length, ""), http.StatusCreated)
	s.holds(t, declared, 0)
	mustBe(t, "a part", s.tusRequest(http.MethodPatch, declared, at(0), string(file.data[:300])), http.StatusNoContent)
	mustBe(t, "dropped", s.tusRequest(http.MethodDelete, declared, nil, ""), http.StatusNoContent)
	s.holds(t, declared, 0)
	mustBe(t, "a part again", s.tusRequest(http.MethodPatch, declared, at(0), string(file.data[:300])), http.StatusNoContent)
	mustBe(t, "all of it by PUT", s.put(declared.Upload.PutURL, file.data), http.StatusOK)
	s.holds(t, declared, size)
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		if a := s.tusRequest(method, declared, length, ""); a.StatusCode != http.StatusConflict || a.code() != sortie.CodeWrongState {
			t.Errorf("%s when all is there: got %d %s, want 409 wrong_state", method, a.StatusCode, a.body)
		}
	}
	s.chain.check()
	if own := s.submission(declared.SubmissionID); own.Status != sortie.SubmissionAccepted {
		t.Errorf("own submission: got %+v, want it accepted", own)
	}
}

// A wrong last part is recognized by the hash, and rejects the submission.
func TestResumableUploadsOfAnotherFile(t *testing.T) {
	t.Parallel()
	s, file, declared := awaiting(t, serviceOptions{})
	other := bytes.Repeat([]byte{0xaa}, len(file.data))
	if a := s.tusRequest(http.MethodPatch, declared, at(0), string(other)); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("another file: got %d %s, want 422", a.StatusCode, a.body)
	}
	if own := s.submission(declared.SubmissionID); own.Status != sortie.SubmissionRejected {
		t.Errorf("own submission: got %+v, want it rejected", own)
	}
}

func TestTusDiscovery(t *testing.T) {
	t.Parallel()
	s, _, declared := awaiting(t, serviceOptions{})
	a := s.send(preflight(s.target(declared.Upload.TusURL), http.MethodPatch, page))
	for name, want := range map[string]string{
		"Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Extension": "creation,creation-with-upload,termination,expiration", "Tus-Max-Size": fmt.Sprint(sortie.MaxUploadBytes),
		"Allow": "POST, HEAD, PATCH, DELETE, OPTIONS", "Access-Control-Allow-Methods": "POST, HEAD, PATCH, DELETE, OPTIONS", "Access-Control-Allow-Origin": "*",
	} {
		if got := a.Header.Get(name); got != want || a.StatusCode != http.StatusNoContent {
			t.Errorf("%d, %s is %q, want %q", a.StatusCode, name, got, want)
		}
	}
	if a := s.send(preflight(s.target(declared.Upload.PutURL), http.MethodPut, page)); a.Header.Get("Access-Control-Allow-Methods") != "PUT, OPTIONS" || a.Header.Get("Tus-Resumable") != "" {
		t.Errorf("preflight of a PUT: got headers %v, want PUT, OPTIONS and no tus", a.Header)
	}
}
