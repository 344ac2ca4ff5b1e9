package api

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// openMedia is a use case that returns the file of a link.
type openMedia func(ctx context.Context, id, variant, token string) (app.Media, error)

func (s *Server) deliveredMedia(req *request) error { return s.serveMedia(req, s.config.App.OpenMedia) }

// serveMedia sends the file of a link, or the requested range of it.
func (s *Server) serveMedia(req *request, open openMedia) error {
	id, variant := req.http.PathValue("submissionId"), req.http.PathValue("variant")
	media, err := open(req.http.Context(), id, variant, req.http.URL.RawQuery)
	if err != nil {
		return err
	}
	defer media.Close()
	tag := entityTag(media.Hash)
	chosen, asked := selectPart(req.http.Method, req.http.Header, tag, media.Size)
	if chosen == notSatisfiable {
		req.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(media.Size, 10))
		return sortie.NewError(sortie.CodeRangeNotSatisfiable, "the range is outside the file, which has %d bytes", media.Size)
	}
	header := req.Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, max-age="+strconv.FormatInt(max(0, int64(media.ExpiresAt.Sub(s.config.Now()).Seconds())), 10))
	switch chosen {
	case notModified:
		return req.answerEmpty(http.StatusNotModified)
	case notMatched:
		return req.answerEmpty(http.StatusPreconditionFailed)
	}
	return s.sendMedia(req, media, mediaName(id, variant), chosen, asked)
}

func (s *Server) sendMedia(req *request, media app.Media, name string, chosen selection, asked part) error {
	// HTML and SVG have no extension and are never served: a browser that opens a link must find
	// nothing to run.
	extension := sortie.FileExtension(media.ContentType)
	if extension == "" {
		return fmt.Errorf("serve media %s: content type %q is not allowed", media.Hash, media.ContentType)
	}
	var stream io.ReadCloser
	if media.File == nil && req.http.Method != http.MethodHead {
		var err error
		if stream, err = media.Open(req.http.Context(), asked.offset, asked.length); err != nil {
			return err
		}
		defer stream.Close()
	}
	header := req.Header()
	header.Set("Accept-Ranges", "bytes")
	header.Set("Content-Type", media.ContentType)
	header.Set("Content-Disposition", `inline; filename="`+name+extension+`"`)
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	header.Set("Content-Length", strconv.FormatInt(asked.length, 10))
	req.status = http.StatusOK
	if chosen == partOfFile {
		req.status = http.StatusPartialContent
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", asked.offset, asked.offset+asked.length-1, media.Size))
	}
	req.WriteHeader(req.status)
	if req.http.Method == http.MethodHead {
		return nil
	}
	sent, err := req.sendMedia(media, stream, asked, s.config.StallTimeout)
	s.metrics.served.Add(float64(sent))
	if err != nil {
		return fmt.Errorf("send media %s: %w", media.Hash, err)
	}
	return nil
}

// entityTag returns a strong entity tag: the hash of the file.
func entityTag(hash sortie.Hash) string {
	var tag [2 + 2*len(hash)]byte
	tag[0], tag[len(tag)-1] = '"', '"'
	hex.Encode(tag[1:], hash[:])
	return string(tag[:])
}

// mediaName returns the file name without its extension. The id and the variant of a verified link
// have only letters, digits and _.
func mediaName(id, variant string) string {
	if variant == "thumbnail" {
		return id + "-thumbnail"
	}
	return id
}
