package container

import "bytes"

// H.264 and H.265 pictures are sequences of units. Kept are the kinds that decoders use. One kind
// carries messages (SEI), of which those are kept that define how to show the picture. Other units
// and messages become filler, which decoders skip.

// keptMessages are the messages that are kept, with their maximum lengths. Both standards use the
// same numbers.
var keptMessages = map[int]int{
	0: 64, 1: 64, 6: 8, // buffering period, picture timing, recovery point
	45: 16, 47: 8, // frame packing, display orientation
	129: 32, 130: 16, 131: 4, // active parameter sets, decoding unit info, temporal sub-layer index
	137: 24, 144: 4, 147: 4, 148: 8, // mastering display, light level, transfer characteristics, ambient light
	165: 8, // alpha channel
}

const messageFiller = 3

// unitKind is how a unit is treated.
type unitKind byte

const (
	unitOther unitKind = iota // becomes filler
	unitKept
	unitMessages
	unitDolby // kept if it has the mark of Dolby metadata
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

// filler is the header of a unit of filler data.
func (l sampleLayout) filler() []byte {
	if l.coding == codedH264 {
		return []byte{12}
	}
	return []byte{38 << 1, 1}
}

var errBadUnits = unreadable("the video is damaged: its frames do not match their description")

// units cleans a sample: a sequence of units, each after its length.
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
	const dolbyMark = 0x19 // the first byte of Dolby metadata as phones write it
	switch kind := layout.kindOf(head[0]); {
	case kind == unitKept, kind == unitDolby && len(head) == 3 && head[2] == dolbyMark:
		return nil
	case kind == unitMessages && size <= windowLength:
		return c.messages(at, int(size), len(layout.filler()))
	}
	return c.padding(at, size, layout.filler(), 0xff)
}

// messages turns the messages of a unit that are not kept into filler.
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

// message is the position of a message in its unit.
type message struct {
	kind, length   int
	at, start, end int  // of its kind, and of its payload
	whole          bool // it ends before the unit does
}

// overwrite turns a message into filler. A message that is longer than its unit becomes the end of
// the unit.
func (m message) overwrite(unit []byte, size int) {
	for i := m.start; i < m.end; i++ {
		unit[i] = 0xff
	}
	if unit[m.at] != 0xff && !(m.at >= 2 && unit[m.at-1] == 0 && unit[m.at-2] == 0) { // a kind of one byte, and 3 would not be an escape
		unit[m.at] = messageFiller
	}
	if !m.whole {
		unit[size-1] = endBit
	}
}

// keepEscapes restores the bytes that escape two zeros, with the zeros, so that positions in the
// unit stay the same for a reader.
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

// messageReader reads the messages of a unit and skips the bytes that escape two zeros.
type messageReader struct {
	unit  []byte
	next  int
	zeros int
}

// more reports whether another message follows: two numbers and the last byte of the unit take at
// least three bytes.
func (r *messageReader) more() bool { return len(r.unit)-r.next >= 3 }

func (r *messageReader) message() (m message) {
	m.at = r.next
	m.kind, m.length = r.number(), r.number()
	m.start = r.next
	m.whole = r.skip(m.length)
	m.end = r.next
	return m
}

// step reads a byte and reports whether it is an escape.
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

// number reads a number that is coded as a sum of bytes, of which only the last is not 255.
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

// skip skips length bytes and reports whether they end before the last byte of the unit.
func (r *messageReader) skip(length int) bool {
	for length > 0 && r.next < len(r.unit) {
		if _, escape := r.step(); !escape {
			length--
		}
	}
	return length == 0 && r.next < len(r.unit)
}
