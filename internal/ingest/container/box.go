package container

import "encoding/binary"

// box is the unit of MP4 and QuickTime files: a length, a type of four letters, and a body.
type box struct {
	kind     string
	at, size int64 // of the whole box
	header   int64 // 8 bytes, or 16 when the length takes 64 bits
}

func (b box) body() int64   { return b.at + b.header }
func (b box) end() int64    { return b.at + b.size }
func (b box) length() int64 { return b.size - b.header }

// maxBoxes is the number of boxes that are read of a file. Three hours in fragments of a second
// have 150 thousand.
const maxBoxes = 1 << 19

var errTooManyBoxes = problem(CodeTooComplex, "the video is made of more than %d parts", maxBoxes)

// eachBox calls fn for the boxes that fill a range of the file exactly. Each must fit into its
// parent. A box of length zero, which reaches to the end of the file, is refused.
func (w *movieWalk) eachBox(at, end int64, fn func(box) error) error {
	for at < end {
		b, err := w.boxAt(at, end)
		if err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
		at = b.end()
	}
	return nil
}

func (w *movieWalk) boxAt(at, end int64) (box, error) {
	if w.boxes++; w.boxes > maxBoxes {
		return box{}, errTooManyBoxes
	}
	if end-at < 8 {
		return box{}, unreadable("the video is damaged: %d bytes are left over", end-at)
	}
	header, err := w.source.bytes(at, 8)
	if err != nil {
		return box{}, err
	}
	b := box{kind: string(header[4:]), at: at, size: int64(binary.BigEndian.Uint32(header)), header: 8}
	if b.size == 1 {
		large, err := w.source.uint64(at + 8)
		if err != nil {
			return box{}, err
		}
		b.header, b.size = 16, int64(min(large, 1<<62))
	}
	if b.size < b.header || b.size > end-at {
		return box{}, unreadable("the video is cut off or damaged: its part %q has a length of %d and there are %d bytes", printable([]byte(b.kind)), b.size, end-at)
	}
	return b, nil
}

var freeKind = []byte("free")

// blank turns a box into free space of the same length.
func (o *overlay) blank(b box) {
	if b.kind != string(freeKind) {
		o.patch(b.at+4, freeKind...)
	}
	o.erase(b.body(), b.length())
}

// trim erases the body of a box after its first length bytes.
func (o *overlay) trim(b box, length int64) { o.erase(b.body()+length, b.length()-length) }

// table is a box of entries of one width, after a version, flags and the number of entries.
type table struct {
	*source
	at    int64 // of the next entry
	left  uint32
	width int64
}

// readTable opens a table whose entry count is skip bytes after its version and flags. It erases
// what follows the last entry.
func (w *movieWalk) readTable(o *overlay, b box, skip, width int64) (table, error) {
	at := b.body() + 4 + skip
	if at+4 > b.end() {
		return table{}, errShortBox(b)
	}
	count, err := w.source.uint32(at)
	if err != nil {
		return table{}, err
	}
	t := table{at: at + 4, left: count, width: width}
	last := t.at + int64(count)*width
	if last > b.end() {
		return table{}, unreadable("the video is damaged: its table %q has %d entries but is too short for them", printable([]byte(b.kind)), count)
	}
	o.erase(last, b.end()-last)
	return t, nil
}

func errShortBox(b box) error {
	return unreadable("the video is damaged: its part %q is too short", printable([]byte(b.kind)))
}

// through gives the table its own window, so that several tables can be read in parallel.
func (t table) through(s *source) table {
	t.source = s.fork()
	return t
}

// next returns the bytes of the next entry. Do not call it more often than there are entries.
func (t *table) next() ([]byte, error) {
	entry, err := t.bytes(t.at, int(t.width))
	t.at += t.width
	t.left--
	return entry, err
}

// fieldReader reads the fields of a box in order and keeps the first error.
type fieldReader struct {
	*source
	at, end int64
	err     error
}

func (r *fieldReader) take(n int) []byte {
	var none [8]byte
	if r.err != nil {
		return none[:]
	}
	if int64(n) > r.end-r.at {
		r.err = unreadable("the video is damaged: one of its parts is too short")
		return none[:]
	}
	var field []byte
	if field, r.err = r.bytes(r.at, n); r.err != nil {
		return none[:]
	}
	r.at += int64(n)
	return field
}

func (r *fieldReader) uint16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *fieldReader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *fieldReader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }
