package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/links"
)

// answerTimeout is the write deadline for the answer to an upload, set when the upload has ended:
// net/http would count from its beginning.
const answerTimeout = 30 * time.Second

// retryDisplaced is after how many seconds a displaced upload may continue.
const retryDisplaced = 5

const fieldRange = "out_of_range"

// putUpload receives a whole file in one request. It reads the body only after all other checks, so
// that a client that sends Expect: 100-continue does not send a file that is refused.
func (s *Server) putUpload(req *request) error {
	upload, err := s.openUpload(req, links.VariantUploadPut)
	if err != nil {
		return err
	}
	defer upload.close()
	if !upload.Done() {
		if err := s.receiveFile(req, upload); err != nil {
			return err
		}
	}
	detail, err := upload.Finish(req.http.Context())
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, detail)
}

// upload is the upload of one request, with its lock.
type upload struct {
	*app.Upload
	lock   *uploadLock
	unlock func()
}

func (s *Server) openUpload(req *request, variant string) (*upload, error) {
	id := req.http.PathValue("submissionId")
	opened, err := s.config.App.OpenUpload(req.http.Context(), id, variant, req.http.URL.RawQuery)
	if sortie.ErrorCode(err) == sortie.CodeIdempotencyInProgress {
		req.Header().Set("Retry-After", "1")
	}
	if err != nil {
		return nil, err
	}
	req.Header().Del("Retry-After") // of an earlier attempt
	lock, unlock := s.uploadLocks.lock(id)
	return &upload{opened, lock, unlock}, nil
}

func (u *upload) close() {
	u.Close()
	u.unlock()
}

// receiveFile receives the body as the whole file. It discards the bytes of an earlier attempt.
func (s *Server) receiveFile(req *request, upload *upload) error {
	if err := checkLength(req.http, upload.Size()); err != nil {
		return err
	}
	if upload.Offset() > 0 {
		if err := upload.Cut(0); err != nil {
			return err
		}
	}
	if err := s.appendBody(req, upload); err != nil {
		return err
	}
	if upload.Offset() < upload.Size() {
		return errInvalidField("body", fieldRange, fmt.Sprintf("has %d bytes, but the declared size is %d; send the whole file", upload.Offset(), upload.Size()))
	}
	return nil
}

// checkLength compares the Content-Length with the declared size before the body is read.
func checkLength(r *http.Request, want int64) error {
	if err := checkUploadHeader(r.Header); err != nil {
		return err
	}
	switch length := r.ContentLength; {
	case length > want:
		return errLongerThanDeclared(want)
	case length >= 0 && length < want:
		return errWrongLength(length, want)
	}
	return nil
}

func checkUploadHeader(header http.Header) error {
	if encoding := header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return sortie.NewError(sortie.CodeUnsupportedMediaType, "send the file without Content-Encoding: the declared size and hash are those of the plain file")
	}
	if header.Get("Content-Range") != "" { // RFC 9110, 14.5: the body is a part, which must not be taken for the whole
		return sortie.NewError(sortie.CodeInvalidRequest, "uploads do not support Content-Range; send the whole file, or parts of it with tus")
	}
	return nil
}

func errLongerThanDeclared(limit int64) error {
	return sortie.NewError(sortie.CodePayloadTooLarge, "the file is larger than declared: at most %d bytes are accepted", limit).Detail("limitBytes", limit)
}

func errWrongLength(length, want int64) error {
	return errInvalidField("Content-Length", fieldRange, "is "+strconv.FormatInt(length, 10)+", but the declared size is "+strconv.FormatInt(want, 10)+" bytes; send the whole file")
}

// appendBody streams the body into the upload. After an error the bytes that arrived stay there,
// except when the body is too long: then it belongs to another file and is discarded.
func (s *Server) appendBody(req *request, upload *upload) error {
	body := newStallReader(req.http.Body, http.NewResponseController(req.ResponseWriter), s.config.StallTimeout,
		func() bool { return !s.config.Now().Before(upload.Until()) })
	upload.lock.setBody(body)
	defer upload.lock.setBody(nil)
	s.uploads.setBody(req.inflight, body)
	defer s.uploads.setBody(req.inflight, nil)
	defer func() { s.metrics.uploaded.Add(float64(body.total)) }()
	before := upload.Offset()
	_, err := upload.Append(req.http.Context(), body)
	switch {
	case errors.Is(body.err, errDisplaced):
		return errUploadDisplaced(upload)
	case body.failed():
		return sortie.NewError(sortie.CodeInvalidRequest, "the body is incomplete or stalled for more than %d s; send it again, or resume it with tus",
			ceilSeconds(s.config.StallTimeout)).Because(body.err)
	case err != nil:
		return err
	}
	var surplus [1]byte
	if n, _ := body.Read(surplus[:]); n > 0 { // a body without a length
		if err := upload.Cut(before); err != nil {
			return err
		}
		return errLongerThanDeclared(upload.Size())
	}
	if errors.Is(body.err, errDisplaced) {
		return errUploadDisplaced(upload)
	}
	if body.failed() {
		return sortie.NewError(sortie.CodeInvalidRequest, "the body is incomplete; send the request again").Because(body.err)
	}
	if req.http.ContentLength > 0 { // as in readBody
		req.Header().Del("Connection")
	}
	return nil
}

// errUploadDisplaced has a status after which tus clients resume.
func errUploadDisplaced(upload *upload) error {
	return sortie.NewError(sortie.CodeServiceUnavailable, "too many uploads are in flight, and this one was the slowest; the bytes that arrived are kept, so resume with tus in %d s", retryDisplaced).
		Detail("uploadedBytes", upload.Offset()).Detail("retryAfterSeconds", retryDisplaced).Because(errDisplaced)
}
