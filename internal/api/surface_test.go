package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

func withBodyTimeout(timeout time.Duration) serviceOptions {
	return serviceOptions{config: func(config *Config) { config.BodyTimeout = timeout }}
}

// A wrong request line or header is refused before it reaches the API.
func TestRequestsThatHTTPRefuses(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	list := s.get(listPath)
	create := s.post(draftsPath, "k1", goodMission)
	const tooLarge = http.StatusRequestHeaderFieldsTooLarge
	many := list
	for i := range 2000 {
		many = many.and(fmt.Sprint("X-Header-", i), "value")
	}
	s.refuseAll(t, []badRequest{
		{name: "header line of 1 MB", text: list.and("X-Long", strings.Repeat("a", 1<<20)).String(), status: tooLarge, closes: true},
		{name: "2,000 headers", text: many.String(), status: tooLarge, closes: true},
		{name: "cookie of 32 KiB", text: list.and("Cookie", "a="+strings.Repeat("b", 32<<10)).String(), status: tooLarge, closes: true},
		{name: "header name with a space", text: list.and("X Name", "value").String(), status: http.StatusBadRequest, closes: true},
		{name: "space before the colon", text: list.and("X-Name ", "value").String(), status: http.StatusBadRequest, closes: true},
		{name: "header value with NUL", text: list.and("X-Name", "a\x00b").String(), status: http.StatusBadRequest, closes: true},
		{name: "target of 64 KiB", text: s.get("/" + strings.Repeat("a", 64<<10)).String(), status: tooLarge, closes: true},
		{name: "two lengths that differ", text: create.and("Content-Length", "5").and("Content-Length", "6").String(), status: http.StatusBadRequest, closes: true},
		{name: "negative length", text: create.and("Content-Length", "-1").String(), status: http.StatusBadRequest, closes: true},
		{name: "length of 2^64", text: create.and("Content-Length", "18446744073709551616").String(), status: http.StatusBadRequest, closes: true},
		{name: "length with a sign", text: create.and("Content-Length", "+5").String(), status: http.StatusBadRequest, closes: true},
		{name: "HTTP/0.9", text: "GET " + listPath + "\r\n\r\n", status: http.StatusBadRequest, closes: true},
		{name: "no Host", text: strings.Replace(list.String(), "Host: "+list.host+"\r\n", "", 1), status: http.StatusBadRequest, closes: true},
		{name: "two Hosts", text: list.and("Host", "evil.example").String(), status: http.StatusBadRequest, closes: true},
		{name: "unknown expectation", text: create.and("Expect", "200-maybe").String(), status: http.StatusExpectationFailed, closes: true},
	})
}

// Paths have one spelling. All others are 404 and never redirected, because a redirect would bypass
// the signature.
func TestOddPathsAreNotFound(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	var rows []badRequest
	for name, target := range map[string]string{
		"10,000 segments":             strings.Repeat("/a", 8000),
		"segments below a known path": listPath + strings.Repeat("/a", 5000),
		"NUL in the path":             listPath + "/%00",
		"NUL at the end of the path":  listPath + "%00",
		"escaped parent":              "/api/external/missions/%2e%2e%2fmissions",
		"escaped dot":                 "/api/%2e/external/missions",
		"escaped slash":               "/api/external%2Fmissions",
		"escaped letter":              "/api/external/mission%73",
		"escaped twice":               "/api/external/%252e%252e/missions",
		"doubled slashes":             "//api//external//missions",
		"doubled at the front":        "//api/external/missions",
		"doubled before the id":       listPath + "//drafts",
		"dot segments":                "/api/./external/../external/missions",
		"parent at the end":           listPath + "/..",
		"dot at the end":              listPath + "/.",
		"trailing slash":              listPath + "/",
		"trailing slash, drafts":      draftsPath + "/",
		"trailing slash, healthz":     "/healthz/",
		"trailing slash, docs":        "/docs/",
		"upper case":                  "/API/EXTERNAL/MISSIONS",
		"one capital":                 "/api/external/Missions",
		"backslash":                   `/api\external\missions`,
		"backslash, parent":           `/api/external/x\..\missions`,
		"escaped backslash":           "/api%5cexternal%5cmissions",
		"overlong dot":                "/api/%c0%ae/external/missions",
		"overlong slash":              "/api%c0%afexternal/missions",
		"overlong, not escaped":       "/api/\xc0\xae/external/missions",
		"semicolon parameter":         listPath + ";a=b",
		"nothing at all":              "/nowhere",
		"below a known path":          listPath + "/drafts/x",
		"below a mission":             listPath + "/x/doctors",
		"a doctor of nothing":         listPath + "//doctor",
		"the operators' front door":   "/api/operator",
		"a mission among operators":   decidePath + "/x",
		"an incident":                 incidentsPath + "/x",
		"an escaped doctor":           listPath + "/x/d%6fctor",
		"a review with a slash":       reviewsPath + "/",
	} {
		for _, m := range []message{s.get(target), s.post(target, "k1", goodMission)} {
			rows = append(rows, badRequest{name: name + " " + m.method, text: m.String(), status: http.StatusNotFound, code: sortie.CodeNotFound})
		}
	}
	s.refuseAll(t, rows)
}

