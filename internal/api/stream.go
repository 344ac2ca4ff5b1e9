package api

import (
	"net/http"

	"github.com/klauspost/compress/gzip"
)

const (
	// maxListBytes ends a page of drafts, with a cursor.
	maxListBytes = 4 << 20
	// streamPiece is how much of a streamed answer is kept before it is sent.
	streamPiece = 64 << 10
)

// stream sends a JSON answer in pieces, so that a large one is never held as a whole. An answer of
// one piece is sent as any other is, with its length. A failure before the first piece is sent is
// answered with its status; after that the connection is cut.
type stream struct {
	req        *request
	text       []byte       // not sent yet
	sent       int          // bytes before compression
	compressor *gzip.Writer // nil: the answer is not compressed, or nothing is sent yet
	begun      bool
}

// newStream takes a buffer, which close gives back.
func (req *request) newStream() *stream {
	buffer := buffers.Get().(*[]byte)
	return &stream{req: req, text: (*buffer)[:0]}
}

func (s *stream) close() {
	if s.compressor != nil {
		compressors.Put(s.compressor)
		s.compressor = nil
	}
	if cap(s.text) <= keptBuffer {
		buffers.Put(&s.text)
	}
}

// size is the length of the answer so far, before compression.
func (s *stream) size() int { return s.sent + len(s.text) }

// push sends what is kept if that is a piece. It fails when the client does not receive any more.
func (s *stream) push() error {
	if len(s.text) < streamPiece {
		return nil
	}
	return s.send()
}

// end sends the rest.
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
