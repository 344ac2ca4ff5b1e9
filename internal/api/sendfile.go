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

// part is a range of bytes of a file.
type part struct{ offset, length int64 }

const (
	sendfileBytes   = 1 << 20  // sent by the kernel between two deadlines
	copyBufferBytes = 32 << 10 // sent through a buffer between two deadlines
)

var copyBuffers = sync.Pool{New: func() any { return new([copyBufferBytes]byte) }}

// errClientLeft is the error of a transfer whose client disconnected or stalled.
var errClientLeft = errors.New("the client stopped receiving")

// sendPart sends a part of a local file after the header was written. The kernel copies it from the
// disk to the network. It fails when the client stalls.
func (req *request) sendPart(file *os.File, rest part, timeout time.Duration) (sent int64, err error) {
	if rest.offset > 0 {
		if _, err := file.Seek(rest.offset, io.SeekStart); err != nil {
			return 0, err
		}
	}
	controller := http.NewResponseController(req.ResponseWriter)
	for sent < rest.length {
		_ = controller.SetWriteDeadline(time.Now().Add(timeout))
		if sent == 0 {
			// After the header is sent, net/http does not read the file's first bytes itself. An
			// error shows below.
			_ = controller.Flush()
		}
		n, err := io.CopyN(req.ResponseWriter, file, min(rest.length-sent, sendfileBytes))
		sent += n
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || n < minProgress) { // a slow client may continue
			return sent, transferError(err)
		}
	}
	return sent, nil
}

// sendStream sends length bytes of a source that is not a local file.
func (req *request) sendStream(source io.Reader, length int64, timeout time.Duration) (sent int64, err error) {
	buffer := copyBuffers.Get().(*[copyBufferBytes]byte)
	defer copyBuffers.Put(buffer)
	controller := http.NewResponseController(req.ResponseWriter)
	for sent < length {
		n, err := io.ReadFull(source, buffer[:min(length-sent, copyBufferBytes)])
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

// sendMedia sends a part of the media. The stream is nil for a local file.
func (req *request) sendMedia(media app.Media, stream io.Reader, asked part, timeout time.Duration) (int64, error) {
	if stream != nil {
		return req.sendStream(stream, asked.length, timeout)
	}
	return req.sendPart(media.File, asked, timeout)
}

// transferError returns errClientLeft for an error of the connection, and other errors as they are.
func transferError(err error) error {
	var timeout net.Error
	for _, connectionError := range []error{syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed, http.ErrHandlerTimeout} {
		if errors.Is(err, connectionError) {
			return errors.Join(errClientLeft, err)
		}
	}
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.Join(errClientLeft, err)
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF // the file is shorter than its Content-Length
	}
	return err
}
