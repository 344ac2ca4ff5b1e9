package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/sortie-labs/sortie"
)

// Answers are appended to buffers that are kept.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const (
	keptBuffer = 1 << 20
	minGzip    = 1400 // bytes; below, the answer fits one packet anyway
	jsonType   = "application/json; charset=utf-8"
)

// answer sends JSON that appendTo writes.
func (req *request) answer(status int, appendTo func([]byte) []byte) error {
	return req.answerAppended(status, func(dst []byte) ([]byte, error) { return appendTo(dst), nil })
}

// answerAppended sends JSON that appendTo writes, unless it fails.
func (req *request) answerAppended(status int, appendTo func([]byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	written, err := appendTo((*buffer)[:0])
	if err == nil {
		written = append(written, '\n')
		req.send(status, written)
	}
	if written != nil && cap(written) <= keptBuffer {
		*buffer = written
		buffers.Put(buffer)
	}
	return err
}

// answerEmpty sends an answer that is told by its status and headers.
func (req *request) answerEmpty(status int) error {
	req.status = status
	req.WriteHeader(status)
	return nil
}

// answerJSON sends a value that is rarely asked for, so that reflection may encode it. The & of
// links stays what it is: people copy them from answers.
func (req *request) answerJSON(status int, value any) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	req.send(status, encoded.Bytes())
	return nil
}

func (req *request) send(status int, body []byte) {
	header := req.Header()
	setDefault(header, "Content-Type", jsonType)
	req.status = status
	req.answered += len(body)
	if req.http.Method == http.MethodGet && len(body) >= minGzip {
		header.Add("Vary", "Accept-Encoding")
		if acceptsGzip(req.http.Header) {
			req.sendGzip(status, body)
			return
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	req.WriteHeader(status)
	_, _ = req.Write(body) // a client that went away is nobody's error
}

func setDefault(header http.Header, name, value string) {
	if header.Get(name) == "" {
		header.Set(name, value)
	}
}

var compressors = sync.Pool{New: func() any {
	compressor, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return compressor
}}

func (req *request) sendGzip(status int, body []byte) {
	req.Header().Set("Content-Encoding", "gzip")
	req.WriteHeader(status)
	compressor := compressors.Get().(*gzip.Writer)
	compressor.Reset(req)
	_, _ = compressor.Write(body)
	_ = compressor.Close()
	compressors.Put(compressor)
}

// acceptsGzip reads Accept-Encoding: gzip must be named and not be refused with q=0.
func acceptsGzip(header http.Header) bool {
	for _, accepted := range strings.Split(header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.ToLower(accepted), ";")
		if strings.TrimSpace(coding) == "gzip" {
			weight := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(quality), "q="))
			return !strings.HasPrefix(weight, "0") || strings.ContainsAny(weight, "123456789")
		}
	}
	return false
}

// answerError is the one place that writes errors. What is not an error of the API is internal: its
// text goes to the log.
func (req *request) answerError(err error) {
	var coded *sortie.Error
	switch {
	case errors.As(err, &coded):
	case isAbandoned(req.http, err):
		coded = sortie.NewError(sortie.CodeServiceUnavailable, "the connection was closed before the answer was ready; send the request again")
	default:
		coded = sortie.NewError(sortie.CodeInternal, "something failed on our side; quote the request id when you report it")
	}
	status := coded.Code.HTTPStatus()
	header := req.Header()
	header.Del("Content-Type") // of the answer that there would have been
	header.Set("Cache-Control", "no-store")
	switch status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `ServiceWallet error="`+string(coded.Code)+`"`)
	case http.StatusConflict:
		if _, mayFree := coded.Details["retryAfterSeconds"]; mayFree {
			setDefault(header, "Retry-After", strconv.Itoa(retryAfterSeconds(coded)))
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		setDefault(header, "Retry-After", strconv.Itoa(retryAfterSeconds(coded)))
	}
	envelope := struct {
		OK    bool         `json:"ok"`
		Error sortie.Error `json:"error"`
	}{Error: *coded}
	envelope.Error.RequestID = req.id
	encoded, encodeErr := json.Marshal(envelope)
	if encodeErr != nil {
		encoded = []byte(`{"ok":false,"error":{"code":"internal_error","message":"the error could not be written","requestId":"` + req.id + `"}}`)
		status = http.StatusInternalServerError
	}
	req.send(status, append(encoded, '\n'))
}

func retryAfterSeconds(err *sortie.Error) int {
	if seconds, ok := err.Details["retryAfterSeconds"].(int); ok {
		return max(1, seconds)
	}
	return 2
}
