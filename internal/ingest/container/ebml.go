package container

// element is the unit of WebM files: an id of up to four bytes, a length of up to eight, and a
// body.
type element struct {
	id            uint32
	at, body, end int64
	open          bool // of unknown length: it ends at the next element of its level, or with the file
}

// maxElements is the number of elements that are read of a file. Three hours of pictures and sound
// have two million.
const maxElements = 1 << 22

// elementAt reads the header of an element, which must fit into its parent.
func (w *webmWalk) elementAt(at, end int64) (element, error) {
	if w.elements++; w.elements > maxElements {
		return element{}, problem(CodeTooComplex, "the video is made of more than %d parts", maxElements)
	}
	if len(w.edits.edits) > maxEdits {
		return element{}, errTooManyEdits
	}
	id, idLength, err := w.number(at, end, 4)
	if err != nil {
		return element{}, err
	}
	size, sizeLength, err := w.number(at+idLength, end, 8)
	if err != nil {
		return element{}, err
	}
	e := element{id: uint32(id), at: at, body: at + idLength + sizeLength, end: end}
	marker := uint64(1) << (7 * sizeLength)
	if size -= marker; size == marker-1 {
		e.open = true
		return e, nil
	}
	if size > uint64(end-e.body) {
		return element{}, unreadable("the video is cut off or damaged: its part %#x has a length of %d and there are %d bytes", e.id, size, end-e.body)
	}
	e.end = e.body + int64(size)
	return e, nil
}

// number reads a number whose first byte encodes its length. The length bit is part of the value.
func (w *webmWalk) number(at, end int64, longest int) (value uint64, length int64, err error) {
	available := int(min(int64(longest), end-at))
	if available <= 0 {
		return 0, 0, unreadable("the video is cut off or damaged")
	}
	bytes, err := w.source.bytes(at, available)
	if err != nil {
		return 0, 0, err
	}
	n := 1
	for mask := byte(0x80); n <= longest && bytes[0]&mask == 0; mask >>= 1 {
		n++
	}
	if n > available {
		return 0, 0, unreadable("the video is damaged: a part of it has no id or no length")
	}
	for _, b := range bytes[:n] {
		value = value<<8 | uint64(b)
	}
	return value, int64(n), nil
}

// void turns an element into a Void element of the same length.
func (o *overlay) void(e element) {
	// The id takes one byte; the length takes as many bytes as it needs.
	total := e.end - e.at
	for n := int64(1); ; n++ {
		if rest := total - 1 - n; rest < 1<<(7*n)-1 || n == 8 {
			head := make([]byte, 1+n)
			head[0] = idVoid
			size := uint64(rest) | 1<<(7*n)
			for i := n; i > 0; i-- {
				head[i] = byte(size)
				size >>= 8
			}
			o.patch(e.at, head...)
			o.erase(e.at+1+n, rest)
			return
		}
	}
}

// unsigned reads the body of an element as a number.
func (w *webmWalk) unsigned(e element) (uint64, error) {
	if e.end-e.body > 8 {
		return 0, unreadable("the video is damaged: a number in it has %d bytes", e.end-e.body)
	}
	bytes, err := w.source.bytes(e.body, int(e.end-e.body))
	if err != nil {
		return 0, err
	}
	var value uint64
	for _, b := range bytes {
		value = value<<8 | uint64(b)
	}
	return value, nil
}
