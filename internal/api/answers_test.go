package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/spec"
)

const page = "https://app.example"

// preflight is the request that a browser sends before a page may send a signed request.
func preflight(target, method, origin string) testRequest {
	return testRequest{method: http.MethodOptions, target: target, unsigned: true, header: http.Header{
		"Origin": {origin}, "Access-Control-Request-Method": {method},
		"Access-Control-Request-Headers": {"content-type,idempotency-key,x-service-signature,x-service-timestamp,x-service-wallet"},
	}}
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for target, methods := range map[string]string{
		draftsPath: "POST, OPTIONS", previewPath: "POST, OPTIONS", listPath: "GET, OPTIONS", listPath + "/x": "GET, OPTIONS",
		listPath + "/x/doctor": "GET, OPTIONS", listPath + "/x/confirm-funding": "POST, OPTIONS", eventsPath: "GET, OPTIONS",
		reviewsPath: "GET, OPTIONS", decidePath + "/x/approve": "POST, OPTIONS", decidePath + "/x/reject": "POST, OPTIONS",
		auditPath: "GET, OPTIONS", chainPath: "GET, OPTIONS", reconcilePath: "POST, OPTIONS", incidentsPath + "/x/clear": "POST, OPTIONS",
		"/healthz": "GET, HEAD, OPTIONS", "/": "GET, HEAD, OPTIONS",
	} {
		a := s.send(preflight(target, "POST", page))
		if a.StatusCode != http.StatusNoContent || len(a.body) != 0 {
			t.Errorf("preflight of %s: got %d %s, want 204 without a body", target, a.StatusCode, a.body)
		}
		for name, want := range map[string]string{
			"Allow": methods, "Access-Control-Allow-Methods": methods, "Access-Control-Allow-Origin": "*", "Access-Control-Max-Age": "600",
			"Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Service-Wallet, X-Service-Timestamp, X-Service-Signature, If-Match, If-None-Match, If-Range, Range, " +
				"Tus-Resumable, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, X-Requested-With",
			"Access-Control-Allow-Credentials": "",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
		plain := s.send(testRequest{method: http.MethodOptions, target: target, unsigned: true})
		if plain.StatusCode != http.StatusNoContent || plain.Header.Get("Allow") != methods || plain.Header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s without an origin: got %d %v, want 204", target, plain.StatusCode, plain.Header)
		}
	}
	mustBe(t, "unknown path", s.send(preflight("/nowhere", "GET", page)), http.StatusNotFound)
}

// Pages may read every answer, errors included, and its headers.
func TestPagesMayReadAnswers(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{limits: &Limits{WalletReads: 1}})
	from := http.Header{"Origin": {page}}
	for name, row := range map[string]struct {
		testRequest
		status int
	}{
		"created":          {testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission, header: from}, http.StatusCreated},
		"refused":          {testRequest{target: listPath, unsigned: true, header: from}, http.StatusUnauthorized},
		"unknown path":     {testRequest{target: "/nowhere", unsigned: true, header: from}, http.StatusNotFound},
		"unknown method":   {testRequest{method: http.MethodDelete, target: draftsPath, unsigned: true, header: from}, http.StatusMethodNotAllowed},
		"not acceptable":   {testRequest{method: http.MethodPost, target: draftsPath, body: goodMission, header: http.Header{"Origin": {page}, "Content-Type": {"text/plain"}}}, http.StatusUnsupportedMediaType},
		"public":           {testRequest{target: "/healthz", unsigned: true, header: from}, http.StatusOK},
		"a page on a disk": {testRequest{target: "/healthz", unsigned: true, header: http.Header{"Origin": {"null"}}}, http.StatusOK},
	} {
		a := s.send(row.testRequest)
		mustBe(t, name, a, row.status)
		if a.Header.Get("Access-Control-Allow-Origin") != "*" || a.Header.Get("Vary") != "Origin" ||
			a.Header.Get("Access-Control-Expose-Headers") != "Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, "+
				"Accept-Ranges, Content-Disposition, Content-Range, ETag, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Expires, Upload-Length, Upload-Offset" {
			t.Errorf("%s: got headers %v, want every origin and all readable headers", name, a.Header)
		}
	}
	mustBe(t, "the last read", s.send(testRequest{target: listPath, header: from}), http.StatusOK)
	if a := s.send(testRequest{target: listPath, header: from}); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("limited: got %d %v, want 429", a.StatusCode, a.Header)
	}
}

