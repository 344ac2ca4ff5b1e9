package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/porttest"
)

// frontProxies are the proxies with a configuration in examples/, by name: the command that starts
// it, given its address, the service's address and the certificate.
var frontProxies = map[string]func(t *testing.T, listen, service string, cert certificate) *process{
	"nginx":   startNginx,
	"haproxy": startHAProxy,
}

// certificate is a TLS certificate for 127.0.0.1 in files, and a client that trusts it.
type certificate struct {
	chain, key, both string
	http             *http.Client
}

func newCertificate(t *testing.T) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	c := certificate{chain: filepath.Join(directory, "chain.pem"), key: filepath.Join(directory, "key.pem"), both: filepath.Join(directory, "both.pem")}
	chainText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey})
	for path, text := range map[string][]byte{c.chain: chainText, c.key: keyText, c.both: append(bytes.Clone(chainText), keyText...)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(chainText)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	t.Cleanup(transport.CloseIdleConnections)
	c.http = &http.Client{Timeout: patience, Transport: transport}
	return c
}

// shipped is an example file with the values of this test in place of the example values. Each must
// occur once.
func shipped(t *testing.T, path string, replacements ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "examples", path))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replacements); i += 2 {
		if n := strings.Count(string(text), replacements[i]); n != 1 {
			t.Fatalf("%s has %q %d times, want once", path, replacements[i], n)
		}
	}
	return []byte(strings.NewReplacer(replacements...).Replace(string(text)))
}

func program(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name} { // not on the PATH of ordinary users
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	t.Skipf("%s is not installed: apt-get install %s", name, name)
	return ""
}

// nginxMain is the main nginx configuration, for an ordinary user and a private directory.
const nginxMain = `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  include %[1]s/sortie.conf;
}
`

func startNginx(t *testing.T, listen, service string, cert certificate) *process {
	t.Helper()
	binary, home := program(t, "nginx"), t.TempDir()
	write(t, filepath.Join(home, "sortie.conf"), shipped(t, "nginx/sortie.conf",
		"127.0.0.1:8080;", service+";", "listen 443 ssl;", "listen "+listen+" ssl;", "api.example.com;", "127.0.0.1;",
		"/etc/ssl/sortie/fullchain.pem", cert.chain, "/etc/ssl/sortie/privkey.pem", cert.key))
	write(t, filepath.Join(home, "nginx.conf"), fmt.Appendf(nil, nginxMain, home))
	return spawn(t, nil, binary, "-p", home, "-e", "stderr", "-c", filepath.Join(home, "nginx.conf"))
}

func startHAProxy(t *testing.T, listen, service string, cert certificate) *process {
	t.Helper()
	binary, home := program(t, "haproxy"), t.TempDir()
	config := filepath.Join(home, "haproxy.cfg")
	write(t, config, shipped(t, "haproxy/haproxy.cfg",
		"bind :443 ", "bind "+listen+" ", "/etc/haproxy/sortie.pem", cert.both, "server sortie 127.0.0.1:8080", "server sortie "+service))
	return spawn(t, nil, binary, "-db", "-f", config)
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The example configurations pass everything on unchanged: early answers to large uploads, long
// signatures, and targets that a proxy might rewrite.
func TestShippedProxyConfigurations(t *testing.T) {
	t.Parallel()
	for name, start := range frontProxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program(t, name)
			f, cert := startWithProxy(t, start)
			t.Run("early answers to uploads arrive as they are", func(t *testing.T) { f.testEarlyAnswers(t, cert) })
			t.Run("a signature of 8 KiB passes", func(t *testing.T) { f.testLongSignature(t, cert) })
			t.Run("targets are passed on byte for byte", func(t *testing.T) { f.testTargets(t, cert) })
		})
	}
}

