package container

import (
	"bytes"
	"regexp"
)

const (
	objectMPEG4     = 0x20 // MPEG-4 part 2
	esDescriptor    = 3
	decoderConfig   = 4
	decoderSpecific = 5
)

// elementaryStream reads the box that names the coding of "mp4v". Only MPEG-4 pictures are
// accepted: the same name is used for videos whose frames are JPEG or PNG files, each with its own
// metadata.
func (w *movieWalk) elementaryStream(t *track, b box) error {
	in := fieldReader{source: w.source, at: b.body() + 4, end: b.end()}
	in.descriptor(esDescriptor)
	in.take(2)
	if flags := in.take(1)[0]; flags&0xe0 != 0 {
		return unreadable("the video is damaged: its pictures depend on another stream")
	}
	in.descriptor(decoderConfig)
	object := in.take(1)[0]
	in.take(12)
	if in.err != nil {
		return in.err
	}
	if object != objectMPEG4 {
		return problem(CodeUnsupported, "the video is coded as object type %#x, which is not accepted; send H.264, H.265, AV1 or VP9", object)
	}
	if in.at < in.end {
		if end := in.descriptor(decoderSpecific); in.err == nil {
			return cleaner{w.source, &t.edits}.userData(in.at, end)
		}
	}
	return nil
}

// descriptor reads the header of a descriptor: its kind, and its length in groups of seven bits. It
// returns the end of the descriptor.
func (r *fieldReader) descriptor(kind byte) (end int64) {
	if got := r.take(1)[0]; r.err == nil && got != kind {
		r.err = unreadable("the video is damaged: its description has a part %d where %d belongs", got, kind)
	}
	var length int64
	for range 4 {
		b := r.take(1)[0]
		length = length<<7 | int64(b&0x7f)
		if b&0x80 == 0 {
			break
		}
	}
	if r.err == nil && length > r.end-r.at {
		r.err = unreadable("the video is damaged: one of its parts is too short")
	}
	return r.at + length
}

var (
	startCode    = []byte{0, 0, 1}
	userDataCode = []byte{0, 0, 1, 0xb2}
	// encoderMark matches the user data that is kept: decoders work around bugs of these encoders.
	encoderMark = regexp.MustCompile(`^(DivX[0-9]{1,4}([Bb]uild|b)[0-9]{1,5}p?|XviD[0-9]{1,5}|Lavc[0-9.]{1,12})\x00?$`)
)

const maxEncoderMark = 32

// userData overwrites user data of MPEG-4 pictures: the bytes between its start code and the next
// one.
func (c cleaner) userData(at, end int64) error {
	for {
		found, err := c.find(userDataCode, at, end)
		if err != nil || found == end {
			return err
		}
		at = found + int64(len(userDataCode))
		next, err := c.find(startCode, at, end)
		if err != nil {
			return err
		}
		data, err := c.bytes(at, int(min(next-at, maxEncoderMark)))
		if err != nil {
			return err
		}
		if len(c.edits.edits) > maxEdits {
			return errTooManyEdits
		}
		if int64(len(data)) < next-at || !encoderMark.Match(data) {
			c.edits.fill(at, next-at, 0xff)
		}
		at = next
	}
}

// find returns the offset of the next occurrence of what, or end.
func (c cleaner) find(what []byte, at, end int64) (int64, error) {
	for end-at >= int64(len(what)) {
		data, err := c.bytes(at, int(min(end-at, windowLength)))
		if err != nil {
			return 0, err
		}
		if i := bytes.Index(data, what); i >= 0 {
			return at + int64(i), nil
		}
		at += int64(len(data) - len(what) + 1)
	}
	return end, nil
}
