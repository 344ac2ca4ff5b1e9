package container

import "bytes"

// Pictures coded as H.264 or H.265 are sequences of units. Of these stay the kinds that the
// standards describe and decoders use; one of them carries messages, of which again only those stay
// that say how to show the picture. The rest becomes filler, which is a kind of unit and of message
// that decoders skip.

// keptMessages are the messages that stay, each with its greatest length. Both standards number
// them alike.
var keptMessages = map[int]int{
	0: 64, 1: 64, 6: 8, // buffering, the timing of pictures, where to begin
	45: 16, 47: 8, // two pictures in one frame, which way is up
	129: 32, 130: 16, 131: 4, // what decoding begins with
	137: 24, 144: 4, 147: 4, 148: 8, // brightness and colours
	165: 8, // transparency
}

const messageFiller = 3

// unitKind sorts the units of a coding.
type unitKind byte

const (
	unitOther unitKind = iota // becomes filler
	unitKept
	unitMessages
	unitDolby // kept if it is what it should be
)

func kindOfH264(header byte) unitKind {
	switch kind := header & 0x1f; {
	case kind == 6:
		return unitMessages
	case kind >= 1 && kind <= 11, kind >= 13 && kind <= 16, kind >= 19 && kind <= 21:
		return unitKept
	}
	return unitOther
}

func kindOfH265(header byte) unitKind {
	switch kind := header >> 1 & 0x3f; {
	case kind == 39 || kind == 40:
		return unitMessages
	case kind <= 9, kind >= 16 && kind <= 21, kind >= 32 && kind <= 37:
		return unitKept
	case kind == 62:
		return unitDolby
	}
	return unitOther
}

func (l sampleLayout) kindOf(header byte) unitKind {
	if l.coding == codedH264 {
		return kindOfH264(header)
	}
	return kindOfH265(header)
}

// filler is the head of a unit of filler data.
func (l sampleLayout) filler() []byte {
	if l.coding == codedH264 {
		return []byte{12}
	}
	return []byte{38 << 1, 1}
}

var errBadUnits = unreadable("the video is damaged: its frames are not what it says they are")

// units cleans a sample: units, each behind its length.
func (c cleaner) units(layout sampleLayout, at, length int64) error {
	for end := at + length; end-at > layout.lengthSize; {
		prefix, err := c.bytes(at, int(layout.lengthSize))
		if err != nil {
			return err
		}
		var size int64
		for _, b := range prefix {
			size = size<<8 | int64(b)
		}
		at += layout.lengthSize
		if size > end-at {
			return errBadUnits
		}
		if err := c.unit(layout, at, size); err != nil {
			return err
		}
		at += size
	}
	return nil
}

func (c cleaner) unit(layout sampleLayout, at, size int64) error {
	head, err := c.bytes(at, int(min(size, 3)))
	if err != nil || size == 0 {
		return err
	}
	const dolbyMark = 0x19 // every such unit of a phone begins with it
	switch kind := layout.kindOf(head[0]); {
	case kind == unitKept, kind == unitDolby && len(head) == 3 && head[2] == dolbyMark:
		return nil
	case kind == unitMessages && size <= windowLength:
		return c.messages(at, int(size), len(layout.filler()))
	}
	return c.padding(at, size, layout.filler(), 0xff)
}

// messages turns the messages of a unit that do not stay into filler.
func (c cleaner) messages(at int64, size, header int) error {
	if len(c.edits.edits) > maxEdits {
		return errTooManyEdits
	}
	unit, err := c.bytes(at, size)
	if err != nil {
		return err
	}
	var cleaned []byte
	in := messageReader{unit: bytes.TrimRight(unit, "\x00"), next: min(header, size)}
	for in.more() {
		m := in.message()
		if longest, kept := keptMessages[m.kind]; kept && m.length <= longest && m.whole {
			continue
		}
		if cleaned == nil {
			cleaned = bytes.Clone(unit)
		}
		m.overwrite(cleaned, len(in.unit))
	}
	if cleaned != nil {
		keepEscapes(cleaned, unit)
		c.replace(at, unit, cleaned)
	}
	return nil
}

// message is where a message is in its unit.
type message struct {
	kind, length   int
	at, start, end int  // of its kind, and of what it says
	whole          bool // it ends before the unit does
}

// overwrite makes filler of a message. One that says it is longer than its unit is taken for the
// unit's end.
func (m message) overwrite(unit []byte, size int) {
	for i := m.start; i < m.end; i++ {
		unit[i] = 0xff
	}
	if unit[m.at] != 0xff && !(m.at >= 2 && unit[m.at-1] == 0 && unit[m.at-2] == 0) { // a kind of one byte, where a 3 is no escape
		unit[m.at] = messageFiller
	}
	if !m.whole {
		unit[size-1] = endBit
	}
}

// keepEscapes puts the bytes that escape two zeros back, with the zeros, so that whoever reads the
// unit counts as before.
func keepEscapes(cleaned, unit []byte) {
	zeros := 0
	for i, b := range unit {
		switch {
		case b == 3 && zeros >= 2:
			copy(cleaned[i-2:], unit[i-2:i+1])
			zeros = 0
		case b == 0:
			zeros++
		default:
			zeros = 0
		}
	}
}

// messageReader reads the messages of a unit, over the bytes that escape two zeros.
type messageReader struct {
	unit  []byte
	next  int
	zeros int
}

// more reports whether another message follows: its two numbers and the unit's last byte take three
// bytes at least.
func (r *messageReader) more() bool { return len(r.unit)-r.next >= 3 }

func (r *messageReader) message() (m message) {
	m.at = r.next
	m.kind, m.length = r.number(), r.number()
	m.start = r.next
	m.whole = r.skip(m.length)
	m.end = r.next
	return m
}

// step takes a byte, and reports whether it was an escape.
func (r *messageReader) step() (b byte, escape bool) {
	b = r.unit[r.next]
	r.next++
	if r.zeros >= 2 && b == 3 {
		r.zeros = 0
		return b, true
	}
	if b == 0 {
		r.zeros++
	} else {
		r.zeros = 0
	}
	return b, false
}

// number reads a number that is written as a sum of bytes, of which only the last is not 255.
func (r *messageReader) number() (sum int) {
	for r.next < len(r.unit) {
		b, escape := r.step()
		if escape {
			continue
		}
		sum += int(b)
		if b != 0xff {
			break
		}
	}
	return sum
}

// skip steps over so many bytes, and reports whether they are there before the unit's last byte.
func (r *messageReader) skip(length int) bool {
	for length > 0 && r.next < len(r.unit) {
		if _, escape := r.step(); !escape {
			length--
		}
	}
	return length == 0 && r.next < len(r.unit)
}
