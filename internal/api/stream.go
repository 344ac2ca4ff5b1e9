package api

import (
	"net/http"

	"github.com/klauspost/compress/gzip"
)

const (
	// maxListBytes bounds a page of drafts; a cursor continues it.
	maxListBytes = 4 << 20
	// streamPiece is how many bytes of a streamed answer are buffered before they are sent.
	streamPiece = 64 << 10
)

// stream sends a JSON answer in pieces, so that a large answer is never in memory as a whole. An
// answer of one piece is sent with its Content-Length. An error before the first piece is answered
// with its status; a later one closes the connection.
type stream struct {
	req        *request
	text       []byte       // not sent yet
	sent       int          // bytes before compression
	compressor *gzip.Writer // nil: the answer is not compressed, or nothing is sent yet
	begun      bool
}

// newStream takes a buffer from the pool; close returns it.
func (req *request) newStream() *stream {
	buffer := buffers.Get().(*[]byte)
	return &stream{req: req, text: (*buffer)[:0]}
}

func (s *stream) close() {
	if s.compressor != nil {
		compressors.Put(s.compressor)
		s.compressor = nil
	}
	if cap(s.text) <= maxPooledBuffer {
		buffers.Put(&s.text)
	}
}

// size is the length of the answer so far, before compression.
func (s *stream) size() int { return s.sent + len(s.text) }

// push sends the buffered text if it is a piece. It fails when the client disconnected.
func (s *stream) push() error {
	if len(s.text) < streamPiece {
		return nil
	}
	return s.send()
}

// end sends the rest of the answer.
func (s *stream) end() error {
	if !s.begun {
		s.req.send(http.StatusOK, s.text)
		return nil
	}
	if err := s.send(); err != nil || s.compressor == nil {
		return err
	}
	if err := s.compressor.Close(); err != nil {
		return transferError(err)
	}
	return nil
}

func (s *stream) send() (err error) {
	if !s.begun {
		s.begin()
	}
	s.sent += len(s.text)
	s.req.answered += len(s.text)
	if s.compressor != nil {
		_, err = s.compressor.Write(s.text)
	} else {
		_, err = s.req.Write(s.text)
	}
	s.text = s.text[:0]
	if err != nil {
		return transferError(err)
	}
	return nil
}

func (s *stream) begin() {
	s.begun = true
	header := s.req.Header()
	setDefault(header, "Content-Type", jsonType)
	header.Add("Vary", "Accept-Encoding")
	if acceptsGzip(s.req.http.Header) {
		header.Set("Content-Encoding", "gzip")
		s.compressor = compressors.Get().(*gzip.Writer)
		s.compressor.Reset(s.req)
	}
	s.req.status = http.StatusOK
	s.req.WriteHeader(http.StatusOK)
}
