package container

import (
	"bytes"
	"encoding/binary"
)

// The markers that the reader distinguishes.
const (
	markSOF0  = 0xc0 // baseline
	markSOF1  = 0xc1 // extended
	markSOF2  = 0xc2 // progressive
	markDHT   = 0xc4
	markRST0  = 0xd0
	markRST7  = 0xd7
	markSOI   = 0xd8
	markEOI   = 0xd9
	markSOS   = 0xda
	markDQT   = 0xdb
	markDRI   = 0xdd
	markAPP0  = 0xe0
	markAPP1  = 0xe1
	markAPP2  = 0xe2
	markAdobe = 0xee
	markAPPF  = 0xef
	markCOM   = 0xfe
)

const (
	maxJPEGSegments = 4096
	maxJPEGScans    = 64 // a progressive file has about ten; a decoder visits all pixels for each
)

const (
	exifPrefix = "Exif\x00\x00"
	xmpPrefix  = "http://ns.adobe.com/xap/1.0/\x00"
	iccPrefix  = "ICC_PROFILE\x00"
)

// jpegWalk is the state of reading a JPEG file.
type jpegWalk struct {
	*File
	at                        int64
	jfif                      []byte // the segment without its thumbnail
	kept                      plan   // what follows it
	profile                   []byte // the colour profile so far
	profileParts, profileNext int
	adobe                     int // the colour transform of an Adobe segment, or -1
	frame                     jpegFrame
	scans                     int
}

type jpegFrame struct {
	progressive bool
	components  int
	samples     int64 // over all components, in whole blocks
	namedRGB    bool
}

// readJPEG keeps tables, frame, scans, the colour profile, and the segments that define how colours
// are stored. It drops other application data (EXIF, XMP, thumbnails), comments, and everything
// after the end of the picture: further pictures of a multi-picture file, the video of a motion
// photo, an archive.
func readJPEG(f *File) error {
	w := &jpegWalk{File: f, at: 2, adobe: -1}
	for segments := 0; ; segments++ {
		if segments > maxJPEGSegments {
			return unreadable("the picture has more than %d segments", maxJPEGSegments)
		}
		marker, err := w.nextMarker()
		if err != nil {
			return err
		}
		if marker == markEOI {
			return w.finish()
		}
		if err := w.segment(marker); err != nil {
			return err
		}
	}
}

// nextMarker reads a marker and skips the fill bytes before it.
func (w *jpegWalk) nextMarker() (byte, error) {
	prefix, err := w.source.bytes(w.at, 2)
	if err != nil {
		return 0, err
	}
	if prefix[0] != 0xff {
		return 0, unreadable("the picture is damaged: there is data between its segments")
	}
	for prefix[1] == 0xff {
		w.at++
		if prefix, err = w.source.bytes(w.at, 2); err != nil {
			return 0, err
		}
	}
	w.at += 2
	return prefix[1], nil
}

func (w *jpegWalk) segment(marker byte) error {
	length, err := w.source.uint16(w.at)
	if err != nil {
		return err
	}
	if length < 2 {
		return unreadable("the picture is damaged: a segment has no length")
	}
	body, err := w.source.bytes(w.at+2, int(length)-2)
	if err != nil {
		return err
	}
	start := w.at - 2
	w.at += int64(length)
	switch {
	case marker == markSOF0 || marker == markSOF1 || marker == markSOF2:
		err = w.startOfFrame(marker, body)
	case marker == markDHT || marker == markDQT || marker == markDRI:
	case marker == markSOS:
		return w.scan(start)
	case marker >= markAPP0 && marker <= markAPPF:
		return w.application(marker, body)
	case marker == markCOM:
		return nil
	default:
		return unreadable("the picture is of a kind of JPEG that browsers do not show (marker %#x)", marker)
	}
	w.kept.copy(start, w.at-start)
	return err
}

// application reads a segment of application data. None is copied; what is kept is written anew.
func (w *jpegWalk) application(marker byte, body []byte) error {
	switch {
	case marker == markAPP0 && bytes.HasPrefix(body, []byte("JFIF\x00")) && len(body) >= 14 && w.jfif == nil:
		w.jfif = append([]byte{0xff, markAPP0, 0, 16}, body[:14]...)
		w.jfif[16], w.jfif[17] = 0, 0 // no thumbnail
	case marker == markAPP1 && bytes.HasPrefix(body, []byte(exifPrefix)):
		w.readExif(body)
	case marker == markAPP1 && bytes.HasPrefix(body, []byte(xmpPrefix)):
		w.readXMP(body[len(xmpPrefix):])
	case marker == markAPP2 && bytes.HasPrefix(body, []byte(iccPrefix)):
		return w.profilePart(body[len(iccPrefix):])
	case marker == markAdobe && bytes.HasPrefix(body, []byte("Adobe")) && len(body) >= 12 && w.adobe < 0:
		w.adobe = int(body[11])
		w.kept.write(jpegSegment(markAdobe, "Adobe\x00\x64\x00\x00\x00\x00", []byte{body[11]}))
	}
	return nil
}

