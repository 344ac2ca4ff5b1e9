package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// answerTimeout is how long the answer to an upload may take to be sent. For net/http its time
// began when the upload did.
const answerTimeout = 30 * time.Second

// retryGaveWay is after how many seconds an upload that gave way may come back.
const retryGaveWay = 5

const faultRange = "out_of_range"

// putUpload takes a whole file in one request. Nothing of its body is read before it is known to be
// wanted: a client that sends Expect: 100-continue sends no file in vain.
func (s *Server) putUpload(req *request) error {
	upload, err := s.openUpload(req, app.UploadPut)
	if err != nil {
		return err
	}
	defer upload.close()
	if !upload.Done() {
		if err := s.takeWhole(req, upload); err != nil {
			return err
		}
	}
	detail, err := upload.Finish(req.http.Context())
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, detail)
}

// upload is an upload that this request works on.
type upload struct {
	*app.Upload
	turn *turn
	over func()
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
	req.Header().Del("Retry-After") // of an attempt before
	turn, over := s.turns.begin(id)
	return &upload{opened, turn, over}, nil
}

func (u *upload) close() {
	u.Close()
	u.over()
}

// takeWhole takes the body as the whole file. What an earlier attempt left is of no use: this one
// begins at the beginning.
func (s *Server) takeWhole(req *request, upload *upload) error {
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
		return errFault("body", faultRange, fmt.Sprintf("has %d bytes, but the file was declared to have %d; send all of it", upload.Offset(), upload.Size()))
	}
	return nil
}

// checkLength compares what is announced with the file that was declared, before any of it is read.
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
		return sortie.NewError(sortie.CodeUnsupportedMediaType, "send the file without Content-Encoding: its size and hash were declared as it is")
	}
	if header.Get("Content-Range") != "" { // RFC 9110, 14.5: whoever sends it means a part, which would be taken for the whole
		return sortie.NewError(sortie.CodeInvalidRequest, "Content-Range is not for uploads; send the whole file, or parts of it with tus")
	}
	return nil
}

func errLongerThanDeclared(limit int64) error {
	return sortie.NewError(sortie.CodePayloadTooLarge, "no more than %d bytes are wanted: the file is larger than it was declared to be", limit).Detail("limitBytes", limit)
}

func errWrongLength(length, want int64) error {
	return errFault("Content-Length", faultRange, "is "+strconv.FormatInt(length, 10)+", but the file was declared to have "+strconv.FormatInt(want, 10)+" bytes; send all of it")
}

// appendBody streams the body into the upload. What has arrived stays there, whatever happens to
// the rest, unless there is too much of it: then all of this body is another file's.
func (s *Server) appendBody(req *request, upload *upload) error {
	body := newPacedBody(req.http.Body, http.NewResponseController(req.ResponseWriter), s.config.StallTimeout,
		func() bool { return !s.config.Now().Before(upload.Until()) })
	upload.turn.reads(body)
	defer upload.turn.reads(nil)
	s.uploads.reads(req.place, body)
	defer s.uploads.reads(req.place, nil)
	defer func() { s.metrics.uploaded.Add(float64(body.total)) }()
	before := upload.Offset()
	_, err := upload.Append(req.http.Context(), body)
	switch {
	case errors.Is(body.err, errGaveWay):
		return errDisplaced(upload)
	case body.failed():
		return sortie.NewError(sortie.CodeInvalidRequest, "the body did not arrive whole, or stood still for more than %d s; send it again, or go on from where it stopped with tus",
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
	if errors.Is(body.err, errGaveWay) {
		return errDisplaced(upload)
	}
	if body.failed() {
		return sortie.NewError(sortie.CodeInvalidRequest, "the end of the body did not arrive; send the request again").Because(body.err)
	}
	if req.http.ContentLength > 0 { // as after every other body
		req.Header().Del("Connection")
	}
	return nil
}

// errDisplaced is a code that tus clients continue after.
func errDisplaced(upload *upload) error {
	return sortie.NewError(sortie.CodeServiceUnavailable, "more uploads are on their way than the service has places for, and this one was the slowest; what arrived is kept, so continue with tus in %d s", retryGaveWay).
		Detail("uploadedBytes", upload.Offset()).Detail("retryAfterSeconds", retryGaveWay).Because(errGaveWay)
}
