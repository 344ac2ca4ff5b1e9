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

// answerTime is how long the service may take between the last byte of a file and its answer: it
// hashes and stores the file.
const answerTime = 3 * time.Minute

// Upload sends a file of exactly size bytes in one go. A lost connection loses all of it;
// [Client.UploadResumable] goes on where it was. The checks begin with the last byte, so the
// submission is pending when this returns: see [Client.MySubmission].
//
// It fails with media_url_expired when the reservation is over, with validation_failed when the
// bytes are not those declared, which rejects the submission, and with service_unavailable when
// they cannot be stored for now.
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
	request.Header.Set("Expect", "100-continue") // a refusal comes before the file goes
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

// UploadResumable sends a file of size bytes, going on where an earlier attempt ended: after a lost
// connection by itself, and after a restart of this program when it is called again with links of
// the same submission. It returns when the service has all of it; then the checks begin. progress,
// if not nil, is told how many bytes the service has or is being sent; it may go back.
//
// It fails as [Client.Upload] does, and after several attempts without progress with the error of
// the last.
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
		if offset > reached { // it moves, however slowly
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

// The protocol of resumable uploads, tus 1.0.
const (
	headerTusResumable = "Tus-Resumable"
	headerUploadOffset = "Upload-Offset"
	tusContentType     = "application/offset+octet-stream"
)

// A file goes in pieces that take a second or two each, so that it is known how much has arrived: a
// whole photo fits into the buffers on the way. One piece is enough for most.
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

// uploadRest asks how much the service has and sends the rest. offset is what it has then, -1 if it
// did not say.
func (c *Client) uploadRest(ctx context.Context, link string, file io.ReaderAt, size int64, progress func(int64)) (offset int64, retryIn time.Duration, err error) {
	offset, retryIn, err = c.uploadOffset(ctx, link)
	if err != nil {
		return -1, retryIn, err
	}
	if offset < 0 || offset > size {
		return offset, -1, fmt.Errorf("the service has %d bytes of a file of %d: these links are for another file", offset, size)
	}
	// All of it may be there and not be stored yet, so that a request without bytes is sent too:
	// its answer says that it is.
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
		return 0, -1, errors.New("the upload link does not answer as tus 1.0 does: it says no Upload-Offset")
	}
	return offset, 0, nil
}

// sendPiece sends a part of the file. After the last one, the service has work to do.
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
		return 0, fmt.Errorf("the service was sent the file up to byte %d and says that it has %q", body.before+body.size, got)
	}
	return 0, nil
}

// uploadBody is a request body that tells how far it is. The transport may read on after the answer
// came; then nobody is told.
type uploadBody struct {
	source   io.Reader
	size     int64
	before   int64 // bytes of the file before these
	last     bool  // nothing comes behind these
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
		return 0, errors.New("the upload is over")
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

// Close leaves the file open, which is its owner's.
func (b *uploadBody) Close() error { return nil }

func (b *uploadBody) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
}