func TestOddBodies(t *testing.T) {
	t.Parallel()
	s := newService(t, withBodyTimeout(2*patience))
	withBody := s.unsigned(http.MethodGet, listPath)
	withBody.body = goodMission
	signedEmpty := s.get(listPath)
	signedEmpty.body = goodMission
	create := s.post(draftsPath, "k1", goodMission)
	stream := func(body string) string {
		m := create.with("Transfer-Encoding", "chunked")
		m.body = body
		return m.String()
	}
	size := fmt.Sprintf("%x", len(goodMission))
	const invalid = sortie.CodeInvalidRequest
	s.refuseAll(t, []badRequest{
		{name: "GET with a body it signed", text: s.sign(withBody, creator).String(), status: 400, code: invalid, closes: true},
		{name: "GET with a body it did not sign", text: signedEmpty.String(), status: 400, code: invalid, closes: true},
		{name: "GET with a chunked body", text: signedEmpty.chunked().String(), status: 400, code: invalid, closes: true},
		{name: "POST without length or chunks", text: strings.Replace(create.String(), fmt.Sprintf("Content-Length: %d\r\n", len(goodMission)), "", 1), status: 401, code: sortie.CodeInvalidSignature},
		{name: "POST without a body", text: s.post(draftsPath, "k1", "").String(), status: 400, code: sortie.CodeInvalidJSON},
		{name: "length shorter than the body", text: create.and("Content-Length", "10").String(), status: 401, code: sortie.CodeInvalidSignature},
		{name: "chunk with bare LF", text: stream(size + "\n" + goodMission + "\n0\n\n"), status: 400, code: invalid, closes: true},
		{name: "bare LF in a chunk extension", text: stream(size + ";a\n" + goodMission + "\r\n0\r\n\r\n"), status: 400, code: invalid, closes: true},
		{name: "chunk size of 2^64", text: stream("10000000000000000\r\n" + goodMission), status: 400, code: invalid, closes: true},
		{name: "negative chunk size", text: stream("-1\r\n" + goodMission), status: 400, code: invalid, closes: true},
		{name: "chunks of 1 MB", text: stream("100000\r\n" + strings.Repeat(" ", 1<<20) + "\r\n0\r\n\r\n"), status: 413, code: sortie.CodePayloadTooLarge, closes: true},
		{name: "huge trailers", text: stream(size + "\r\n" + goodMission + "\r\n0\r\nX-Trailer: " + strings.Repeat("a", 1<<20) + "\r\n\r\n"), status: 400, code: invalid, closes: true},
		{name: "reconcile with a body", text: s.sign(s.post(reconcilePath, "", "{}").without(sortie.HeaderWallet), reviewer).String(), status: 400, code: invalid, closes: true},
		{name: "rejection without a type", text: s.sign(s.unsigned(http.MethodPost, decidePath+"/x/reject"), reviewer).String(), status: 415, code: sortie.CodeUnsupportedMediaType},
		{name: "approval as a form", text: s.sign(s.post(decidePath+"/x/approve", "", goodReason).with("Content-Type", "text/plain").without(sortie.HeaderWallet), reviewer).String(), status: 415, code: sortie.CodeUnsupportedMediaType, closes: true},
		{name: "reason of 17 KiB", text: s.sign(s.post(decidePath+"/x/reject", "", `{"reason":"`+strings.Repeat("x", 17<<10)+`"}`).without(sortie.HeaderWallet), reviewer).String(), status: 413, code: sortie.CodePayloadTooLarge, closes: true},
	})
}