// startWithProxy starts a service whose clients use the proxy.
func startWithProxy(t *testing.T, start func(*testing.T, string, string, certificate) *process) (*following, certificate) {
	t.Helper()
	chain, cert, listen := startAnvil(t), newCertificate(t), porttest.Reserve(t)
	public := "https://" + listen
	environment := append(chain.keepingFiles(sqliteIn(t), t.TempDir()), "SORTIE_PUBLIC_URL="+public, "SORTIE_TRUSTED_PROXIES=127.0.0.1")
	service := startServe(t, environment...)
	front := start(t, listen, strings.TrimPrefix(service.url, "http://"), cert)
	front.await(t, "answer through the proxy", func() bool {
		response, err := cert.http.Get(public + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	f := &following{t: t, ctx: t.Context(), chain: chain, environment: environment, service: &server{service.process, public}, http: cert.http}
	f.creator, f.operator = f.client("creator"), f.client("operator")
	return f, cert
}

// testEarlyAnswers repeatedly sends files of 20 MB that the service answers before their end.
func (f *following) testEarlyAnswers(t *testing.T, cert certificate) {
	mission := f.publish(photoMission(2))
	done := f.submit("contributor1", mission, largePhoto(1, 20<<20))
	f.awaitStatus(done, sortie.SubmissionAccepted)
	open := f.declare("contributor2", mission, largePhoto(2, 20<<20))
	const rounds = 30
	for name, c := range map[string]struct {
		url    string
		size   int
		status int
		code   sortie.Code
	}{
		"a finished upload again":      {done.links.PutURL, len(done.data), http.StatusOK, ""},
		"a link that was made up":      {open.links.PutURL + "0", len(open.data), http.StatusForbidden, sortie.CodeMediaURLInvalid},
		"a file larger than declared":  {open.links.PutURL, len(open.data) + 1, http.StatusRequestEntityTooLarge, sortie.CodePayloadTooLarge},
		"a file smaller than declared": {open.links.PutURL, len(open.data) - 1, http.StatusUnprocessableEntity, sortie.CodeValidationFailed},
		"a path that does not exist":   {f.service.url + "/api/uploads", len(open.data), http.StatusNotFound, sortie.CodeNotFound},
	} {
		wrong := map[string]int{}
		for range rounds {
			status, code, err := put(t, cert, c.url, bytes.NewReader(make([]byte, c.size)))
			if err != nil || status != c.status || code != c.code {
				wrong[fmt.Sprintf("%d %s %v", status, code, err)]++
			}
		}
		if len(wrong) > 0 {
			t.Errorf("%s: of %d answers got %v, want %d %s", name, rounds, wrong, c.status, c.code)
		}
	}
}

// put reads the answer while it sends. Go's HTTP client sometimes drops an early answer when the
// connection is closed while it sends.
func put(t *testing.T, cert certificate, link string, body *bytes.Reader) (status int, code sortie.Code, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, link, body)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := tls.Dial("tcp", request.URL.Host, cert.http.Transport.(*http.Transport).TLSClientConfig)
	if err != nil {
		return 0, "", err
	}
	defer connection.Close()
	go func() { _ = request.Write(connection) }() // fails when the connection is closed after the answer
	response, err := http.ReadResponse(bufio.NewReader(connection), request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	return response.StatusCode, errorCode(t, response.Body), nil
}

// longSigner returns an invalid signature of the greatest allowed length. The service, not the
// proxy, must refuse it.
type longSigner struct{ wallet sortie.Address }

func (s longSigner) Address() sortie.Address { return s.wallet }

func (s longSigner) SignMessage(context.Context, []byte) ([]byte, error) {
	return bytes.Repeat([]byte{1}, 8<<10), nil
}

func (f *following) testLongSignature(t *testing.T, cert certificate) {
	client, err := sortie.NewClient(f.service.url, longSigner{f.creator.Wallet()}, sortie.WithAttempts(1), sortie.WithHTTPClient(cert.http))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Drafts(t.Context(), sortie.ListQuery{}); sortie.ErrorCode(err) != sortie.CodeInvalidSignature {
		t.Errorf("got %v, want invalid_signature from the service", err)
	}
}

// testTargets sends signed requests with targets that a proxy might clean up. The service refuses
// most of them, but not the signature.
func (f *following) testTargets(t *testing.T, cert certificate) {
	key, err := sortie.ParseKey(f.chain.key(t, "creator"))
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]struct {
		status int
		code   sortie.Code
	}{
		"/api/external/missions?limit=2":                      {http.StatusOK, ""},
		"/api/external/missions?limit=%32":                    {http.StatusOK, ""},
		"/api/external/missions?limit=2&":                     {http.StatusOK, ""},
		"/api/external/missions?a=%2F%2f..%2F&b=+%20;'()*&&c": {http.StatusBadRequest, sortie.CodeInvalidParameter},
		"/api/external/missions?a=//x/../y/./":                {http.StatusBadRequest, sortie.CodeInvalidParameter},
		"/api/external/missions?a=%C3%A9%ff":                  {http.StatusBadRequest, sortie.CodeInvalidParameter},
		"/api/external/missions?":                             {http.StatusOK, ""},
		"/api/external/missions/draft%2Fx/doctor":             {http.StatusNotFound, sortie.CodeNotFound},
		"/api/external/missions/%64raft":                      {http.StatusNotFound, sortie.CodeNotFound},
		"/api//external/missions":                             {http.StatusNotFound, sortie.CodeNotFound},
		"/api/external/../external/missions":                  {http.StatusNotFound, sortie.CodeNotFound},
		"/api/external/missions/":                             {http.StatusNotFound, sortie.CodeNotFound},
	} {
		text := sortie.Request{
			Method: http.MethodGet, URL: f.service.url + target, Wallet: key.Address().String(), Timestamp: fmt.Sprint(time.Now().Unix()),
		}
		signature, err := key.SignMessage(t.Context(), []byte(text.Text()))
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.service.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		path, query, _ := strings.Cut(target, "?")
		request.URL.Opaque, request.URL.RawQuery, request.URL.ForceQuery = path, query, strings.HasSuffix(target, "?")
		request.Header.Set(sortie.HeaderWallet, text.Wallet)
		request.Header.Set(sortie.HeaderTimestamp, text.Timestamp)
		request.Header.Set(sortie.HeaderSignature, sortie.Bytes(signature).String())
		response, err := cert.http.Do(request)
		if err != nil {
			t.Fatalf("send a request for %s: %v", target, err)
		}
		code := errorCode(t, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != want.status || code != want.code {
			t.Errorf("%s: got %d %s, want %d %s", target, response.StatusCode, code, want.status, want.code)
		}
	}
}
