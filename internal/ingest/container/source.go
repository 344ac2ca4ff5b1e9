package container

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// windowLength is how much of a file is held in memory. Files are read forwards in small steps, so
// nearly every step finds its bytes in the window.
const windowLength = 64 << 10

// source reads a file of known size through one window: many small steps cost few system calls and
// constant memory.
type source struct {
	r      io.ReaderAt
	size   int64
	window []byte // the bytes at start
	start  int64
	buffer []byte
}

func newSource(r io.ReaderAt, size int64) *source { return &source{r: r, size: size} }

// fork returns a second window into the same file, for tables that are read in parallel.
func (s *source) fork() *source { return &source{r: s.r, size: s.size} }

// bytes returns n bytes at an offset, at most windowLength. They are valid until the next call.
func (s *source) bytes(at int64, n int) ([]byte, error) {
	if n < 0 || n > windowLength {
		return nil, fmt.Errorf("read of %d bytes exceeds the window", n)
	}
	if at < 0 || at > s.size || int64(n) > s.size-at {
		return nil, unreadable("the file ends in the middle of a part: it was cut off or is damaged")
	}
	if at < s.start || at+int64(n) > s.start+int64(len(s.window)) {
		if err := s.move(at); err != nil {
			return nil, err
		}
	}
	from := int(at - s.start)
	return s.window[from : from+n : from+n], nil
}

func (s *source) move(at int64) error {
	if s.buffer == nil {
		s.buffer = make([]byte, min(windowLength, s.size))
	}
	length := min(int64(len(s.buffer)), s.size-at)
	n, err := s.r.ReadAt(s.buffer[:length], at)
	if int64(n) < length {
		s.window = nil
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the file shrank: not its sender's fault
		}
		return fmt.Errorf("read the uploaded file: %w", err)
	}
	s.window, s.start = s.buffer[:length], at
	return nil
}

// rest returns as many bytes as the window holds from an offset: at least one before the end of the
// file.
func (s *source) rest(at int64) ([]byte, error) {
	return s.bytes(at, int(max(0, min(windowLength, s.size-at))))
}

// head returns the first n bytes of the file, or all of them if it is shorter.
func (s *source) head(n int) ([]byte, error) { return s.bytes(0, int(min(int64(n), s.size))) }

// load returns a copy of a range that outlives the window.
func (s *source) load(at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || at > s.size || n > s.size-at {
		return nil, unreadable("the file ends in the middle of a part: it was cut off or is damaged")
	}
	loaded := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(s.r, at, n), loaded); err != nil {
		return nil, fmt.Errorf("read the uploaded file: %w", err)
	}
	return loaded, nil
}

func (s *source) uint16(at int64) (uint16, error) {
	b, err := s.bytes(at, 2)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint16(b), nil
}

func (s *source) uint32(at int64) (uint32, error) {
	b, err := s.bytes(at, 4)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b), nil
}

func (s *source) uint64(at int64) (uint64, error) {
	b, err := s.bytes(at, 8)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}
