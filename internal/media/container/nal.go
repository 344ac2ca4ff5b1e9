package container

// Pictures coded as H.264 or H.265 are sequences of units, and one kind of unit carries messages beside the picture. One kind of
// message is "user data": cameras and drones leave the place and the settings in it, frame by frame. It is overwritten; nothing is
// needed of it to decode.

const (
	messageUserData = 5
	maxMessageUnit  = windowLength
)

// unitLayout says how the units of a track's samples are found.
type unitLayout struct {
	lengthSize int64 // bytes of a unit's length; 0: the samples are not made of units
	headerSize int   // bytes of a unit's header
	isMessages func(header byte) bool
}

// readUnitLayout takes the layout from the decoder's configuration.
func (w *movieWalk) readUnitLayout(t *track, b box) error {
	configuration := w.value(b.body(), b.end(), 23)
	switch {
	case b.kind == "avcC" && len(configuration) > 4:
		t.units = unitLayout{int64(configuration[4]&3) + 1, 1, func(header byte) bool { return header&0x1f == 6 }}
	case b.kind == "hvcC" && len(configuration) == 23:
		t.units = unitLayout{int64(configuration[21]&3) + 1, 2, isH265Messages}
		return w.configuredUnits(t, b, int(configuration[22]))
	}
	return nil
}

func isH265Messages(header byte) bool { return header>>1&0x3f == 39 || header>>1&0x3f == 40 }

// configuredUnits goes through the units that the configuration of H.265 itself holds: lists of units of one kind each.
func (w *movieWalk) configuredUnits(t *track, b box, lists int) error {
	in := fieldReader{source: w.source, at: b.body() + 23, end: b.end()}
	for range lists {
		in.take(1) // the kind, which the units say themselves
		for range in.uint16() {
			size := int64(in.uint16())
			if in.err != nil || size > in.end-in.at {
				return errBadUnits
			}
			header := w.value(in.at, in.at+size, 1)
			if len(header) == 1 && isH265Messages(header[0]) {
				if err := w.eraseMessages(&t.edits, in.at, size, t.units.headerSize); err != nil {
					return err
				}
			}
			in.at += size
		}
	}
	return nil
}

var errBadUnits = unreadable("the video is damaged: its frames are not what it says they are")

// eraseUserData overwrites the user data in a sample.
func (w *movieWalk) eraseUserData(units unitLayout, at, length int64) error {
	if units.lengthSize == 0 {
		return nil
	}
	for end := at + length; end-at > units.lengthSize; {
		prefix, err := w.source.bytes(at, int(units.lengthSize)+1)
		if err != nil {
			return err
		}
		var size int64
		for _, b := range prefix[:units.lengthSize] {
			size = size<<8 | int64(b)
		}
		at += units.lengthSize
		if size > end-at {
			return errBadUnits
		}
		if size > 0 && units.isMessages(prefix[units.lengthSize]) {
			if err := w.eraseMessages(&w.edits, at, size, units.headerSize); err != nil {
				return err
			}
		}
		at += size
	}
	return nil
}

// eraseMessages overwrites the user data among the messages of a unit.
func (w *movieWalk) eraseMessages(o *overlay, at, size int64, header int) error {
	if size > maxMessageUnit {
		return errBadUnits
	}
	unit, err := w.source.bytes(at, int(size))
	if err != nil {
		return err
	}
	if len(o.edits) > maxEdits {
		return errTooManyEdits
	}
	in := messageReader{unit: unit, next: header}
	for in.more() {
		kind, length := in.number(), in.number()
		start := in.next
		escapes := in.skip(length)
		if kind == messageUserData && in.next > start {
			o.patch(at+int64(start), overwritten(unit[start:in.next], start, escapes)...)
		}
	}
	return nil
}

// overwritten is as long as the data and says nothing. Bytes that escape two zeros stay, with the zeros, so that whoever reads the
// messages counts as before.
func overwritten(data []byte, start int, escapes []int) []byte {
	blank := make([]byte, len(data))
	for i := range blank {
		blank[i] = 0xff
	}
	for _, escape := range escapes {
		for i := max(escape-2, start); i <= escape; i++ {
			blank[i-start] = data[i-start]
		}
	}
	return blank
}

// messageReader reads the messages of a unit, over the bytes that escape two zeros.
type messageReader struct {
	unit  []byte
	next  int
	zeros int
}

// more reports whether another message follows: its two numbers and the unit's last byte take three bytes at least.
func (r *messageReader) more() bool { return len(r.unit)-r.next >= 3 }

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

// skip steps over so many bytes, or to the end, and gives where the escapes among them are.
func (r *messageReader) skip(length int) (escapes []int) {
	for length > 0 && r.next < len(r.unit) {
		if _, escape := r.step(); escape {
			escapes = append(escapes, r.next-1)
		} else {
			length--
		}
	}
	return escapes
}
