package container

import "encoding/binary"

// eraseComments overwrites the comments of a Vorbis configuration. It has three packets, of which
// the second holds the name of the encoder and comments: it becomes a blank name without comments.
func (w *webmWalk) eraseComments(private element) error {
	const longest = windowLength // the third packet, which is not read, may be cut
	data, err := w.source.bytes(private.body, int(min(private.end-private.body, longest)))
	if err != nil {
		return err
	}
	comments, found := vorbisComments(data)
	if !found {
		return unreadable("the video is damaged: its sound is not described as Vorbis")
	}
	const head, rest = 1 + len("vorbis") + 4, 4 + 1 // kind, mark and length of the name; number of comments, end
	blank := comments[1] - comments[0] - head - rest
	if blank < 0 {
		return unreadable("the video is damaged: the description of its sound is too short")
	}
	at := private.body + int64(comments[0])
	w.edits.patch(at+7, binary.LittleEndian.AppendUint32(nil, uint32(blank))...)
	w.edits.fill(at+int64(head), int64(blank), ' ')
	w.edits.patch(at+int64(head+blank), 0, 0, 0, 0, 1)
	return nil
}

// vorbisComments returns the range of the second of three packets. The data begins with the number
// of packets minus one and the lengths of the first two, each as a sum of bytes of which only the
// last is not 255.
func vorbisComments(data []byte) (span [2]int, found bool) {
	if len(data) == 0 || data[0] != 2 {
		return span, false
	}
	at := 1
	var lengths [2]int
	for i := range lengths {
		for {
			if at >= len(data) {
				return span, false
			}
			b := data[at]
			at++
			lengths[i] += int(b)
			if b != 0xff {
				break
			}
		}
	}
	span = [2]int{at + lengths[0], at + lengths[0] + lengths[1]}
	return span, span[1] <= len(data) && lengths[1] > 7 && string(data[span[0]:span[0]+7]) == "\x03vorbis"
}
