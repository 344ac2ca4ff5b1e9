package api

import (
	"net/http"
	"strconv"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// The resumable uploads of tus 1.0 (tus.io), with the extensions creation, creation-with-upload,
// termination and expiration. A submission has one upload and one URL for it, which is both the
// place where it is created and the upload itself.
const (
	tusVersion     = sortie.TusVersion
	tusExtensions  = "creation,creation-with-upload,termination,expiration"
	tusContentType = "application/offset+octet-stream"
)

// tusHandler is what a tus request does with its upload.
type tusHandler func(*Server, *request, *upload) error

func (s *Server) tusCreate(req *request) error {
	// Clients that cannot send other methods say so in a header.
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

// tus is the way of every tus request. A client that asks how far its upload is, or begins it, has
// lost the connection on which it sent the rest.
func (s *Server) tus(req *request, handle tusHandler) error {
	if req.http.Header.Get("Tus-Resumable") != tusVersion {
		req.Header().Set("Tus-Version", tusVersion)
		return req.answerEmpty(http.StatusPreconditionFailed)
	}
	upload, err := s.openUpload(req, app.UploadTus)
	comesBack := req.http.Method == http.MethodHead || req.http.Method == http.MethodPost && req.http.Header.Get("X-HTTP-Method-Override") == ""
	if comesBack && sortie.ErrorCode(err) == sortie.CodeIdempotencyInProgress && s.turns.end(req.http.Context(), req.http.PathValue("submissionId")) {
		upload, err = s.openUpload(req, app.UploadTus)
	}
	if err != nil {
		return err
	}
	defer upload.close()
	return handle(s, req, upload)
}

// createTus begins the upload. Its client will send the file from the beginning, so what is there
// goes.
func (s *Server) createTus(req *request, upload *upload) error {
	length, err := req.tusNumber("Upload-Length")
	switch {
	case err != nil:
		return err
	case length > upload.Size():
		return errLongerThanDeclared(upload.Size())
	case length < upload.Size():
		return errFault("Upload-Length", faultRange, "is "+strconv.FormatInt(length, 10)+", but the file was declared to have "+strconv.FormatInt(upload.Size(), 10)+" bytes")
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

// headTus tells where the upload stands. A client that sees all bytes there sends no more: they
// have been taken in by now.
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
		return sortie.NewError(sortie.CodeWrongState, "the upload has %d bytes, so that is where it goes on; ask with HEAD", upload.Offset())
	}
	if err := s.appendTus(req, upload); err != nil {
		return err
	}
	return req.answerOffset(http.StatusNoContent, upload)
}

// dropTus forgets what was uploaded. The slot stays reserved: giving it back is the contributor's,
// who signs for it.
func (s *Server) dropTus(req *request, upload *upload) error {
	if upload.Done() {
		return errUploadDone()
	}
	if err := upload.Cut(0); err != nil {
		return err
	}
	return req.answerEmpty(http.StatusNoContent)
}

// appendTus adds the body to the upload, and takes the upload in when that was the last of it.
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

// tusNumber reads a header that every client must send: a number of bytes.
func (req *request) tusNumber(name string) (int64, error) {
	given := req.http.Header.Values(name)
	if len(given) == 1 {
		if number, err := strconv.ParseInt(given[0], 10, 64); err == nil && number >= 0 && strconv.FormatInt(number, 10) == given[0] {
			return number, nil
		}
	}
	return 0, sortie.NewError(sortie.CodeInvalidRequest, "set %s, once, to a number of bytes", name)
}

func (req *request) answerOffset(status int, upload *upload) error {
	req.Header().Set("Upload-Offset", strconv.FormatInt(upload.Offset(), 10))
	if !upload.Done() {
		req.Header().Set("Upload-Expires", upload.Until().UTC().Format(http.TimeFormat))
	}
	return req.answerEmpty(status)
}

func errUploadDone() error {
	return sortie.NewError(sortie.CodeWrongState, "nothing is waited for: the file has been taken in, or the submission is decided; read the submission")
}
