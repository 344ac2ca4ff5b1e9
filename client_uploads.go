package sortie

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// answerTime is how long the service may take to answer after the last byte of a file: it hashes
// and stores the file.
const answerTime = 3 * time.Minute

// Upload sends a file of exactly size bytes in one request. After a lost connection it must start
// again; [Client.UploadResumable] resumes. The checks begin after the upload, so the submission is
// pending when Upload returns: see [Client.MySubmission].
//
// It fails with media_url_expired when the reservation has ended, with validation_failed when the
// bytes differ from the declaration, which rejects the submission, and with service_unavailable
// when they cannot be stored now.
func (c *Client) Upload(ctx context.Context, links UploadLinks, file io.Reader, size int64) (Submission, error) {
	ctx, watch := c.watched(ctx)
	defer watch.stop()
	body := &uploadBody{source: file, size: size, last: true, watch: watch}
	defer body.end()
	request, err := newLinkRequest(ctx, http.MethodPut, links.PutURL, body)
	if err != nil {
		return Submission{}, err
	}
	request.ContentLength = size
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Expect", "100-continue") // the service can refuse before the file is sent
	response, _, err := c.follow(request, http.StatusOK, http.StatusCreated)
	if err != nil {
		return Submission{}, err
	}
	defer response.Body.Close()
	var detail SubmissionDetail
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&detail); err != nil {
		return Submission{}, fmt.Errorf("decode the answer to the upload: %w", transferError(ctx, err))
	}
	return detail.Submission, nil
}

// UploadResumable sends a file of size bytes in pieces. It resumes after a lost connection, and
// after a restart of the program when it is called again with links of the same submission. It
// returns when the service has the whole file. progress, if not nil, is called with the number of
// bytes sent, which may decrease.
//
// It fails as [Client.Upload] does, and after several attempts without progress with the last
// error.
func (c *Client) UploadResumable(ctx context.Context, links UploadLinks, file io.ReaderAt, size int64, progress func(sent int64)) error {
	if progress == nil {
		progress = func(int64) {}
	}
	reached := int64(-1)
	for attempt := 1; ; attempt++ {
		offset, retryIn, err := c.uploadRest(ctx, links.TusURL, file, size, progress)
		if err == nil {
			return nil
		}
		if offset > reached { // progress resets the count of attempts
			reached, attempt = offset, 1
		}
		if retryIn < 0 || attempt >= 2*c.attempts || ctx.Err() != nil {
			return err
		}
		if retryIn == 0 {
			retryIn = backoff(attempt)
		}
		if waitErr := c.wait(ctx, min(retryIn, maxRetryIn)); waitErr != nil {
			return err
		}
	}
}

// Headers and values of tus 1.0, the protocol of resumable uploads.
const (
	headerTusResumable = "Tus-Resumable"
	headerUploadOffset = "Upload-Offset"
	tusContentType     = "application/offset+octet-stream"
)

// A file is sent in pieces that take about a second each, so that progress is known: a whole photo
// would fit into the buffers on the way.
const (
	firstPiece   = 1 << 20
	smallestOne  = 256 << 10
	largestPiece = 64 << 20
)

func nextPiece(piece int64, took time.Duration) int64 {
	switch {
	case took < time.Second:
		return min(2*piece, largestPiece)
	case took > 4*time.Second:
		return max(piece/2, smallestOne)
	default:
		return piece
	}
}

// uploadRest asks how much the service has and sends the rest. offset is how much it has at the
// end, -1 if unknown.
func (c *Client) uploadRest(ctx context.Context, link string, file io.ReaderAt, size int64, progress func(int64)) (offset int64, retryIn time.Duration, err error) {
	offset, retryIn, err = c.uploadOffset(ctx, link)
	if err != nil {
		return -1, retryIn, err
	}
	if offset < 0 || offset > size {
		return offset, -1, fmt.Errorf("the service has %d bytes of a file of %d bytes: the links belong to another file", offset, size)
	}
	// When all bytes are there the file may not be stored yet, so an empty piece is sent too: its
	// answer confirms that.
	for piece := int64(firstPiece); ; {
		progress(offset)
		length, started := min(piece, size-offset), time.Now()
		body := &uploadBody{source: io.NewSectionReader(file, offset, length), size: length, before: offset, progress: progress}
		if retryIn, err = c.sendPiece(ctx, link, body, offset+length == size); err != nil {
			return offset, retryIn, err
		}
		if offset += length; offset == size {
			return offset, 0, nil
		}
		piece = nextPiece(piece, time.Since(started))
	}
}

func (c *Client) uploadOffset(ctx context.Context, link string) (offset int64, retryIn time.Duration, err error) {
	ctx, watch := c.watched(ctx)
	defer watch.stop()
	request, err := newLinkRequest(ctx, http.MethodHead, link, nil)
	if err != nil {
		return 0, -1, err
	}
	request.Header.Set(headerTusResumable, TusVersion)
	response, retryIn, err := c.follow(request, http.StatusOK, http.StatusNoContent)
	if err != nil {
		return 0, retryIn, err
	}
	_ = response.Body.Close()
	offset, err = strconv.ParseInt(response.Header.Get(headerUploadOffset), 10, 64)
	if err != nil {
		return 0, -1, errors.New("the answer of the upload link has no Upload-Offset: not a tus 1.0 server")
	}
	return offset, 0, nil
}

// sendPiece sends a part of the file. After the last piece it waits for the service to store the
// file.
func (c *Client) sendPiece(ctx context.Context, link string, body *uploadBody, last bool) (retryIn time.Duration, err error) {
	ctx, watch := c.watched(ctx)
	defer watch.stop()
	body.watch, body.last = watch, last
	defer body.end()
	var content io.Reader = body
	if body.size == 0 {
		content = http.NoBody
		watch.allow(answerTime)
	}
	request, err := newLinkRequest(ctx, http.MethodPatch, link, content)
	if err != nil {
		return -1, err
	}
	request.ContentLength = body.size
	request.Header.Set(headerTusResumable, TusVersion)
	request.Header.Set(headerUploadOffset, strconv.FormatInt(body.before, 10))
	request.Header.Set("Content-Type", tusContentType)
	response, retryIn, err := c.follow(request, http.StatusNoContent, http.StatusOK)
	if err != nil {
		return retryIn, err
	}
	_ = response.Body.Close()
	if got := response.Header.Get(headerUploadOffset); got != strconv.FormatInt(body.before+body.size, 10) {
		return 0, fmt.Errorf("Upload-Offset after the piece: got %[2]q, want %[1]d", body.before+body.size, got)
	}
	return 0, nil
}

// uploadBody is a request body that reports progress until end is called. The transport may read it
// after the answer.
type uploadBody struct {
	source   io.Reader
	size     int64
	before   int64 // offset of this piece in the file
	last     bool  // the last piece
	watch    *watch
	progress func(sent int64)

	mu    sync.Mutex
	read  int64
	ended bool
}

func (b *uploadBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, errors.New("the upload has ended")
	}
	n, err := b.source.Read(p)
	b.read += int64(n)
	if b.watch.moved(); b.last && b.read >= b.size {
		b.watch.allow(answerTime)
	}
	if b.progress != nil && n > 0 {
		b.progress(b.before + b.read)
	}
	return n, err
}

// Close leaves the file open: its owner closes it.
func (b *uploadBody) Close() error { return nil }

func (b *uploadBody) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
}
