package container

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

const (
	// maxPNGChunks leaves room for half a gigabyte in chunks of 8 KiB, as libpng writes them.
	maxPNGChunks = 1 << 16
	// maxPNGExif is the length of the longest eXIf chunk that is read: the maximum of a JPEG's.
	maxPNGExif = 64 << 10
)

// pngKept are the chunks that are kept, with their maximum lengths: those needed to decode pixels
// and show colours. Text, times, EXIF, private chunks and frames of animations are dropped.
var pngKept = map[string]uint32{
	"PLTE": 3 * 256, "tRNS": 256, "gAMA": 4, "cHRM": 32, "sRGB": 1, "sBIT": 4, "bKGD": 6, "pHYs": 9, "cICP": 4,
}

// pngWalk is the state of reading a PNG file.
type pngWalk struct {
	*File
	head, kept plan       // the header, and what follows it
	after      plan       // chunks after the picture's data
	pieces     []pngChunk // the picture's data
	rawLimit   int64      // length of the picture's data when decompressed, at most
	hasProfile bool
	hasData    bool
	dataEnded  bool
}

type pngChunk struct {
	kind   string
	at     int64 // of the data
	length uint32
}

func readPNG(f *File) error {
	w := &pngWalk{File: f}
	at := int64(len(pngSignature))
	for chunks := 0; ; chunks++ {
		if chunks >= maxPNGChunks {
			return unreadable("the picture has more than %d chunks", maxPNGChunks)
		}
		header, err := w.source.bytes(at, 8)
		if err != nil {
			return err
		}
		chunk := pngChunk{length: binary.BigEndian.Uint32(header), kind: string(header[4:]), at: at + 8}
		at += 12 + int64(chunk.length)
		if chunk.length > 1<<31-1 || at > w.source.size {
			return unreadable("the picture is cut off or damaged: a chunk is longer than the file")
		}
		if (chunk.kind == "IHDR") != (chunks == 0) {
			return unreadable("the picture is damaged: its header is not where it belongs")
		}
		if chunk.kind == "IEND" {
			return w.finish()
		}
		if err := w.chunk(chunk); err != nil {
			return err
		}
	}
}

func (w *pngWalk) chunk(c pngChunk) error {
	w.dataEnded = w.hasData && c.kind != "IDAT"
	switch limit, known := pngKept[c.kind]; {
	case c.kind == "IHDR":
		return w.header(c)
	case c.kind == "IDAT":
		return w.data(c)
	case c.kind == "acTL":
		return unreadable("the picture is an animation; send a single picture")
	case c.kind == "iCCP":
		return w.profile(c)
	case c.kind == "eXIf":
		return w.exif(c)
	case known && c.length <= limit:
		w.keep(c)
	case c.kind[0]&0x20 == 0: // an upper-case letter: decoders need the chunk
		return unreadable("the picture is damaged: its chunk %s is unknown", printable([]byte(c.kind)))
	}
	return nil
}

func (w *pngWalk) keep(c pngChunk) {
	to := &w.kept
	if w.hasData {
		to = &w.after
	}
	to.copy(c.at-8, 12+int64(c.length))
}

// header reads the dimensions and the memory that a decoder takes.
func (w *pngWalk) header(c pngChunk) error {
	if c.length != 13 {
		return unreadable("the picture is damaged: its header has the wrong length")
	}
	header, err := w.source.bytes(c.at, 13)
	if err != nil {
		return err
	}
	width, height := int64(binary.BigEndian.Uint32(header)), int64(binary.BigEndian.Uint32(header[4:]))
	if err := w.setPixels(width, height); err != nil {
		return err
	}
	depth, interlaced := header[8], header[12] != 0
	if depth == 16 && interlaced {
		return unreadable("the picture has 16 bits a colour and is interlaced; save it with 8 bits")
	}
	pixel := int64(4)
	if depth == 16 {
		pixel = 8
	}
	w.DecodeBytes = width * height * pixel
	w.rawLimit = rawPNG(width, height, int64(depth), header[9])
	if interlaced {
		w.DecodeBytes *= 2          // each pass is decoded into its own picture
		w.rawLimit += 4*height + 16 // and has its own lines: less than two for each, with two bytes more
	}
	w.head.write([]byte(pngSignature))
	w.head.copy(c.at-8, 12+int64(c.length))
	return nil
}

