package container

import (
	"bufio"
	"cmp"
	"io"
	"slices"
)

// plan is a file to be written: a list of ranges of the source, literal bytes, and runs of one
// byte. Writing it is one pass over the source.
type plan struct {
	pieces []piece
	size   int64
}

type piece struct {
	literal []byte // if set, the piece is these bytes
	at      int64  // offset in the source, or filled
	length  int64
	fill    byte // the byte of a filled piece
}

const filled = -1

func (p *plan) copy(at, length int64) {
	if length == 0 {
		return
	}
	p.size += length
	if n := len(p.pieces); n > 0 {
		if last := &p.pieces[n-1]; last.literal == nil && last.at != filled && last.at+last.length == at {
			last.length += length
			return
		}
	}
	p.pieces = append(p.pieces, piece{at: at, length: length})
}

func (p *plan) write(literal []byte) {
	p.size += int64(len(literal))
	p.pieces = append(p.pieces, piece{literal: literal, length: int64(len(literal))})
}

func (p *plan) fill(length int64, with byte) {
	p.size += length
	p.pieces = append(p.pieces, piece{at: filled, length: length, fill: with})
}

func (p *plan) append(other plan) {
	p.pieces = append(p.pieces, other.pieces...)
	p.size += other.size
}

// writeTo writes the file. Pieces can be a few bytes long, so reading and writing are buffered.
func (p *plan) writeTo(w io.Writer, from *source) (written int64, err error) {
	buffered := bufio.NewWriterSize(w, 256<<10)
	from = from.fork()
	for _, one := range p.pieces {
		if err := one.writeTo(buffered, from); err != nil {
			return written, err
		}
		written += one.length
	}
	return written, buffered.Flush()
}

func (p piece) writeTo(w *bufio.Writer, from *source) error {
	if p.literal != nil {
		_, err := w.Write(p.literal)
		return err
	}
	if p.at == filled {
		return p.writeFill(w)
	}
	for at, end := p.at, p.at+p.length; at < end; {
		data, err := from.bytes(at, int(min(end-at, windowLength)))
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
		at += int64(len(data))
	}
	return nil
}

func (p piece) writeFill(w *bufio.Writer) error {
	var run [512]byte
	for i := range run {
		run[i] = p.fill
	}
	for left := p.length; left > 0; {
		n, err := w.Write(run[:min(left, int64(len(run)))])
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

// overlay is a list of edits that keep the offsets of all other bytes. Formats whose parts refer to
// each other by offset are cleaned this way.
type overlay struct {
	edits []edit
}

type edit struct {
	at, length int64
	literal    []byte // nil: a run of fill
	fill       byte
}

// maxEdits bounds the memory of edits. A video of an hour has some ten thousand.
const maxEdits = 1 << 20

var errTooManyEdits = problem(CodeTooComplex, "the file is made of too many parts")

// errChangedTwice refuses a file with overlapping parts that no reader refused before.
var errChangedTwice = unreadable("the file is damaged: two of its parts are in the same place")

func (o *overlay) patch(at int64, literal ...byte) {
	o.edits = append(o.edits, edit{at: at, length: int64(len(literal)), literal: literal})
}

func (o *overlay) erase(at, length int64) { o.fill(at, length, 0) }

func (o *overlay) fill(at, length int64, with byte) {
	if length > 0 {
		o.edits = append(o.edits, edit{at: at, length: length, fill: with})
	}
}

// plan returns the first size bytes of the source with the edits applied.
func (o *overlay) plan(size int64) (plan, error) {
	if len(o.edits) > maxEdits {
		return plan{}, errTooManyEdits
	}
	slices.SortFunc(o.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var p plan
	for _, e := range o.edits {
		if e.at < p.size || e.at+e.length > size {
			return plan{}, errChangedTwice
		}
		p.copy(p.size, e.at-p.size)
		if e.literal != nil {
			p.write(e.literal)
		} else {
			p.fill(e.length, e.fill)
		}
	}
	p.copy(p.size, size-p.size)
	return p, nil
}
