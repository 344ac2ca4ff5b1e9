package api

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sortie-labs/sortie/internal/app"
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

// part is a stretch of a file.
type part struct{ offset, length int64 }

const (
	sentByKernel = 1 << 20  // between two looks at the clock
	sentByHand   = 32 << 10 // a buffer
)

var copyBuffers = sync.Pool{New: func() any { return new([sentByHand]byte) }}

// errClientLeft is the error of a transfer whose client went away, or stood still for too long.
var errClientLeft = errors.New("the client stopped receiving")

// sendPart sends a part of a file, whose header is written, for as long as the client takes it. A
// file on this machine goes from the disk to the network inside the kernel.
func (x *exchange) sendPart(file *os.File, rest part, timeout time.Duration) (sent int64, err error) {
	if rest.offset > 0 { // it was just opened
		if _, err := file.Seek(rest.offset, io.SeekStart); err != nil {
			return 0, err
		}
	}
	controller := http.NewResponseController(x.ResponseWriter)
	for sent < rest.length {
		_ = controller.SetWriteDeadline(time.Now().Add(timeout))
		if sent == 0 {
			_ = controller.Flush() // what fails here fails below. With its header out, net/http does not read the file's first bytes itself
		}
		n, err := io.CopyN(x.ResponseWriter, file, min(rest.length-sent, sentByKernel))
		sent += n
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || n < leastProgress) { // a slow client may go on
			return sent, transferError(err)
		}
	}
	return sent, nil
}

// sendStream sends length bytes of what is read from elsewhere.
func (x *exchange) sendStream(source io.Reader, length int64, timeout time.Duration) (sent int64, err error) {
	buffer := copyBuffers.Get().(*[sentByHand]byte)
	defer copyBuffers.Put(buffer)
	controller := http.NewResponseController(x.ResponseWriter)
	for sent < length {
		n, err := io.ReadFull(source, buffer[:min(length-sent, sentByHand)])
		if err != nil {
			return sent, err
		}
		_ = controller.SetWriteDeadline(time.Now().Add(timeout))
		if n, err = x.Write(buffer[:n]); err != nil {
			return sent + int64(n), transferError(err)
		}
		sent += int64(n)
	}
	return sent, nil
}

// sendMedia sends a part of the media, whichever way it is kept. The stream is nil for a file on
// this machine.
func (x *exchange) sendMedia(media app.Media, stream io.Reader, asked part, timeout time.Duration) (int64, error) {
	if stream != nil {
		return x.sendStream(stream, asked.length, timeout)
	}
	return x.sendPart(media.File, asked, timeout)
}

// transferError tells a client that left from a file that cannot be read.
func transferError(err error) error {
	var timeout net.Error
	for _, theirs := range []error{syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed, http.ErrHandlerTimeout} {
		if errors.Is(err, theirs) {
			return errors.Join(errClientLeft, err)
		}
	}
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.Join(errClientLeft, err)
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF // the file is shorter than was promised
	}
	return err
}
