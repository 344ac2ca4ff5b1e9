package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	draftsPath  = "/api/external/missions/drafts"
	previewPath = "/api/external/missions/preview"
	listPath    = "/api/external/missions"
)

// message is a request as bytes on the wire. Client libraries would correct what these tests send
// wrong.
type message struct {
	method, target, host string
	headers              []string // whole lines
	body                 string
}

// unsigned returns a request without wallet headers.
func (s *testService) unsigned(method, target string) message {
	return message{method: method, target: target, host: s.Listener.Addr().String()}
}

// get returns a GET request signed by the creator.
func (s *testService) get(target string) message {
	return s.sign(s.unsigned(http.MethodGet, target), creator)
}

// post returns a POST request signed by the creator.
func (s *testService) post(target, key, body string) message {
	m := s.unsigned(http.MethodPost, target).with("Content-Type", "application/json")
	if key != "" {
		m = m.with(sortie.HeaderIdempotencyKey, key)
	}
	m.body = body
	return s.sign(m, creator)
}

// sign signs the message as it is, valid or not. It keeps a wallet and a timestamp that are already
// set.
func (s *testService) sign(m message, signer sortie.Signer) message {
	s.t.Helper()
	if m.header(sortie.HeaderWallet) == "" {
		m = m.with(sortie.HeaderWallet, signer.Address().String())
	}
	if m.header(sortie.HeaderTimestamp) == "" {
		m = m.with(sortie.HeaderTimestamp, strconv.FormatInt(s.clock.Now().Unix(), 10))
	}
	signature, err := signer.SignMessage(context.Background(), []byte(m.text()))
	if err != nil {
		s.t.Fatal(err)
	}
	return m.with(sortie.HeaderSignature, sortie.Bytes(signature).String())
}

// text returns the text to sign for the message.
func (m message) text() string {
	return sortie.Request{
		Method: m.method, URL: "http://" + m.host + m.target, IdempotencyKey: m.header(sortie.HeaderIdempotencyKey),
		BodySHA256: sortie.BodySHA256([]byte(m.body)), Wallet: m.header(sortie.HeaderWallet), Timestamp: m.header(sortie.HeaderTimestamp),
	}.Text()
}

// String returns the message with the length of its body, unless it has a Content-Length.
func (m message) String() string {
	lines := append([]string{m.method + " " + m.target + " HTTP/1.1", "Host: " + m.host}, m.headers...)
	if m.body != "" && !m.has("Content-Length") && !m.has("Transfer-Encoding") {
		lines = append(lines, "Content-Length: "+strconv.Itoa(len(m.body)))
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + m.body
}

// with replaces the value of a header.
func (m message) with(name, value string) message { return m.without(name).and(name, value) }

// and adds a header and keeps the existing ones.
func (m message) and(name, value string) message {
	m.headers = append(slices.Clone(m.headers), name+": "+value)
	return m
}

func (m message) without(name string) message {
	m.headers = slices.DeleteFunc(slices.Clone(m.headers), func(line string) bool { return strings.HasPrefix(line, name+":") })
	return m
}

func (m message) has(name string) bool {
	return slices.ContainsFunc(m.headers, func(line string) bool { return strings.HasPrefix(line, name+":") })
}

func (m message) header(name string) string {
	for _, line := range m.headers {
		if value, found := strings.CutPrefix(line, name+": "); found {
			return value
		}
	}
	return ""
}

// chunked returns the message with its body in one chunk.
func (m message) chunked() message {
	m = m.with("Transfer-Encoding", "chunked")
	m.body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(m.body), m.body)
	return m
}

// wire is a connection to the service.
type wire struct {
	t          testing.TB
	connection net.Conn
	reader     *bufio.Reader
}

func (s *testService) dial() *wire {
	s.t.Helper()
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connection.Close() })
	_ = connection.SetDeadline(time.Now().Add(patience))
	return &wire{s.t, connection, bufio.NewReader(connection)}
}

// write sends bytes in the background, because the service may answer and close before it has read
// all.
func (w *wire) write(text string) { go func() { _, _ = io.WriteString(w.connection, text) }() }

// read returns the next answer, or nil if the connection was closed without one.
func (w *wire) read() *answer {
	w.t.Helper()
	if _, err := w.reader.Peek(1); err != nil {
		if isTimeout(err) {
			w.t.Fatal("neither an answer nor a closed connection")
		}
		return nil
	}
	response, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		w.t.Fatalf("not an HTTP answer: %v", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatalf("the answer is cut: %v after %q", err, body)
	}
	return &answer{response, body}
}

// isClosed waits for the service to close the connection.
func (w *wire) isClosed() bool {
	_, err := w.reader.ReadByte()
	return err != nil && !isTimeout(err)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// badRequest is one row of a table of requests that must be refused.
type badRequest struct {
	name   string
	text   string // what is sent
	status int
	code   sortie.Code // empty: net/http refuses it before anything of ours sees it
	closes bool        // the connection must not be used again
}

// refuseAll sends each row on its own connection and checks the answer: it is an error of the API's
// form, redirects nowhere and leaves no state. A service whose timeouts are longer than patience
// shows that no answer waits for them.
func (s *testService) refuseAll(t *testing.T, rows []badRequest) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := s.dial()
			w.write(row.text)
			a := w.read()
			if row.closes && !w.isClosed() {
				t.Error("the connection is still open")
			}
			_ = w.connection.Close()
			if a == nil {
				t.Fatal("the connection was closed without an answer")
			}
			if a.StatusCode != row.status || a.code() != row.code {
				t.Errorf("%d %s, want %d %s", a.StatusCode, a.body, row.status, row.code)
			}
			if row.code != "" {
				checkError(t, *a)
			} else if a.Header.Get("Location") != "" {
				t.Errorf("it leads to %s", a.Header.Get("Location"))
			}
			s.storesNothing(t)
		})
	}
}

// checkError checks the form of an error.
func checkError(t testing.TB, a answer) {
	t.Helper()
	var envelope struct {
		OK    *bool
		Error *struct{ Message, RequestID string }
	}
	if err := json.Unmarshal(a.body, &envelope); err != nil || envelope.OK == nil || *envelope.OK || envelope.Error == nil || envelope.Error.Message == "" {
		t.Errorf("not the form of an error: %s", a.body)
		return
	}
	id := a.Header.Get("X-Request-Id")
	if !strings.HasPrefix(id, "req_") || envelope.Error.RequestID != id {
		t.Errorf("request id %q in the header, %q in the body", id, envelope.Error.RequestID)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Location": "",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
}

// storesNothing checks that no draft of the creator exists.
func (s *testService) storesNothing(t *testing.T) {
	t.Helper()
	if list := decode[sortie.DraftList](t, s.roundTrip(s.build(testRequest{target: listPath}))); !list.OK || len(list.Drafts) != 0 {
		t.Errorf("something was stored: %+v", list)
	}
}
