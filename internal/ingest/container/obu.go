package container

// AV1 pictures are sequences of units (OBUs). Metadata, padding and reserved kinds become padding,
// except for metadata that defines how to show the picture.

const (
	obuMetadata = 5
	obuPadding  = 15
	maxOBUType  = 8 // the last kind with a meaning, except for padding
)

// obus cleans a sample of AV1, or the units in a decoder configuration.
func (c cleaner) obus(at, length int64) error {
	for end := at + length; at < end; {
		u, err := c.obuAt(at, end)
		if err != nil {
			return err
		}
		if !u.kept {
			if err := c.padding(u.body, u.end-u.body, nil, 0); err != nil {
				return err
			}
			if u.header != u.padding() {
				c.edits.patch(at, u.padding())
			}
		}
		at = u.end
	}
	return nil
}

type obu struct {
	header    byte
	body, end int64
	kept      bool
}

// padding is the header of a padding unit with the same optional fields.
func (u obu) padding() byte { return u.header&0x86 | obuPadding<<3 }

// obuAt reads the header of a unit. The last unit may omit its length.
func (c cleaner) obuAt(at, end int64) (u obu, err error) {
	head, err := c.bytes(at, int(min(end-at, 11))) // header, extension, length of up to eight bytes, kind of metadata
	if err != nil {
		return u, err
	}
	u = obu{header: head[0], end: end}
	next := 1
	if u.header&0x04 != 0 {
		next++
	}
	if u.header&0x02 != 0 {
		var size uint64
		for shift := 0; ; shift += 7 {
			if next >= len(head) || shift > 49 {
				return u, errBadUnits
			}
			b := head[next]
			next++
			size |= uint64(b&0x7f) << shift
			if b&0x80 == 0 {
				break
			}
		}
		if size > uint64(end-at)-uint64(next) {
			return u, errBadUnits
		}
		u.end = at + int64(next) + int64(size)
	}
	if u.body = at + int64(next); u.body > u.end {
		return u, errBadUnits
	}
	kind := u.header >> 3 & 0x0f
	u.kept = kind >= 1 && kind <= maxOBUType && kind != obuMetadata
	if kind == obuMetadata && u.body < u.end && next < len(head) {
		u.kept = keptMetadata(head[next], u.end-u.body)
	}
	return u, nil
}

// keptMetadata reports whether metadata is kept: light level, mastering display and scalability.
func keptMetadata(kind byte, length int64) bool {
	longest := map[byte]int64{1: 6, 2: 26, 3: 1024}[kind]
	return length <= longest
}