// rawPNG is the length of a picture's data before compression. Each line begins with a filter byte.
func rawPNG(width, height, depth int64, colour byte) int64 {
	values := map[byte]int64{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
	return height * (1 + (width*values*depth+7)/8)
}

func (w *pngWalk) data(c pngChunk) error {
	if w.hasData && w.dataEnded {
		return unreadable("the picture is damaged: there are other chunks between its data")
	}
	w.hasData = true
	w.pieces = append(w.pieces, c)
	return nil
}

// keepData keeps the picture's data up to the end of the compressed stream. Decoders read no
// further: anything after it is another file.
func (w *pngWalk) keepData() error {
	in := &pieceReader{source: w.source.fork(), pieces: w.pieces}
	reader, err := zlib.NewReader(in)
	if err == nil {
		var length int64
		length, err = io.Copy(io.Discard, io.LimitReader(reader, w.rawLimit+1))
		if length > w.rawLimit {
			return unreadable("the picture is damaged: it has more data than pixels")
		}
	}
	if in.err != nil {
		return in.err
	}
	if err != nil {
		return unreadable("the picture is damaged: its data cannot be decompressed")
	}
	last := w.pieces[in.piece]
	for _, c := range w.pieces[:in.piece] {
		w.kept.copy(c.at-8, 12+int64(c.length))
	}
	if in.at < int64(last.length) {
		return w.keepBeginning(last, in.at)
	}
	w.kept.copy(last.at-8, 12+int64(last.length))
	return nil
}

// keepBeginning keeps the first length bytes of a chunk, with a new checksum.
func (w *pngWalk) keepBeginning(c pngChunk, length int64) error {
	head := append(binary.BigEndian.AppendUint32(nil, uint32(length)), c.kind...)
	sum := crc32.NewIEEE()
	_, _ = sum.Write(head[4:]) // never fails
	for at, end := c.at, c.at+length; at < end; {
		data, err := w.source.bytes(at, int(min(end-at, windowLength)))
		if err != nil {
			return err
		}
		_, _ = sum.Write(data)
		at += int64(len(data))
	}
	w.kept.write(head)
	w.kept.copy(c.at, length)
	w.kept.write(sum.Sum(nil))
	return nil
}

// pieceReader reads the data of several chunks as one stream. It reads no further than asked, so
// its position is where the reader stopped.
type pieceReader struct {
	*source
	pieces []pngChunk
	piece  int    // index of the current chunk
	at     int64  // offset in it
	loaded []byte // the bytes that follow
	err    error  // of reading the file
}

// load loads the next bytes if none are loaded.
func (r *pieceReader) load() error {
	for r.at == int64(r.pieces[r.piece].length) {
		if r.piece+1 == len(r.pieces) {
			return io.EOF
		}
		r.piece, r.at = r.piece+1, 0
	}
	if len(r.loaded) == 0 {
		c := r.pieces[r.piece]
		r.loaded, r.err = r.bytes(c.at+r.at, int(min(int64(c.length)-r.at, windowLength)))
	}
	return r.err
}

func (r *pieceReader) Read(p []byte) (int, error) {
	if err := r.load(); err != nil {
		return 0, err
	}
	n := copy(p, r.loaded)
	r.loaded, r.at = r.loaded[n:], r.at+int64(n)
	return n, nil
}

// ReadByte makes package flate read byte by byte, without its own buffer.
func (r *pieceReader) ReadByte() (byte, error) {
	if err := r.load(); err != nil {
		return 0, err
	}
	b := r.loaded[0]
	r.loaded, r.at = r.loaded[1:], r.at+1
	return b, nil
}

// profile keeps a valid colour profile, under a neutral name.
func (w *pngWalk) profile(c pngChunk) error {
	if c.length > maxProfile {
		return errProfileTooLong
	}
	if w.hasProfile || w.hasData {
		return nil
	}
	data, err := w.source.load(c.at, int64(c.length))
	if err != nil {
		return err
	}
	nul := bytes.IndexByte(data, 0)
	if nul < 1 || nul > 79 || len(data) < nul+2 || data[nul+1] != 0 {
		return nil
	}
	compressed := bytes.NewReader(data[nul+2:])
	profile, err := inflate(compressed, maxProfile)
	if err != nil {
		return err
	}
	used := data[nul+2 : len(data)-compressed.Len()] // without the bytes after the profile
	if iccProfile(profile) {
		w.hasProfile = true
		w.kept.write(newPNGChunk("iCCP", append([]byte("ICC\x00\x00"), used...)))
	}
	return nil
}

// inflate decompresses at most limit bytes and reads no further than needed. It returns nil if the
// data is not compressed.
func inflate(compressed *bytes.Reader, limit int64) ([]byte, error) {
	reader, err := zlib.NewReader(compressed)
	if err != nil {
		return nil, nil //nolint:nilerr // not a profile: dropped
	}
	data, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if int64(len(data)) > limit {
		return nil, errProfileTooLong
	}
	if err != nil {
		return nil, nil
	}
	return data, nil
}

func (w *pngWalk) exif(c pngChunk) error {
	if c.length > maxPNGExif {
		return nil
	}
	data, err := w.source.load(c.at, int64(c.length))
	if err != nil {
		return err
	}
	w.readExif(data)
	return nil
}

func (w *pngWalk) finish() error {
	if !w.hasData {
		return unreadable("the picture has no data")
	}
	w.plan = w.head
	if w.Orientation != 1 {
		w.plan.write(newPNGChunk("eXIf", orientationExif(w.Orientation)))
	}
	if err := w.keepData(); err != nil {
		return err
	}
	w.plan.append(w.kept)
	w.plan.append(w.after)
	w.plan.write(newPNGChunk("IEND", nil))
	w.turnUpright()
	return nil
}

func newPNGChunk(kind string, data []byte) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	chunk = append(append(chunk, kind...), data...)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}