func TestOnlyAllowedPagesMayReadAnswers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		allowed []string
		origin  string
		want    string
	}{
		"allowed":          {[]string{"https://other.example", page}, page, page},
		"not allowed":      {[]string{page}, "https://evil.example", ""},
		"longer":           {[]string{page}, page + ".evil.example", ""},
		"without TLS":      {[]string{page}, "http://app.example", ""},
		"another port":     {[]string{page}, page + ":8443", ""},
		"in capitals":      {[]string{page}, "https://APP.example", ""},
		"null":             {[]string{page}, "null", ""},
		"none are allowed": {nil, page, ""},
		"no origin":        {[]string{page}, "", ""},
	} {
		s := newService(t, serviceOptions{config: func(config *Config) { config.AllowedOrigins = row.allowed }})
		for _, r := range []testRequest{preflight(draftsPath, "POST", row.origin), {target: listPath, header: http.Header{"Origin": {row.origin}}}} {
			if row.origin == "" {
				r.header.Del("Origin")
			}
			a := s.send(r)
			if got := a.Header.Get("Access-Control-Allow-Origin"); got != row.want {
				t.Errorf("%s %s: got Access-Control-Allow-Origin %q, want %q", name, r.method, got, row.want)
			}
			if hasExposed := a.Header.Get("Access-Control-Expose-Headers") != ""; hasExposed != (row.want != "") {
				t.Errorf("%s: got headers %v, want readable headers for an allowed origin only: %t", name, a.Header, row.want != "")
			}
			if row.allowed != nil && a.Header.Get("Vary") != "Origin" {
				t.Errorf("%s: a cache would mix up pages: %v", name, a.Header)
			}
		}
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	s.create("k1", goodMission) // a list of one is large enough
	for accepted, want := range map[string]bool{
		"gzip": true, "GZIP": true, "deflate, gzip": true, "br;q=1.0, gzip;q=0.8, *;q=0.1": true, "gzip;q=0.001": true, " gzip ; q=1": true,
		"": false, "identity": false, "br": false, "gzip;q=0": false, "gzip; q=0.000": false, "gzip;Q=0": false, "x-gzip": false, "gzipped": false,
	} {
		a := s.send(testRequest{target: listPath, header: http.Header{"Accept-Encoding": {accepted}}})
		isGzip := a.Header.Get("Content-Encoding") == "gzip"
		if isGzip != want || a.StatusCode != http.StatusOK {
			t.Errorf("Accept-Encoding %q: got %d %v, want 200, compressed: %t", accepted, a.StatusCode, a.Header, want)
		}
		if !strings.Contains(strings.Join(a.Header.Values("Vary"), ", "), "Accept-Encoding") {
			t.Errorf("%q: Vary %q", accepted, a.Header.Values("Vary"))
		}
		if isGzip {
			a.body = gunzip(t, a.body)
		}
		if list := decode[sortie.DraftList](t, a); len(list.Drafts) != 1 {
			t.Errorf("Accept-Encoding %q: got %s, want one draft", accepted, a.body)
		}
	}
	asks := http.Header{"Accept-Encoding": {"gzip"}}
	for name, r := range map[string]testRequest{
		"a small answer":      {target: "/healthz", unsigned: true, header: asks},
		"a small error":       {target: listPath + "/x", header: asks},
		"an answer to a POST": {method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission, header: asks},
	} {
		if a := s.send(r); a.Header.Get("Content-Encoding") != "" || a.ContentLength != int64(len(a.body)) {
			t.Errorf("%s is compressed: %v", name, a.Header)
		}
	}
}

