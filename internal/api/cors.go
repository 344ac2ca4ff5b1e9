package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sortie-labs/sortie"
)

// The request headers that pages of allowed origins may send, and the response headers that they
// may read.
var (
	sendableHeaders = strings.Join([]string{
		"Content-Type", sortie.HeaderIdempotencyKey, sortie.HeaderWallet, sortie.HeaderTimestamp, sortie.HeaderSignature,
		"If-Match", "If-None-Match", "If-Range", "Range",
		"Tus-Resumable", "Upload-Length", "Upload-Metadata", "Upload-Offset", "X-HTTP-Method-Override", "X-Requested-With",
	}, ", ")
	readableHeaders = strings.Join([]string{
		"Idempotent-Replayed", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id",
		"Accept-Ranges", "Content-Disposition", "Content-Range", "ETag",
		"Tus-Extension", "Tus-Max-Size", "Tus-Resumable", "Tus-Version", "Upload-Expires", "Upload-Length", "Upload-Offset",
	}, ", ")
)

// allowOrigin sets the CORS headers that let pages of the allowed origins read the answer.
func (s *Server) allowOrigin(req *request) {
	if len(s.config.AllowedOrigins) == 0 {
		return
	}
	header := req.Header()
	header.Add("Vary", "Origin") // also for a request without Origin: a cache must not reuse its answer for a page
	origin := req.http.Header.Get("Origin")
	switch {
	case origin == "":
		return
	case slices.Contains(s.config.AllowedOrigins, "*"):
		header.Set("Access-Control-Allow-Origin", "*")
	case slices.Contains(s.config.AllowedOrigins, origin):
		header.Set("Access-Control-Allow-Origin", origin)
	default:
		return
	}
	header.Set("Access-Control-Expose-Headers", readableHeaders)
}

// preflight answers OPTIONS: the CORS preflight of a browser, and the discovery of a tus client.
func (s *Server) preflight(req *request, found *resource) error {
	header := req.Header()
	header.Set("Allow", found.methods())
	if found.routes[0].tus {
		header.Set("Tus-Version", tusVersion)
		header.Set("Tus-Extension", tusExtensions)
		header.Set("Tus-Max-Size", strconv.Itoa(sortie.MaxUploadBytes))
	}
	if header.Get("Access-Control-Allow-Origin") != "" {
		header.Set("Access-Control-Allow-Methods", found.methods())
		header.Set("Access-Control-Allow-Headers", sendableHeaders)
		header.Set("Access-Control-Max-Age", "600")
	}
	return req.answerEmpty(http.StatusNoContent)
}
