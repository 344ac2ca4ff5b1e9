package api

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/sortie-labs/sortie/internal/app"
)

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
func (req *request) sendPart(file *os.File, rest part, timeout time.Duration) (sent int64, err error) {
	if rest.offset > 0 { // it was just opened
		if _, err := file.Seek(rest.offset, io.SeekStart); err != nil {
			return 0, err
		}
	}
	controller := http.NewResponseController(req.ResponseWriter)
	for sent < rest.length {
		_ = controller.SetWriteDeadline(time.Now().Add(timeout))
		if sent == 0 {
			_ = controller.Flush() // what fails here fails below. With its header out, net/http does not read the file's first bytes itself
		}
		n, err := io.CopyN(req.ResponseWriter, file, min(rest.length-sent, sentByKernel))
		sent += n
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || n < leastProgress) { // a slow client may go on
			return sent, transferError(err)
		}
	}
	return sent, nil
}

// sendStream sends length bytes of what is read from elsewhere.
func (req *request) sendStream(source io.Reader, length int64, timeout time.Duration) (sent int64, err error) {
	buffer := copyBuffers.Get().(*[sentByHand]byte)
	defer copyBuffers.Put(buffer)
	controller := http.NewResponseController(req.ResponseWriter)
	for sent < length {
		n, err := io.ReadFull(source, buffer[:min(length-sent, sentByHand)])
		if err != nil {
			return sent, err
		}
		_ = controller.SetWriteDeadline(time.Now().Add(timeout))
		if n, err = req.Write(buffer[:n]); err != nil {
			return sent + int64(n), transferError(err)
		}
		sent += int64(n)
	}
	return sent, nil
}

// sendMedia sends a part of the media, whichever way it is kept. The stream is nil for a file on
// this machine.
func (req *request) sendMedia(media app.Media, stream io.Reader, asked part, timeout time.Duration) (int64, error) {
	if stream != nil {
		return req.sendStream(stream, asked.length, timeout)
	}
	return req.sendPart(media.File, asked, timeout)
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
