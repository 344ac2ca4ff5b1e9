package specimen

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
)

// Planted is a file with private data in it.
type Planted struct {
	Name          string
	Type          string // content type
	Data          []byte
	Width, Height int  // as shown
	Orientation   int  // of the stored pixels; 1: upright
	HasPlace      bool // in a form that is read
	HasTime       bool
}

// All returns files of every format, with private data at every location where the format can hold
// it.
func All() []Planted {
	return append(append(jpegs(), pngs()...), append(append(webps(), movies()...), webms()...)...)
}

func jpegs() []Planted {
	picture := Picture(48, 32, 1)
	other := JPEG(Picture(16, 16, 7), Segment(0xfe, []byte(Secret+"SecondPicture")))
	plain := JPEG(picture)
	exif := func(data []byte) []byte { return Segment(0xe1, []byte("Exif\x00\x00"), data) }
	file := func(name string, data []byte, orientation int, hasPlace, hasTime bool) Planted {
		p := Planted{Name: "jpeg " + name, Type: "image/jpeg", Data: data, Width: 48, Height: 32, Orientation: orientation, HasPlace: hasPlace, HasTime: hasTime}
		if orientation >= 5 {
			p.Width, p.Height = p.Height, p.Width
		}
		return p
	}
	return []Planted{
		file("exif", JPEG(picture, exif(Exif(binary.BigEndian, 1, nil))), 1, true, true),
		file("exif little-endian, turned, with another picture inside", JPEG(picture, exif(Exif(binary.LittleEndian, 6, other))), 6, true, true),
		file("exif mirrored", JPEG(picture, exif(Exif(binary.BigEndian, 2, nil))), 2, true, true),
		file("exif twice", JPEG(picture, exif(Exif(binary.BigEndian, 1, nil)), exif(Exif(binary.LittleEndian, 1, nil))), 1, true, true),
		file("xmp", JPEG(picture, Segment(0xe1, []byte("http://ns.adobe.com/xap/1.0/\x00"), XMP())), 1, true, true),
		file("extended xmp", JPEG(picture, Segment(0xe1, []byte("http://ns.adobe.com/xmp/extension/\x00"), XMP())), 1, false, false),
		file("iptc", JPEG(picture, Segment(0xed, []byte("Photoshop 3.0\x008BIM"+Secret+"City"))), 1, false, false),
		file("comment", JPEG(picture, Segment(0xfe, []byte(Secret+" at 48.85837"))), 1, false, false),
		file("content credentials", JPEG(picture, Segment(0xeb, []byte("JP\x00\x01"+Secret+"jumbf"))), 1, false, false),
		file("small pictures", JPEG(picture, Segment(0xe0, []byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x03\x01"+Secret+"!!")), Segment(0xe0, []byte("JFXX\x00\x10"), other)), 1, false, false),
		file("multi-picture", join(JPEG(picture, Segment(0xe2, []byte("MPF\x00"+Secret))), other), 1, false, false),
		file("archive after it", join(plain, []byte("PK\x03\x04"+Secret)), 1, false, false),
		file("page after it", join(plain, []byte("<html><script>"+Secret+"</script>")), 1, false, false),
		file("video after it", join(plain, File("phone.mov")), 1, false, false),
		file("invalid profile", JPEG(picture, Segment(0xe2, []byte("ICC_PROFILE\x00\x01\x01"+Secret))), 1, false, false),
		file("invalid adobe mark", JPEG(picture, Segment(0xee, []byte("Adobe"+Secret))), 1, false, false),
	}
}

// Chunk returns a chunk of a PNG file.
func Chunk(kind string, data ...[]byte) []byte {
	body := join(data...)
	chunk := join(binary.BigEndian.AppendUint32(nil, uint32(len(body))), []byte(kind), body)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}

// Deflate compresses data as in PNG chunks.
func Deflate(data []byte) []byte {
	var compressed bytes.Buffer
	w := zlib.NewWriter(&compressed)
	if _, err := w.Write(data); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return compressed.Bytes()
}

// AfterData inserts chunks between the data of a PNG file and its end.
func AfterData(file []byte, chunks ...[]byte) []byte {
	end := len(file) - len(Chunk("IEND"))
	return join(file[:end], join(chunks...), file[end:])
}

func pngs() []Planted {
	picture := Picture(48, 32, 2)
	translucent := image.NewNRGBA(picture.Bounds())
	for i := range translucent.Pix {
		translucent.Pix[i] = picture.Pix[i] / 2
	}
	translucent.SetNRGBA(0, 0, color.NRGBA{1, 2, 3, 4})
	file := func(name string, data []byte, orientation int, hasFacts bool) Planted {
		p := Planted{Name: "png " + name, Type: "image/png", Data: data, Width: 48, Height: 32, Orientation: orientation, HasPlace: hasFacts, HasTime: hasFacts}
		if orientation >= 5 {
			p.Width, p.Height = p.Height, p.Width
		}
		return p
	}
	return []Planted{
		file("exif", PNG(picture, Chunk("eXIf", Exif(binary.BigEndian, 1, nil))), 1, true),
		file("exif turned", PNG(translucent, Chunk("eXIf", Exif(binary.LittleEndian, 8, nil))), 8, true),
		file("text", PNG(picture, Chunk("tEXt", []byte("Comment\x00"+Secret+" 48.85837"))), 1, false),
		file("international text", PNG(picture, Chunk("iTXt", []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00"), XMP())), 1, false),
		file("compressed text", PNG(picture, Chunk("zTXt", []byte(Secret+"\x00\x00"), Deflate(XMP()))), 1, false),
		file("time and private chunks", PNG(picture, Chunk("tIME", []byte{7, 0xe8, 5, 1, 12, 0, 0}), Chunk("prVt", []byte(Secret)), Chunk("caBX", []byte(Secret))), 1, false),
		file("named profile", PNG(picture, Chunk("iCCP", []byte(Secret+"\x00\x00"), Deflate(ICC(400)))), 1, false),
		file("archive after its data", AfterData(PNG(picture), Chunk("IDAT", []byte("PK\x03\x04"+Secret))), 1, false),
		file("text after its profile", PNG(picture, Chunk("iCCP", []byte("ICC\x00\x00"), Deflate(ICC(400)), []byte(Secret))), 1, false),
		file("archive after it", join(PNG(picture), []byte("PK\x03\x04"+Secret)), 1, false),
	}
}

// RIFF returns a WebP file of chunks.
func RIFF(chunks ...[]byte) []byte {
	body := join(chunks...)
	return join([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(4+len(body))), []byte("WEBP"), body)
}

// RIFFChunk returns a chunk of a WebP file.
func RIFFChunk(kind string, data []byte) []byte {
	chunk := join([]byte(kind), binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data)
	return append(chunk, make([]byte, len(data)&1)...)
}

func webps() []Planted {
	canvas := func(flags byte) []byte { return RIFFChunk("VP8X", []byte{flags, 0, 0, 0, 63, 0, 0, 47, 0, 0}) }
	picture := func(name string) []byte { return File(name)[12:] }
	lossless := File("lossless.webp")
	evened := RIFFChunk("VP8L", append(lossless[20:20+binary.LittleEndian.Uint32(lossless[16:])], 0)) // imagemeta does not skip the padding of odd chunks
	file := func(name string, data []byte, orientation int, hasFacts bool) Planted {
		p := Planted{Name: "webp " + name, Type: "image/webp", Data: data, Width: 64, Height: 48, Orientation: orientation, HasPlace: hasFacts, HasTime: hasFacts}
		if orientation >= 5 {
			p.Width, p.Height = p.Height, p.Width
		}
		return p
	}
	const hasExif, hasXMP, hasICC = 8, 4, 32
	alpha := File("alpha.webp")[12+18:] // after its own canvas
	return []Planted{
		file("lossy with exif", RIFF(canvas(hasExif), picture("lossy.webp"), RIFFChunk("EXIF", Exif(binary.LittleEndian, 1, nil))), 1, true),
		file("lossless with exif, turned", RIFF(canvas(hasExif), evened, RIFFChunk("EXIF", Exif(binary.BigEndian, 6, nil))), 6, true),
		file("exif as in a JPEG", RIFF(canvas(hasExif), picture("lossy.webp"), RIFFChunk("EXIF", join([]byte("Exif\x00\x00"), Exif(binary.BigEndian, 6, nil)))), 6, true),
		file("alpha with all", RIFF(canvas(hasExif|hasXMP|hasICC|16), RIFFChunk("ICCP", ICC(301)), alpha, RIFFChunk("EXIF", Exif(binary.BigEndian, 3, nil)), RIFFChunk("XMP ", XMP())), 3, true),
		file("xmp", RIFF(canvas(hasXMP), picture("lossy.webp"), RIFFChunk("XMP ", XMP())), 1, false),
		file("unknown chunk", RIFF(picture("lossy.webp"), RIFFChunk("PRIV", []byte(Secret))), 1, false),
		file("archive after it", join(File("lossless.webp"), []byte("PK\x03\x04"+Secret)), 1, false),
	}
}
