package container

import "encoding/binary"

const (
	maxWebPChunks = 1024
	maxWebPExif   = 64 << 10
)

// The flags of an extended WebP file.
const (
	webpAnimated = 0x02
	webpHasExif  = 0x08
	webpHasAlpha = 0x10
	webpHasICC   = 0x20
)

// webpWalk is the state of reading a WebP file.
type webpWalk struct {
	*File
	extended                    bool
	flags                       byte
	canvasWidth, canvasHeight   int64
	profile, alpha, picture     riffChunk
	pictureWidth, pictureHeight int64
}

type riffChunk struct {
	kind   string // empty: none
	at     int64  // of the data
	length int64
}

// readWebP keeps the picture, its transparency and its colour profile, and writes new headers.
func readWebP(f *File) error {
	w := &webpWalk{File: f}
	header, err := w.source.bytes(4, 4)
	if err != nil {
		return err
	}
	at, end := int64(12), 8+int64(binary.LittleEndian.Uint32(header))
	if end > w.source.size {
		return unreadable("the picture is cut off: %d bytes of %d", w.source.size, end)
	}
	for chunks := 0; at+8 <= end; chunks++ {
		if chunks > maxWebPChunks {
			return unreadable("the picture has more than %d chunks", maxWebPChunks)
		}
		header, err := w.source.bytes(at, 8)
		if err != nil {
			return err
		}
		c := riffChunk{kind: string(header[:4]), at: at + 8, length: int64(binary.LittleEndian.Uint32(header[4:]))}
		if c.length > end-c.at {
			return unreadable("the picture is damaged: a chunk is longer than the file")
		}
		if err := w.chunk(c); err != nil {
			return err
		}
		at = c.at + c.length + c.length&1
	}
	return w.finish()
}

func (w *webpWalk) chunk(c riffChunk) (err error) {
	switch c.kind {
	case "VP8X":
		return w.canvas(c)
	case "ANIM", "ANMF":
		return errAnimatedWebP
	case "VP8 ", "VP8L":
		if w.picture.kind != "" {
			return unreadable("the file has more than one picture")
		}
		w.picture = c
		return w.bitstream(c)
	case "ALPH":
		w.alpha = c
	case "ICCP":
		return w.colours(c)
	case "EXIF":
		return w.exif(c)
	}
	return nil
}

var errAnimatedWebP = unreadable("the picture is an animation; send a single picture")

func (w *webpWalk) canvas(c riffChunk) error {
	data, err := w.source.bytes(c.at, 10)
	if err != nil {
		return err
	}
	if data[0]&webpAnimated != 0 {
		return errAnimatedWebP
	}
	w.extended, w.flags = true, data[0]
	w.canvasWidth, w.canvasHeight = 1+littleEndian24(data[4:]), 1+littleEndian24(data[7:])
	return w.setPixels(w.canvasWidth, w.canvasHeight)
}

func littleEndian24(b []byte) int64 { return int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 }

// bitstream reads the dimensions of the picture data.
func (w *webpWalk) bitstream(c riffChunk) error {
	if c.length < 10 {
		return unreadable("the picture has no data")
	}
	data, err := w.source.bytes(c.at, 10)
	if err != nil {
		return err
	}
	if c.kind == "VP8L" {
		if data[0] != 0x2f {
			return unreadable("the picture is damaged: its data has the wrong signature")
		}
		bits := int64(binary.LittleEndian.Uint32(data[1:]))
		w.pictureWidth, w.pictureHeight = 1+bits&0x3fff, 1+bits>>14&0x3fff
	} else {
		if data[0]&1 != 0 || data[3] != 0x9d || data[4] != 0x01 || data[5] != 0x2a {
			return unreadable("the picture is damaged: its data has the wrong signature")
		}
		w.pictureWidth = int64(binary.LittleEndian.Uint16(data[6:]) & 0x3fff)
		w.pictureHeight = int64(binary.LittleEndian.Uint16(data[8:]) & 0x3fff)
	}
	return w.setPixels(w.pictureWidth, w.pictureHeight)
}

func (w *webpWalk) colours(c riffChunk) error {
	if c.length > maxProfile {
		return errProfileTooLong
	}
	data, err := w.source.load(c.at, c.length)
	if err != nil {
		return err
	}
	if iccProfile(data) {
		w.profile = c
	}
	return nil
}

func (w *webpWalk) exif(c riffChunk) error {
	if c.length > maxWebPExif {
		return nil
	}
	data, err := w.source.load(c.at, c.length)
	if err != nil {
		return err
	}
	w.readExif(data)
	return nil
}

func (w *webpWalk) finish() error {
	if w.picture.kind == "" {
		return unreadable("the file has no picture")
	}
	if w.extended && (w.canvasWidth != w.pictureWidth || w.canvasHeight != w.pictureHeight) {
		return unreadable("the picture is %d by %d pixels and the file header has %d by %d", w.pictureWidth, w.pictureHeight, w.canvasWidth, w.canvasHeight)
	}
	var body plan
	var exif []byte
	if w.extended {
		if w.Orientation != 1 {
			exif = orientationExif(w.Orientation)
		}
		body.write(w.newCanvas(len(exif) > 0))
		w.keep(&body, w.profile)
		if w.picture.kind == "VP8 " && w.flags&webpHasAlpha != 0 {
			w.keep(&body, w.alpha)
		}
	}
	w.keep(&body, w.picture)
	if len(exif) > 0 {
		body.write(newRIFFChunk("EXIF", exif))
	}
	w.plan.write(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+body.size)))
	w.plan.write([]byte("WEBP"))
	w.plan.append(body)
	w.DecodeBytes = w.decodeBytes()
	w.turnUpright()
	return nil
}

func (w *webpWalk) newCanvas(hasExif bool) []byte {
	var flags byte
	if w.picture.kind == "VP8L" || w.alpha.kind != "" {
		flags = w.flags & webpHasAlpha
	}
	if w.profile.kind != "" {
		flags |= webpHasICC
	}
	if hasExif {
		flags |= webpHasExif
	}
	width, height := uint32(w.canvasWidth-1), uint32(w.canvasHeight-1)
	return newRIFFChunk("VP8X", []byte{flags, 0, 0, 0,
		byte(width), byte(width >> 8), byte(width >> 16), byte(height), byte(height >> 8), byte(height >> 16)})
}

// keep copies a chunk. The padding byte is written anew.
func (w *webpWalk) keep(to *plan, c riffChunk) {
	if c.kind == "" {
		return
	}
	to.copy(c.at-8, 8+c.length)
	if c.length&1 == 1 {
		to.write([]byte{0})
	}
}

func newRIFFChunk(kind string, data []byte) []byte {
	chunk := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(data)))
	return append(chunk, data...)
}

// decodeBytes is what golang.org/x/image/webp allocates. The alpha channel of a lossy picture is a
// lossless picture.
func (w *webpWalk) decodeBytes() int64 {
	pixels := w.pictureWidth * w.pictureHeight
	switch {
	case w.picture.kind == "VP8L":
		return 8 * pixels
	case w.alpha.kind != "":
		return 12 * pixels
	default:
		return 2 * pixels
	}
}