// The service waits for a body that does not arrive, up to the body timeout, and closes the
// connection.
func TestBodiesThatNeverEnd(t *testing.T) {
	t.Parallel()
	s := newService(t, withBodyTimeout(200*time.Millisecond))
	create := s.post(draftsPath, "k1", goodMission)
	stream := func(body string) string {
		m := create.with("Transfer-Encoding", "chunked")
		m.body = body
		return m.String()
	}
	const invalid = sortie.CodeInvalidRequest
	s.refuseAll(t, []badRequest{
		{name: "length longer than the body", text: create.and("Content-Length", "1000").String(), status: 400, code: invalid, closes: true},
		{name: "chunk that never ends", text: stream(fmt.Sprintf("%x\r\n", len(goodMission)) + goodMission[:20]), status: 400, code: invalid, closes: true},
		{name: "GET with a body that never comes", text: s.get(listPath).and("Content-Length", "10").String(), status: 400, code: invalid, closes: true},
		{name: "healthz with a body", text: s.unsigned(http.MethodGet, "/healthz").and("Content-Length", "10").String(), status: 400, code: invalid, closes: true},
		{name: "chunk size of 2^63", text: stream("8000000000000000\r\n" + goodMission), status: 400, code: invalid, closes: true},
		{name: "doctor with a body", text: s.get(listPath+"/x/doctor").and("Content-Length", "2").String(), status: 400, code: invalid, closes: true},
		{name: "unknown path, body that never comes", text: s.post("/nowhere", "k1", "").and("Content-Length", "10").String(), status: 404, code: sortie.CodeNotFound, closes: true},
		{name: "other method, body that never comes", text: s.unsigned(http.MethodPut, draftsPath).and("Content-Length", "10").String(), status: 405, code: sortie.CodeMethodNotAllowed, closes: true},
		{name: "wrong type, body that never comes", text: create.with("Content-Type", "text/plain").with("Content-Length", "1000").String(), status: 415, code: sortie.CodeUnsupportedMediaType, closes: true},
	})
}

