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

// buffers holds the buffers that answers are appended to.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const (
	maxPooledBuffer = 1 << 20
	minGzip         = 1400 // bytes; a shorter answer fits one packet
	jsonType        = "application/json; charset=utf-8"
)

// answer sends the JSON that appendTo appends.
func (req *request) answer(status int, appendTo func([]byte) []byte) error {
	return req.answerAppended(status, func(dst []byte) ([]byte, error) { return appendTo(dst), nil })
}

// answerAppended sends the JSON that appendTo appends, or returns its error.
func (req *request) answerAppended(status int, appendTo func([]byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	written, err := appendTo((*buffer)[:0])
	if err == nil {
		written = append(written, '\n')
		req.send(status, written)
	}
	if written != nil && cap(written) <= maxPooledBuffer {
		*buffer = written
		buffers.Put(buffer)
	}
	return err
}

// answerEmpty sends an answer without a body.
func (req *request) answerEmpty(status int) error {
	req.status = status
	req.WriteHeader(status)
	return nil
}

// answerJSON encodes a value by reflection and sends it. It does not escape the & of links, because
// people copy links from answers.
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
	_, _ = req.Write(body) // fails only if the client disconnected
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

// acceptsGzip reports whether Accept-Encoding names gzip with a quality above 0.
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

// answerError sends an error. An error that is not a [sortie.Error] is internal: its text is logged
// and not sent.
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
	header.Del("Content-Type") // of a successful answer
	header.Set("Cache-Control", "no-store")
	switch status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `ServiceWallet error="`+string(coded.Code)+`"`)
	case http.StatusConflict:
		if _, canRetry := coded.Details["retryAfterSeconds"]; canRetry {
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
