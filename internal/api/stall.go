package api

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// A transfer may take as long as it likes while it moves: at least leastProgress bytes in every
// stall timeout. A deadline for the whole would cut honest clients on slow lines; none at all would
// let a silent one keep its place for ever.
const leastProgress = 16 << 10

// pacedBody reads the body of an upload for as long as it keeps coming. It remembers its own
// failure, so that it is told from one of the disk that the bytes go to.
type pacedBody struct {
	body       io.Reader
	controller *http.ResponseController
	timeout    time.Duration
	isLate     func() bool // the whole must be here by now, however well it moves

	due    int64 // bytes until the deadline moves
	total  int64
	err    error
	broken atomic.Pointer[error] // why no more shall be read; nil: it may

	// The last stretch of leastProgress bytes: when it ended, and how long it took. Other
	// goroutines read them.
	began   time.Time
	movedAt atomic.Int64 // nanoseconds since began
	stretch atomic.Int64 // nanoseconds
}

func newPacedBody(body io.Reader, controller *http.ResponseController, timeout time.Duration, isLate func() bool) *pacedBody {
	return &pacedBody{body: body, controller: controller, timeout: timeout, isLate: isLate, began: time.Now()}
}

func (b *pacedBody) Read(p []byte) (int, error) {
	if b.err != nil { // after the end a deadline would hit the next request of the connection
		return 0, b.err
	}
	if b.due <= 0 {
		if b.isLate() {
			b.err = errTooLate
			return 0, b.err
		}
		if b.total > 0 {
			b.noteStretch()
		}
		_ = b.controller.SetReadDeadline(time.Now().Add(b.timeout)) // only a writer without a connection cannot
		b.due = leastProgress
	}
	if cause := b.broken.Load(); cause != nil { // looked at after the deadline was moved, which breakOff moves back
		b.err = *cause
		return 0, b.err
	}
	n, err := b.body.Read(p)
	b.due -= int64(n)
	b.total += int64(n)
	if cause := b.broken.Load(); cause != nil && err != nil && !errors.Is(err, io.EOF) {
		err = *cause
	}
	b.err = err
	return n, err
}

func (b *pacedBody) noteStretch() {
	now := int64(time.Since(b.began))
	b.stretch.Store(now - b.movedAt.Load())
	b.movedAt.Store(now)
}

// pace is how long the body takes for leastProgress bytes: the last ones, or the next ones as far
// as they have taken longer. It may be called while another goroutine reads.
func (b *pacedBody) pace() time.Duration {
	return max(time.Duration(b.stretch.Load()), time.Since(b.began)-time.Duration(b.movedAt.Load()))
}

// breakOff makes a Read that waits, or the next one, fail with a cause. It may be called while
// another goroutine reads.
func (b *pacedBody) breakOff(cause error) {
	b.broken.CompareAndSwap(nil, &cause)
	_ = b.controller.SetReadDeadline(time.Now())
}

// errTooLate ends a body that nobody waits for any more.
var errTooLate = errors.New("the time for the upload is over")

// failed reports whether the body ended before its end.
func (b *pacedBody) failed() bool { return b.err != nil && !errors.Is(b.err, io.EOF) }
