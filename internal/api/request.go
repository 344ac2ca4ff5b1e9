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
	"github.com/sortie-labs/sortie/internal/app"
)

const maxMissionBody = 64 << 10

// request is one HTTP request and its response.
type request struct {
	http.ResponseWriter
	http     *http.Request
	route    string // for metrics: the method and the pattern, not the path
	err      error  // of the handler
	id       string
	address  netip.Prefix // of the client, for limits
	body     []byte
	wallet   sortie.Address // of signed routes
	base     string         // base URL that the request was signed for
	digest   sortie.Hash    // digest that was signed
	query    url.Values
	status   int             // of the answer; 0 until it is written
	inflight *inflightUpload // of an upload

	answered int // bytes of the answer, before compression
	rows     int // signed quotes in the answer
}

// Unwrap lets http.ResponseController reach the connection.
func (req *request) Unwrap() http.ResponseWriter { return req.ResponseWriter }

func newRequestID() string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	return "req_" + hex.EncodeToString(random[:])
}

// checkTarget refuses every path that is not in its canonical form. If a proxy, a cache and this
// server read a path differently, a signature could be checked for one resource and used for
// another. There is no redirect, because the canonical path would need another signature.
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
	return sortie.NewError(sortie.CodeNotFound, "no resource has this path; /docs lists the paths")
}

// expectBody closes the connection after the answer and sets a read deadline, because the body may
// not be read or may not arrive. After the whole body was read, net/http removes the deadline.
func (req *request) expectBody(timeout time.Duration) {
	req.Header().Set("Connection", "close")
	_ = http.NewResponseController(req).SetReadDeadline(time.Now().Add(timeout)) // fails only without a connection
}

// answerWithin sets the write deadline, after a long upload.
func (req *request) answerWithin(timeout time.Duration) {
	_ = http.NewResponseController(req).SetWriteDeadline(time.Now().Add(timeout))
}

// readBody reads the whole body up to the limit of the route; expectBody has set the deadline. A
// route without a body refuses one, because its signature covers the hash of an empty body.
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
		return sortie.NewError(sortie.CodeInvalidRequest, "the body is incomplete or arrived too late; send the request again").Because(err)
	}
	req.body = body
	// A chunked request may also have a Content-Length, which net/http hides and a proxy may have
	// used. So its connection is not reused.
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

// order returns the signed request as an operator's order.
func (req *request) order() app.Order {
	return app.Order{Operator: req.wallet, Request: req.digest}
}
