package api

import (
	"net/http"
	"strconv"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
)

// Resumable uploads follow tus 1.0 (tus.io) with the extensions creation, creation-with-upload,
// termination and expiration. A submission has one upload; its URL is both the creation URL and the
// upload URL.
const (
	tusVersion     = sortie.TusVersion
	tusExtensions  = "creation,creation-with-upload,termination,expiration"
	tusContentType = "application/offset+octet-stream"
)

// tusHandler handles a tus request after its upload was opened.
type tusHandler func(*Server, *request, *upload) error

func (s *Server) tusCreate(req *request) error {
	// Clients that can only send POST name the method in a header.
	switch override := req.http.Header.Get("X-HTTP-Method-Override"); override {
	case "":
		return s.tus(req, (*Server).createTus)
	case http.MethodPatch:
		return s.tus(req, (*Server).patchTus)
	case http.MethodDelete:
		return s.tus(req, (*Server).dropTus)
	default:
		return sortie.NewError(sortie.CodeInvalidRequest, "X-HTTP-Method-Override: want PATCH or DELETE")
	}
}

func (s *Server) tusHead(req *request) error   { return s.tus(req, (*Server).headTus) }
func (s *Server) tusPatch(req *request) error  { return s.tus(req, (*Server).patchTus) }
func (s *Server) tusDelete(req *request) error { return s.tus(req, (*Server).dropTus) }

// tus opens the upload of a tus request and calls its handler. A client that sends HEAD or POST has
// lost the connection on which it sent the file, so such a request takes over the upload.
func (s *Server) tus(req *request, handle tusHandler) error {
	if req.http.Header.Get("Tus-Resumable") != tusVersion {
		req.Header().Set("Tus-Version", tusVersion)
		return req.answerEmpty(http.StatusPreconditionFailed)
	}
	upload, err := s.openUpload(req, links.VariantUploadTus)
	reconnects := req.http.Method == http.MethodHead || req.http.Method == http.MethodPost && req.http.Header.Get("X-HTTP-Method-Override") == ""
	if reconnects && sortie.ErrorCode(err) == sortie.CodeIdempotencyInProgress && s.uploadLocks.takeOver(req.http.Context(), req.http.PathValue("submissionId")) {
		upload, err = s.openUpload(req, links.VariantUploadTus)
	}
	if err != nil {
		return err
	}
	defer upload.close()
	return handle(s, req, upload)
}

// createTus starts the upload. Its client sends the file from the first byte, so earlier bytes are
// discarded.
func (s *Server) createTus(req *request, upload *upload) error {
	length, err := req.tusNumber("Upload-Length")
	switch {
	case err != nil:
		return err
	case length > upload.Size():
		return errLongerThanDeclared(upload.Size())
	case length < upload.Size():
		return errInvalidField("Upload-Length", fieldRange, "is "+strconv.FormatInt(length, 10)+", but the declared size is "+strconv.FormatInt(upload.Size(), 10)+" bytes")
	case upload.Done():
		return errUploadDone()
	}
	if upload.Offset() > 0 {
		if err := upload.Cut(0); err != nil {
			return err
		}
	}
	if req.http.ContentLength != 0 {
		if err := s.appendTus(req, upload); err != nil {
			return err
		}
	}
	req.Header().Set("Location", req.http.RequestURI)
	return req.answerOffset(http.StatusCreated, upload)
}

// headTus answers with the offset of the upload. When it equals the length, the file is stored.
func (s *Server) headTus(req *request, upload *upload) error {
	req.Header().Set("Upload-Length", strconv.FormatInt(upload.Size(), 10))
	return req.answerOffset(http.StatusOK, upload)
}

func (s *Server) patchTus(req *request, upload *upload) error {
	offset, err := req.tusNumber("Upload-Offset")
	switch {
	case err != nil:
		return err
	case offset != upload.Offset():
		return sortie.NewError(sortie.CodeWrongState, "Upload-Offset must be %d, the bytes that arrived; read it with HEAD", upload.Offset())
	}
	if err := s.appendTus(req, upload); err != nil {
		return err
	}
	return req.answerOffset(http.StatusNoContent, upload)
}

// dropTus discards the uploaded bytes. The slot stays reserved: only the contributor can withdraw
// the submission, with a signed request.
func (s *Server) dropTus(req *request, upload *upload) error {
	if upload.Done() {
		return errUploadDone()
	}
	if err := upload.Cut(0); err != nil {
		return err
	}
	return req.answerEmpty(http.StatusNoContent)
}

// appendTus appends the body to the upload, and finishes the upload after its last byte.
func (s *Server) appendTus(req *request, upload *upload) error {
	if err := checkUploadHeader(req.http.Header); err != nil {
		return err
	}
	if req.http.Header.Get("Content-Type") != tusContentType {
		return sortie.NewError(sortie.CodeUnsupportedMediaType, "send a part of the file as Content-Type: %s", tusContentType)
	}
	if left := upload.Size() - upload.Offset(); req.http.ContentLength > left {
		return errLongerThanDeclared(left)
	}
	if !upload.Done() && req.http.ContentLength != 0 {
		if err := s.appendBody(req, upload); err != nil {
			return err
		}
	}
	if upload.Done() || upload.Offset() < upload.Size() {
		return nil
	}
	_, err := upload.Finish(req.http.Context())
	return err
}

// tusNumber parses a required header that is a number of bytes.
func (req *request) tusNumber(name string) (int64, error) {
	given := req.http.Header.Values(name)
	if len(given) == 1 {
		if number, err := strconv.ParseInt(given[0], 10, 64); err == nil && number >= 0 && strconv.FormatInt(number, 10) == given[0] {
			return number, nil
		}
	}
	return 0, sortie.NewError(sortie.CodeInvalidRequest, "the %s header must appear once, with a number of bytes", name)
}

func (req *request) answerOffset(status int, upload *upload) error {
	req.Header().Set("Upload-Offset", strconv.FormatInt(upload.Offset(), 10))
	if !upload.Done() {
		req.Header().Set("Upload-Expires", upload.Until().UTC().Format(http.TimeFormat))
	}
	return req.answerEmpty(status)
}

func errUploadDone() error {
	return sortie.NewError(sortie.CodeWrongState, "the upload is closed: the file was received, or the submission is decided; read the submission")
}
