package container

import "bytes"

// coding is how the pictures of a track are coded, as far as it matters for cleaning samples.
type coding byte

const (
	codedOtherwise coding = iota // without room for data other than the picture
	codedH264
	codedH265
	codedAV1
	codedMPEG4 // part 2 of the standard, which cameras used before H.264
)

// sampleLayout describes how to find the data in samples that is not picture data.
type sampleLayout struct {
	coding     coding
	lengthSize int64 // H.264 and H.265: bytes of a unit's length
}

// cleaner overwrites data in samples that is not needed to decode them: cameras and drones write
// location and settings into every frame. All lengths stay unchanged.
type cleaner struct {
	*source
	edits *overlay
}

func (c cleaner) sample(layout sampleLayout, at, length int64) error {
	switch layout.coding {
	case codedH264, codedH265:
		return c.units(layout, at, length)
	case codedAV1:
		return c.obus(at, length)
	case codedMPEG4:
		return c.userData(at, at+length)
	}
	return nil
}

// replace records one edit that covers all differences between the bytes that were read and the
// wanted ones.
func (c cleaner) replace(at int64, was, is []byte) {
	first, last := 0, len(was)
	for first < last && was[first] == is[first] {
		first++
	}
	for last > first && was[last-1] == is[last-1] {
		last--
	}
	if first < last {
		c.edits.patch(at+int64(first), bytes.Clone(is[first:last])...)
	}
}

// padding overwrites a range by a header, a run of one byte, and the end bit. A range that is
// padding already is left unchanged: encoders with a constant bit rate pad most frames.
func (c cleaner) padding(at, size int64, head []byte, fill byte) error {
	if len(c.edits.edits) > maxEdits {
		return errTooManyEdits
	}
	head = head[:min(int64(len(head)), size)]
	if size <= windowLength {
		was, err := c.bytes(at, int(size))
		if err != nil || isPadding(was, head, fill) {
			return err
		}
	}
	c.edits.patch(at, head...)
	if rest := size - int64(len(head)); rest > 0 {
		c.edits.fill(at+int64(len(head)), rest-1, fill)
		c.edits.patch(at+size-1, endBit)
	}
	return nil
}

// endBit is the last byte of a unit that ends at a byte boundary.
const endBit = 0x80

func isPadding(data, head []byte, fill byte) bool {
	rest, found := bytes.CutPrefix(data, head)
	if !found || len(rest) == 0 {
		return found
	}
	last := len(rest) - 1
	return rest[last] == endBit && bytes.Count(rest[:last], []byte{fill}) == last
}