func gunzip(t *testing.T, compressed []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// HEAD answers what GET does, without the body.
func TestHead(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for _, path := range []string{"/healthz", "/readyz", "/openapi.yaml", "/docs"} {
		get, head := s.send(testRequest{target: path, unsigned: true}), s.send(testRequest{method: http.MethodHead, target: path, unsigned: true})
		if head.StatusCode != get.StatusCode || len(head.body) != 0 || head.Header.Get("Content-Length") != get.Header.Get("Content-Length") ||
			head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("%s: GET %d %v\nHEAD %d %v", path, get.StatusCode, get.Header, head.StatusCode, head.Header)
		}
	}
	for path, status := range map[string]int{"/": http.StatusFound, "/metrics": http.StatusOK, "/nowhere": http.StatusNotFound, listPath: http.StatusMethodNotAllowed} {
		if a := s.send(testRequest{method: http.MethodHead, target: path, unsigned: true}); a.StatusCode != status || len(a.body) != 0 {
			t.Errorf("HEAD %s: got %d %s, want %d without a body", path, a.StatusCode, a.body, status)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		Health
		alive, ready int
		body         string
	}{
		"all well":    {Health{true, false, map[string]string{"chain": "ok", "database": "ok"}}, 200, 200, `{"ok":true,"status":"ok","parts":{"chain":"ok","database":"ok"}}`},
		"no sender":   {Health{true, false, map[string]string{"chain": "ok", "sender": "off"}}, 200, 200, `{"ok":true,"status":"ok","parts":{"chain":"ok","sender":"off"}}`},
		"a node away": {Health{true, false, map[string]string{"chain": "unavailable", "database": "ok"}}, 200, 200, `{"ok":true,"status":"degraded","parts":{"chain":"unavailable","database":"ok"}}`},
		"not ready":   {Health{false, false, map[string]string{"chain": "ok", "database": "unavailable"}}, 200, 503, `{"ok":false,"status":"unavailable","parts":{"chain":"ok","database":"unavailable"}}`},
		"halted":      {Health{true, true, map[string]string{"chain": "halted", "database": "ok"}}, 503, 200, `{"ok":true,"status":"halted","parts":{"chain":"halted","database":"ok"}}`},
		"both":        {Health{false, true, map[string]string{"chain": "halted", "database": "unavailable"}}, 503, 503, `{"ok":false,"status":"unavailable","parts":{"chain":"halted","database":"unavailable"}}`},
	} {
		s := newService(t, serviceOptions{config: func(config *Config) { config.Health = func(context.Context) Health { return row.Health } }})
		for path, status := range map[string]int{"/healthz": row.alive, "/readyz": row.ready} {
			a := s.send(testRequest{target: path, unsigned: true})
			if a.StatusCode != status || strings.TrimSpace(string(a.body)) != row.body || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: got %d %v %s, want %d %s and no-store", name, path, a.StatusCode, a.Header, a.body, status, row.body)
			}
		}
	}
}

// Metrics are labeled with routes, never with text that a client chooses.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	draft := s.create("k1", goodMission)
	s.create("k1", goodMission)
	s.send(testRequest{target: listPath + "/" + draft.DraftID})
	s.send(testRequest{target: listPath + "/" + draft.MissionID})
	s.send(testRequest{target: listPath + "/secret-path"})
	s.send(testRequest{target: "/secret-path", unsigned: true})
	s.send(testRequest{target: listPath + "?status=secret-path"})
	s.send(testRequest{method: "SECRETMETHOD", target: listPath, unsigned: true})
	for line, want := range map[string]string{
		`sortie_http_requests_total{code="201",route="POST /api/external/missions/drafts"}`: "1",
		`sortie_http_requests_total{code="200",route="POST /api/external/missions/drafts"}`: "1",
		`sortie_http_requests_total{code="200",route="GET /api/external/missions/{id}"}`:    "2",
		`sortie_http_requests_total{code="404",route="GET /api/external/missions/{id}"}`:    "1",
		`sortie_http_requests_total{code="400",route="GET /api/external/missions"}`:         "1",
		`sortie_http_requests_total{code="404",route="none"}`:                               "1",
		`sortie_http_requests_total{code="405",route="none"}`:                               "1",
		`sortie_http_request_seconds_count{route="POST /api/external/missions/drafts"}`:     "2",
		`sortie_http_panics_total`: "0",
	} {
		if got := s.metric(line); got != want {
			t.Errorf("%s is %q, want %s", line, got, want)
		}
	}
	a := s.send(testRequest{target: "/metrics", unsigned: true})
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("metrics: got headers %v, want text/plain and a request id", a.Header)
	}
	for _, secret := range []string{"secret", "SECRET", draft.DraftID, draft.MissionID, creator.Address().String(), "127.0.0.1"} {
		if strings.Contains(string(a.body), secret) {
			t.Errorf("got %q in the metrics, want it absent", secret)
		}
	}
}

