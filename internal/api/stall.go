package api

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// A transfer may take any time while it makes progress: at least minProgress bytes in every stall
// timeout. A deadline for the whole transfer would cut off clients on slow lines; without any
// deadline a silent client would keep its connection forever.
const minProgress = 16 << 10

// stallReader reads the body of an upload and fails when it stalls. It keeps its own error, to tell
// it from an error of the disk that the bytes are written to.
type stallReader struct {
	body       io.Reader
	controller *http.ResponseController
	timeout    time.Duration
	isExpired  func() bool // the reservation of the upload has ended

	due     int64 // bytes until the deadline moves
	total   int64
	err     error
	aborted atomic.Pointer[error] // why Read must fail; nil: it need not

	// The last minProgress bytes: when they were complete, and how long they took. Other goroutines
	// read these fields.
	began   time.Time
	movedAt atomic.Int64 // nanoseconds since began
	took    atomic.Int64 // nanoseconds
}

func newStallReader(body io.Reader, controller *http.ResponseController, timeout time.Duration, isExpired func() bool) *stallReader {
	return &stallReader{body: body, controller: controller, timeout: timeout, isExpired: isExpired, began: time.Now()}
}

// Read moves the read deadline of the connection each time minProgress bytes arrived.
func (b *stallReader) Read(p []byte) (int, error) {
	if b.err != nil { // after the end, a deadline would apply to the next request of the connection
		return 0, b.err
	}
	if b.due <= 0 {
		if b.isExpired() {
			b.err = errUploadExpired
			return 0, b.err
		}
		if b.total > 0 {
			b.recordProgress()
		}
		_ = b.controller.SetReadDeadline(time.Now().Add(b.timeout)) // fails only without a connection
		b.due = minProgress
	}
	if cause := b.aborted.Load(); cause != nil { // read after the deadline was set, because abort sets it too
		b.err = *cause
		return 0, b.err
	}
	n, err := b.body.Read(p)
	b.due -= int64(n)
	b.total += int64(n)
	if cause := b.aborted.Load(); cause != nil && err != nil && !errors.Is(err, io.EOF) {
		err = *cause
	}
	b.err = err
	return n, err
}

func (b *stallReader) recordProgress() {
	now := int64(time.Since(b.began))
	b.took.Store(now - b.movedAt.Load())
	b.movedAt.Store(now)
}

// pace is how long the body takes for minProgress bytes: the last ones, or the next ones if they
// already take longer. It may be called while another goroutine reads.
func (b *stallReader) pace() time.Duration {
	return max(time.Duration(b.took.Load()), time.Since(b.began)-time.Duration(b.movedAt.Load()))
}

// abort makes the current or the next Read fail with cause. It may be called while another
// goroutine reads.
func (b *stallReader) abort(cause error) {
	b.aborted.CompareAndSwap(nil, &cause)
	_ = b.controller.SetReadDeadline(time.Now())
}

// errUploadExpired ends a body whose reservation has ended.
var errUploadExpired = errors.New("the reservation of the upload has ended")

// failed reports whether the body could not be read to its end.
func (b *stallReader) failed() bool { return b.err != nil && !errors.Is(b.err, io.EOF) }