// profilePart appends one segment of a colour profile. Segments must be in order; others are
// dropped.
func (w *jpegWalk) profilePart(body []byte) error {
	if len(body) < 2 {
		return nil
	}
	number, parts, data := int(body[0]), int(body[1]), body[2:]
	if number == 1 && w.profileNext == 0 {
		w.profileParts, w.profileNext = parts, 1
	}
	if number != w.profileNext || parts != w.profileParts {
		return nil
	}
	if len(w.profile)+len(data) > maxProfile {
		return errProfileTooLong
	}
	w.profile = append(w.profile, data...)
	w.profileNext++
	return nil
}

func (w *jpegWalk) startOfFrame(marker byte, body []byte) error {
	if w.frame.components != 0 || w.scans != 0 {
		return unreadable("the picture has more than one frame")
	}
	if len(body) < 6 || len(body) != 6+3*int(body[5]) {
		return unreadable("the picture is damaged: its frame header has the wrong length")
	}
	if body[0] != 8 {
		return unreadable("the picture has %d bits a colour; save it with 8", body[0])
	}
	height, width := int64(binary.BigEndian.Uint16(body[1:])), int64(binary.BigEndian.Uint16(body[3:]))
	if err := w.setPixels(width, height); err != nil {
		return err
	}
	w.frame.components = int(body[5])
	if w.frame.components != 1 && w.frame.components != 3 {
		return unreadable("the picture has %d colours, as for print; save it as RGB", w.frame.components)
	}
	w.frame.progressive = marker == markSOF2
	return w.sampling(body[6:], width, height)
}

// sampling sums up the samples of all components, in whole blocks, as a decoder allocates them.
func (w *jpegWalk) sampling(components []byte, width, height int64) error {
	var maxH, maxV int64
	for i := 0; i < len(components); i += 3 {
		h, v := int64(components[i+1]>>4), int64(components[i+1]&15)
		if h < 1 || h > 4 || v < 1 || v > 4 {
			return unreadable("the picture is damaged: its sampling factors are impossible")
		}
		maxH, maxV = max(maxH, h), max(maxV, v)
	}
	unitsX, unitsY := (width+8*maxH-1)/(8*maxH), (height+8*maxV-1)/(8*maxV)
	for i := 0; i < len(components); i += 3 {
		w.frame.samples += unitsX * unitsY * 64 * int64(components[i+1]>>4) * int64(components[i+1]&15)
	}
	w.frame.namedRGB = len(components) == 9 && components[0] == 'R' && components[3] == 'G' && components[6] == 'B'
	return nil
}

// scan skips the compressed data of a scan up to the next marker that is not part of it.
func (w *jpegWalk) scan(start int64) error {
	if w.frame.components == 0 {
		return unreadable("the picture is damaged: data comes before its frame header")
	}
	if w.scans++; w.scans > maxJPEGScans {
		return unreadable("the picture is drawn in more than %d passes", maxJPEGScans)
	}
	for {
		data, err := w.source.rest(w.at)
		if err != nil {
			return err
		}
		mark := bytes.IndexByte(data, 0xff)
		if mark < 0 {
			mark = len(data)
		}
		w.at += int64(mark)
		next, err := w.source.bytes(w.at, 2)
		if err != nil {
			return err
		}
		if next[0] != 0xff { // the end of the window
			continue
		}
		if next[1] == 0xff {
			w.at++
			continue
		}
		if next[1] != 0 && (next[1] < markRST0 || next[1] > markRST7) {
			w.kept.copy(start, w.at-start)
			return nil
		}
		w.at += 2
	}
}

func (w *jpegWalk) finish() error {
	if w.scans == 0 {
		return unreadable("the picture has no data")
	}
	w.plan.write([]byte{0xff, markSOI})
	if w.jfif != nil {
		w.plan.write(w.jfif)
	}
	if w.Orientation != 1 {
		w.plan.write(jpegSegment(markAPP1, exifPrefix, orientationExif(w.Orientation)))
	}
	if w.profileNext == w.profileParts+1 && iccProfile(w.profile) {
		w.writeProfile()
	}
	w.plan.append(w.kept)
	w.plan.write([]byte{0xff, markEOI})
	w.DecodeBytes = w.decodeBytes()
	w.turnUpright()
	return nil
}

// writeProfile splits the colour profile into segments.
func (w *jpegWalk) writeProfile() {
	const room = 65533 - len(iccPrefix) - 2
	parts := (len(w.profile) + room - 1) / room
	for number := 1; number <= parts; number++ {
		part := w.profile[(number-1)*room : min(number*room, len(w.profile))]
		w.plan.write(jpegSegment(markAPP2, iccPrefix+string([]byte{byte(number), byte(parts)}), part))
	}
}

func jpegSegment(marker byte, prefix string, data []byte) []byte {
	segment := []byte{0xff, marker}
	segment = binary.BigEndian.AppendUint16(segment, uint16(2+len(prefix)+len(data)))
	return append(append(segment, prefix...), data...)
}

// decodeBytes is what image/jpeg allocates: the samples, four bytes for each coefficient if it
// collects all scans first, and four bytes for each pixel if colours are stored as RGB.
func (w *jpegWalk) decodeBytes() int64 {
	memory := w.frame.samples
	if w.frame.progressive {
		memory += 4 * w.frame.samples
	}
	if w.frame.components == 3 && w.jfif == nil && (w.adobe == 0 || w.frame.namedRGB) {
		memory += 4 * int64(w.Width) * int64(w.Height)
	}
	return memory
}
