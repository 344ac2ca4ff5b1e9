package api

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

const maxMissionBody = 64 << 10

// request is one HTTP request and its response.
type request struct {
	http.ResponseWriter
	http    *http.Request
	route   string // for the metrics: a name that clients cannot make up
	err     error  // what the mux's handler came to
	id      string
	address netip.Prefix // of the client, as far as limits tell clients apart
	body    []byte
	wallet  sortie.Address // of signed routes
	base    string         // the URL that a signed request was signed for, up to its path
	digest  sortie.Hash    // what was signed
	query   url.Values
	status  int          // of the answer; 0 until it is written
	place   *uploadPlace // of an upload

	answered int // bytes of the answer, before compression
	rows     int // signed quotes in it
}

// Unwrap lets http.ResponseController reach the connection.
func (req *request) Unwrap() http.ResponseWriter { return req.ResponseWriter }

func newRequestID() string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	return "req_" + hex.EncodeToString(random[:])
}

// checkTarget refuses every spelling of a path but one. A path that a proxy, a cache and this
// server could read in different ways is how signatures get checked for one resource and used for
// another. There is no redirect to the right spelling, because it would have another signature.
func checkTarget(r *http.Request) error {
	if !strings.HasPrefix(r.RequestURI, "/") {
		return sortie.NewError(sortie.CodeInvalidRequest, "the request target must be a path; send it in origin form")
	}
	raw, _, _ := strings.Cut(r.RequestURI, "?")
	if len(raw) > 1024 || raw != r.URL.Path || strings.Contains(raw, `\`) || path.Clean(raw) != raw {
		return errUnknownPath()
	}
	return nil
}

func errUnknownPath() error {
	return sortie.NewError(sortie.CodeNotFound, "there is nothing at this path; the paths are listed at /docs")
}

// expectBody prepares for a body that may never be read, or never arrive. Its rest must not be
// taken for the next request, and must not keep the connection. When the body has been read,
// net/http lifts the deadline.
func (req *request) expectBody(timeout time.Duration) {
	req.Header().Set("Connection", "close")
	_ = http.NewResponseController(req).SetReadDeadline(time.Now().Add(timeout)) // only a writer without a connection cannot
}

// answerWithin gives the answer to a long upload time of its own.
func (req *request) answerWithin(timeout time.Duration) {
	_ = http.NewResponseController(req).SetWriteDeadline(time.Now().Add(timeout))
}

// readBody reads the whole body, bounded in size; expectBody has bounded the time. Requests without
// a body must really have none: a signature over the empty hash says so.
func (req *request) readBody(route route) error {
	limit := route.body
	switch {
	case limit == 0 && req.http.ContentLength != 0:
		return sortie.NewError(sortie.CodeInvalidRequest, "this %s request must not have a body", req.http.Method)
	case limit == 0, route.bodyOptional && req.http.ContentLength == 0:
		return nil
	}
	if err := checkContentType(req.http.Header); err != nil {
		return err
	}
	if req.http.ContentLength > limit {
		return errTooLarge(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(req.ResponseWriter, req.http.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return errTooLarge(limit)
	case err != nil:
		return sortie.NewError(sortie.CodeInvalidRequest, "the body did not arrive whole and in time; send the request again").Because(err)
	}
	req.body = body
	// A chunked request may have had a Content-Length as well, which net/http hides and a proxy in
	// front may have believed: its connection is not used again.
	if req.http.ContentLength > 0 {
		req.Header().Del("Connection")
	}
	return nil
}

func errTooLarge(limit int64) error {
	return sortie.NewError(sortie.CodePayloadTooLarge, "the body is larger than %d bytes", limit).Detail("limitBytes", limit)
}

func checkContentType(header http.Header) error {
	if encoding := header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return sortie.NewError(sortie.CodeUnsupportedMediaType, "send the body without Content-Encoding: the signature covers the bytes as they are sent")
	}
	mediaType, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset, hasCharset := parameters["charset"]
	if err != nil || mediaType != "application/json" || (hasCharset && !strings.EqualFold(charset, "utf-8")) {
		return sortie.NewError(sortie.CodeUnsupportedMediaType, "send the body as Content-Type: application/json in UTF-8")
	}
	return nil
}
