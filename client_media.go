package sortie

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MediaStream reads the bytes of a media link from an offset. It resumes after a lost connection.
// The caller must close it.
type MediaStream struct {
	Size        int64 // of the whole file, -1 when unknown
	ContentType string
	ETag        string

	client   *Client
	ctx      context.Context // of the call to Download
	link     string
	offset   int64
	failures int // in a row
	ended    error
	body     io.ReadCloser
	watch    *watch
}

// Download opens a media link, such as the MediaURL of a [Deliverable], at an offset: 0, or the
// number of bytes that an earlier download got. The stream begins at the offset even if a proxy
// ignores ranges. Compare the hash of the whole file with [Media.SHA256].
//
// It and the stream fail with media_url_expired or media_url_invalid when the link is no longer
// valid (get a new one from [Client.Deliverables]), with not_found when the submission is no longer
// accepted, and with range_not_satisfiable for an offset past the end.
func (c *Client) Download(ctx context.Context, link string, offset int64) (*MediaStream, error) {
	stream := &MediaStream{client: c, ctx: ctx, link: link, offset: offset}
	if err := c.again(ctx, stream.open); err != nil {
		return nil, err
	}
	return stream, nil
}

// open requests the rest of the file.
func (s *MediaStream) open() (retryIn time.Duration, err error) {
	ctx, watch := s.client.watched(s.ctx)
	defer func() {
		if err != nil {
			watch.stop()
		}
	}()
	request, err := newLinkRequest(ctx, http.MethodGet, s.link, nil)
	if err != nil {
		return -1, err
	}
	request.Header.Set("Accept-Encoding", "identity") // the hash is that of the file
	if s.offset > 0 {
		request.Header.Set("Range", "bytes="+strconv.FormatInt(s.offset, 10)+"-")
	}
	response, retryIn, err := s.client.follow(request, http.StatusOK, http.StatusPartialContent)
	if err != nil {
		return retryIn, err
	}
	watch.moved()
	if err := s.begin(response, watch); err != nil {
		_ = response.Body.Close()
		return retryOf(err), transferError(ctx, err)
	}
	return 0, nil
}

// begin makes the answer the stream's body, at the stream's offset.
func (s *MediaStream) begin(response *http.Response, watch *watch) error {
	size, etag := response.ContentLength, response.Header.Get("ETag")
	if response.StatusCode == http.StatusPartialContent {
		start, whole, err := parseContentRange(response.Header.Get("Content-Range"))
		if err != nil || start != s.offset {
			return NewError(CodeInternal, "asked for the bytes from %d on, %s answered with the range %q", s.offset, response.Request.URL.Host, response.Header.Get("Content-Range"))
		}
		size = whole
	}
	if s.ETag != "" && etag != s.ETag {
		return NewError(CodeInternal, "the file changed while it was downloaded")
	}
	s.body, s.watch = response.Body, watch
	s.Size, s.ETag, s.ContentType = size, etag, response.Header.Get("Content-Type")
	if response.StatusCode == http.StatusOK && s.offset > 0 {
		return s.skip(s.offset)
	}
	return nil
}

// skip discards the first n bytes of an answer that ignored the range.
func (s *MediaStream) skip(n int64) error {
	skipped, err := io.CopyN(io.Discard, watchedReader{s.body, s.watch}, n)
	if errors.Is(err, io.EOF) && skipped < n {
		return NewError(CodeRangeNotSatisfiable, "asked for the bytes from %d on, of a file of %d", n, skipped)
	}
	return err
}

// retryOf returns -1 for an error that a retry cannot help.
func retryOf(err error) time.Duration {
	var final *Error
	if errors.As(err, &final) {
		return -1
	}
	return 0
}

// parseContentRange reads "bytes 5-9/10". An unknown size is -1.
func parseContentRange(text string) (start, size int64, err error) {
	text, found := strings.CutPrefix(text, "bytes ")
	span, whole, foundSize := strings.Cut(text, "/")
	first, _, foundSpan := strings.Cut(span, "-")
	if !found || !foundSize || !foundSpan {
		return 0, 0, fmt.Errorf("content range %q", text)
	}
	if start, err = strconv.ParseInt(first, 10, 64); err != nil {
		return 0, 0, err
	}
	if whole == "*" {
		return start, -1, nil
	}
	size, err = strconv.ParseInt(whole, 10, 64)
	return start, size, err
}

// Read implements [io.Reader].
func (s *MediaStream) Read(p []byte) (int, error) {
	for s.ended == nil {
		n, err := s.body.Read(p)
		if n > 0 {
			s.watch.moved()
			s.offset, s.failures = s.offset+int64(n), 0
			return n, nil
		}
		switch {
		case err == nil:
			return 0, nil
		case errors.Is(err, io.EOF) && s.offset >= s.Size: // also when the size is unknown
			s.ended = io.EOF
		case errors.Is(err, io.EOF): // the answer was cut short
			s.ended = s.reopen(io.ErrUnexpectedEOF)
		default:
			s.ended = s.reopen(transferError(s.watch.ctx, err))
		}
	}
	return 0, s.ended
}

// reopen resumes after a lost connection, or returns the stream's final error.
func (s *MediaStream) reopen(lost error) error {
	_ = s.Close()
	if s.failures++; s.failures > 2*s.client.attempts || s.ctx.Err() != nil {
		return lost
	}
	if err := s.client.wait(s.ctx, backoff(s.failures)); err != nil {
		return lost
	}
	return s.client.again(s.ctx, s.open)
}

// Close ends the transfer.
func (s *MediaStream) Close() error {
	s.watch.stop()
	return s.body.Close()
}

// watchedReader resets a watch on every read.
type watchedReader struct {
	io.Reader
	watch *watch
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.watch.moved()
	return n, err
}