// The document is compressed once, not for each request.
func TestTheOpenAPIDocumentIsCompressedOnce(t *testing.T) {
	t.Parallel()
	given := bytes.Clone(spec.OpenAPI)
	s := newService(t, serviceOptions{config: func(config *Config) { config.OpenAPI = given }})
	compressed := func() []byte {
		t.Helper()
		a := s.roundTrip(s.build(testRequest{target: "/openapi.yaml", unsigned: true, header: http.Header{"Accept-Encoding": {"gzip"}}}))
		if got := a.Header.Get("Content-Encoding"); got != "gzip" || a.ContentLength != int64(len(a.body)) {
			t.Fatalf("got Content-Encoding %q and length %d for %d bytes, want gzip with its length", got, a.ContentLength, len(a.body))
		}
		return a.body
	}
	first := compressed()
	reader, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(reader); err != nil || !bytes.Equal(plain, spec.OpenAPI) {
		t.Errorf("the compressed document: got %d bytes, error %v, want the %d bytes of the document", len(plain), err, len(spec.OpenAPI))
	}
	clear(given) // compressing it again would show
	if second := compressed(); !bytes.Equal(first, second) {
		t.Errorf("the second answer: got %d bytes that differ from the first %d, want the same", len(second), len(first))
	}
}

// Private metrics are served by Operations only. Health is served by both.
func TestPrivateMetrics(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{config: func(config *Config) { config.PrivateMetrics = true }})
	operations := httptest.NewServer(s.Config.Handler.(*Server).Operations())
	t.Cleanup(operations.Close)
	for path, want := range map[string][2]int{
		"/metrics": {404, 200}, "/healthz": {200, 200}, "/readyz": {200, 200}, "/api/missions": {200, 404}, "/docs": {200, 404}, "/": {302, 404},
	} {
		for i, base := range []string{s.URL, operations.URL} {
			built, err := http.NewRequest(http.MethodGet, base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.roundTrip(built).StatusCode; got != want[i] {
				t.Errorf("%s of %s: got %d, want %d", path, []string{"the API", "operations"}[i], got, want[i])
			}
		}
	}
}

func TestPublicPages(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	document := s.send(testRequest{target: "/openapi.yaml", unsigned: true})
	if document.StatusCode != http.StatusOK || !bytes.Equal(document.body, spec.OpenAPI) || document.Header.Get("Content-Type") != "application/yaml" {
		t.Errorf("/openapi.yaml: got %d %v, want 200 and the document", document.StatusCode, document.Header)
	}
	docs := s.send(testRequest{target: "/docs", unsigned: true})
	if docs.StatusCode != http.StatusOK || !strings.HasPrefix(docs.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("/docs: got %d %v, want 200 and a policy that forbids everything", docs.StatusCode, docs.Header)
	}
	home := s.send(testRequest{target: "/", unsigned: true})
	if home.StatusCode != http.StatusFound || home.Header.Get("Location") != "/docs" {
		t.Errorf("/: got %d %v, want 302 to /docs", home.StatusCode, home.Header)
	}
}

// Every answer has its own request id, and no cache may store a signed one.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	draft := s.create("k1", goodMission)
	seen := make(map[string]bool)
	for _, r := range []testRequest{
		{target: listPath}, {target: listPath + "/" + draft.DraftID}, {method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission},
		{method: http.MethodPost, target: previewPath, body: goodMission}, {target: listPath + "/" + draft.DraftID + "/doctor"},
		{method: http.MethodPost, target: listPath + "/" + draft.DraftID + "/confirm-funding"}, {target: eventsPath}, {target: reviewsPath},
		{target: chainPath, signer: reviewer}, {target: listPath, unsigned: true}, {target: "/nowhere"}, {target: "/healthz"},
		{target: "/docs"}, {target: "/openapi.yaml"}, {target: "/metrics"}, {target: "/"}, {method: http.MethodOptions, target: listPath}, {method: http.MethodDelete, target: listPath},
	} {
		r.header = http.Header{"X-Request-Id": {"req_chosen-by-the-client"}}
		a := s.send(r)
		id := a.Header.Get("X-Request-Id")
		if len(id) != len("req_")+24 || seen[id] || a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got headers %v, want a new request id and nosniff", r.target, a.Header)
		}
		seen[id] = true
		caching := "no-store"
		if r.target == "/docs" || r.target == "/openapi.yaml" {
			caching = docsCaching
		}
		if got := a.Header.Get("Cache-Control"); got != caching {
			t.Errorf("%s %s: Cache-Control %q, want %q", r.method, r.target, got, caching)
		}
	}
}
