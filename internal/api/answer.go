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
func (x *exchange) answer(status int, appendTo func([]byte) []byte) error {
	return x.answerAppended(status, func(dst []byte) ([]byte, error) { return appendTo(dst), nil })
}

// answerAppended sends JSON that appendTo writes, unless it fails.
func (x *exchange) answerAppended(status int, appendTo func([]byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	written, err := appendTo((*buffer)[:0])
	if err == nil {
		written = append(written, '\n')
		x.send(status, written)
	}
	if written != nil && cap(written) <= keptBuffer {
		*buffer = written
		buffers.Put(buffer)
	}
	return err
}

// answerEmpty sends an answer that is told by its status and headers.
func (x *exchange) answerEmpty(status int) error {
	x.status = status
	x.WriteHeader(status)
	return nil
}

// answerJSON sends a value that is rarely asked for, so that reflection may encode it. The & of
// links stays what it is: people copy them from answers.
func (x *exchange) answerJSON(status int, value any) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	x.send(status, encoded.Bytes())
	return nil
}

func (x *exchange) send(status int, body []byte) {
	header := x.Header()
	setDefault(header, "Content-Type", jsonType)
	x.status = status
	x.answered += len(body)
	if x.r.Method == http.MethodGet && len(body) >= minGzip {
		header.Add("Vary", "Accept-Encoding")
		if acceptsGzip(x.r.Header) {
			x.sendGzip(status, body)
			return
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	_, _ = x.Write(body) // a client that went away is nobody's error
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

func (x *exchange) sendGzip(status int, body []byte) {
	x.Header().Set("Content-Encoding", "gzip")
	x.WriteHeader(status)
	compressor := compressors.Get().(*gzip.Writer)
	compressor.Reset(x)
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
func (x *exchange) answerError(err error) {
	var coded *sortie.Error
	switch {
	case errors.As(err, &coded):
	case isAbandoned(x.r, err):
		coded = sortie.NewError(sortie.CodeServiceUnavailable, "the connection was closed before the answer was ready; send the request again")
	default:
		coded = sortie.NewError(sortie.CodeInternal, "something failed on our side; quote the request id when you report it")
	}
	status := coded.Code.HTTPStatus()
	header := x.Header()
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
	envelope.Error.RequestID = x.id
	encoded, encodeErr := json.Marshal(envelope)
	if encodeErr != nil {
		encoded = []byte(`{"ok":false,"error":{"code":"internal_error","message":"the error could not be written","requestId":"` + x.id + `"}}`)
		status = http.StatusInternalServerError
	}
	x.send(status, append(encoded, '\n'))
}

func retryAfterSeconds(err *sortie.Error) int {
	if seconds, ok := err.Details["retryAfterSeconds"].(int); ok {
		return max(1, seconds)
	}
	return 2
}