// A slow body is cut off by its deadline, not by the number of reads.
func TestSlowBodiesAreCutOff(t *testing.T) {
	t.Parallel()
	s := newService(t, withBodyTimeout(100*time.Millisecond))
	create := s.post(draftsPath, "k1", goodMission)
	w := s.dial()
	head, body, _ := strings.Cut(create.String(), "\r\n\r\n")
	if _, err := w.connection.Write([]byte(head + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	drip, stop := time.NewTicker(10*time.Millisecond), make(chan struct{})
	defer drip.Stop()
	go func() {
		for i := range len(body) - 1 {
			select {
			case <-drip.C:
				_, _ = w.connection.Write([]byte{body[i]})
			case <-stop:
				return
			}
		}
	}()
	a := w.read()
	close(stop)
	if a == nil || a.StatusCode != http.StatusBadRequest || a.code() != sortie.CodeInvalidRequest {
		t.Fatalf("slow body: got %+v, want 400 invalid_request", a)
	}
	checkError(t, *a)
	if !w.isClosed() {
		t.Error("the connection is still open")
	}
	s.storesNothing(t)
}

// A request with both lengths is read by its chunks, and the bytes after it are not taken for
// another request.
func TestNoRequestIsSmuggledAfterABody(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	smuggled := s.post(draftsPath, "smuggled", goodMission).String()
	for name, text := range map[string]string{
		"length shorter than the chunks": s.post(previewPath, "", goodMission).and("Content-Length", "6").chunked().String() + smuggled,
		"chunks shorter than the length": s.post(previewPath, "", goodMission).and("Content-Length", "9999").chunked().String() + smuggled,
		"after a GET with a body":        s.get(listPath).and("Content-Length", fmt.Sprint(len(smuggled))).String() + smuggled,
		"after a refused type":           s.post(previewPath, "", "").with("Content-Type", "text/plain").and("Content-Length", "5").String() + "12345" + smuggled,
	} {
		t.Run(name, func(t *testing.T) {
			w := s.dial()
			w.write(text)
			if a := w.read(); a == nil || a.StatusCode >= 500 {
				t.Fatalf("got %+v, want an answer below 500", a)
			}
			if next := w.read(); next != nil {
				t.Errorf("a second answer: %d %s", next.StatusCode, next.body)
			}
			s.storesNothing(t)
		})
	}
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	w := s.dial()
	for range 3 {
		w.write(s.post(previewPath, "", goodMission).String() + s.get(listPath).String() + s.get("/nowhere").String())
		for _, status := range []int{http.StatusOK, http.StatusOK, http.StatusNotFound} {
			if a := w.read(); a == nil || a.StatusCode != status {
				t.Fatalf("%+v, want %d", a, status)
			}
		}
	}
}

func TestOddMethods(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	type row struct{ name, method, target, allow string }
	for _, r := range []row{
		{"TRACE", "TRACE", listPath, "GET, OPTIONS"},
		{"CONNECT to a path", "CONNECT", listPath, "GET, OPTIONS"},
		{"DELETE on drafts", "DELETE", draftsPath, "POST, OPTIONS"},
		{"get in small letters", "get", listPath, "GET, OPTIONS"},
		{"GET on drafts", "GET", draftsPath, "POST, OPTIONS"},
		{"HEAD on a signed path", "HEAD", listPath, "GET, OPTIONS"},
		{"POST on the list", "POST", listPath, "GET, OPTIONS"},
		{"PATCH on a mission", "PATCH", listPath + "/draft_0123456789abcdefghjkmnpqrs", "GET, OPTIONS"},
		{"GET on confirm-funding", "GET", listPath + "/draft_0123456789abcdefghjkmnpqrs/confirm-funding", "POST, OPTIONS"},
		{"GET on an approval", "GET", decidePath + "/draft_0123456789abcdefghjkmnpqrs/approve", "POST, OPTIONS"},
		{"DELETE on an incident", "DELETE", incidentsPath + "/x/clear", "POST, OPTIONS"},
		{"HEAD on events", "HEAD", eventsPath, "GET, OPTIONS"},
		{"POST on healthz", "POST", "/healthz", "GET, HEAD, OPTIONS"},
		{"POST on the front door", "POST", "/", "GET, HEAD, OPTIONS"},
		{"a method of 1,000 letters", strings.Repeat("M", 1000), listPath, "GET, OPTIONS"},
	} {
		t.Run(r.name, func(t *testing.T) {
			w := s.dial()
			w.write(s.sign(s.unsigned(r.method, r.target).with("Connection", "close"), creator).String())
			if r.method == http.MethodHead { // its answer has no body
				response, err := http.ReadResponse(w.reader, &http.Request{Method: http.MethodHead})
				if err != nil || response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != r.allow {
					t.Errorf("got %+v, %v, want 405 and Allow: %s", response, err, r.allow)
				}
				return
			}
			a := w.read()
			if a == nil || a.StatusCode != http.StatusMethodNotAllowed || a.code() != sortie.CodeMethodNotAllowed || a.Header.Get("Allow") != r.allow {
				t.Fatalf("got %+v, want 405 and Allow: %s", a, r.allow)
			}
			checkError(t, *a)
			s.storesNothing(t)
		})
	}
	evil := s.get(listPath)
	evil.target = "http://evil.example" + listPath
	own := s.get(listPath)
	own.target = "http://" + own.host + listPath
	const invalid = sortie.CodeInvalidRequest
	s.refuseAll(t, []badRequest{
		{name: "CONNECT to a host", text: "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", status: 400, code: invalid},
		{name: "whole URL, foreign host", text: evil.String(), status: 400, code: invalid},
		{name: "whole URL, own host", text: own.String(), status: 400, code: invalid},
	})
}

func TestOddContentTypes(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	create := s.post(draftsPath, "k1", goodMission)
	var rows []badRequest
	for name, m := range map[string]message{
		"type text/plain": create.with("Content-Type", "text/plain"),
		"type of a form":  create.with("Content-Type", "application/x-www-form-urlencoded"),
		"type with application/json as its beginning": create.with("Content-Type", "application/json-seq"),
		"type of another JSON":                        create.with("Content-Type", "application/problem+json"),
		"no type":                                     create.without("Content-Type"),
		"empty type":                                  create.with("Content-Type", ""),
		"not a type":                                  create.with("Content-Type", "application/json; charset"),
		"charset UTF-16":                              create.with("Content-Type", "application/json; charset=utf-16"),
		"charset Latin-1":                             create.with("Content-Type", "application/json; charset=iso-8859-1"),
		"body in gzip":                                create.and("Content-Encoding", "gzip"),
		"body in gzip and identity":                   create.and("Content-Encoding", "gzip, identity"),
		"body in br":                                  create.and("Content-Encoding", "br"),
	} {
		rows = append(rows, badRequest{name: name, text: m.String(), status: http.StatusUnsupportedMediaType, code: sortie.CodeUnsupportedMediaType, closes: true})
	}
	s.refuseAll(t, rows)
	for _, contentType := range []string{"application/json; charset=UTF-8", "Application/JSON", `application/json;charset="utf-8"`} {
		w := s.dial()
		w.write(s.post(previewPath, "", goodMission).with("Content-Type", contentType).String())
		if a := w.read(); a == nil || a.StatusCode != http.StatusOK {
			t.Errorf("content type %s: got %+v, want 200", contentType, a)
		}
	}
}

// A client that disconnects leaves no partial state: either there is no draft, or the key returns
// it.
func TestClientsThatLeave(t *testing.T) {
	t.Parallel()
	logs := newLogBook()
	s := newService(t, serviceOptions{config: func(config *Config) { config.Logger = logs.logger() }})
	leave := func(text string) {
		t.Helper()
		w := s.dial()
		if _, err := w.connection.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		_ = w.connection.Close()
	}
	create := s.post(draftsPath, "k1", goodMission).String()
	leave(create[:len(create)-len(goodMission)])
	leave(create[:len(create)-1])
	for range 2 {
		if line := logs.next(t); line["status"] != 400.0 {
			t.Errorf("log line: got %v, want status 400", line)
		}
	}
	s.storesNothing(t)
	logs.next(t) // of the list

	leave(create)
	left := logs.next(t)
	a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission})
	switch wasStored := a.Header.Get("Idempotent-Replayed") == "true"; {
	case a.StatusCode != http.StatusCreated && a.StatusCode != http.StatusOK:
		t.Errorf("create again: got %d %s, want 200 or 201", a.StatusCode, a.body)
	case left["status"] == 201.0 && !wasStored:
		t.Error("a draft that was answered for is not there")
	}
	if list := decode[sortie.DraftList](t, s.send(testRequest{target: listPath})); len(list.Drafts) != 1 {
		t.Errorf("%d drafts", len(list.Drafts))
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	const count = 1000
	var all strings.Builder
	for i := range count { // the answer to an unknown method names it
		all.WriteString(s.unsigned(fmt.Sprint("METHOD", i), listPath).String())
	}
	w := s.dial()
	w.write(all.String())
	ids := make(map[string]bool)
	for i := range count {
		a := w.read()
		if a == nil {
			t.Fatalf("the connection was closed after %d answers, want %d", i, count)
		}
		if a.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(string(a.body), fmt.Sprintf(`support METHOD%d;`, i)) {
			t.Fatalf("request %d: got %d %s, want 405 that names METHOD%d", i, a.StatusCode, a.body, i)
		}
		ids[a.Header.Get("X-Request-Id")] = true
	}
	if len(ids) != count {
		t.Errorf("got %d different request ids, want %d", len(ids), count)
	}
}
