package specimen

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// Box returns a box of an MP4 or QuickTime file.
func Box(kind string, data ...[]byte) []byte {
	body := join(data...)
	return join(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), []byte(kind), body)
}

// Uint32s encodes big-endian numbers.
func Uint32s(numbers ...uint32) (data []byte) {
	for _, number := range numbers {
		data = binary.BigEndian.AppendUint32(data, number)
	}
	return data
}

// InBox adds boxes at the end of the box at a path and updates the lengths of its parents. It moves
// what follows, so samples must come first in the file or have offsets relative to their fragment.
func InBox(file []byte, path string, boxes ...[]byte) []byte {
	file = bytes.Clone(file)
	more := join(boxes...)
	at, end := 0, len(file)
	for _, kind := range strings.Split(path, "/") {
		for string(file[at+4:at+8]) != kind {
			at += int(binary.BigEndian.Uint32(file[at:]))
			if at >= end {
				panic("no box " + path)
			}
		}
		size := binary.BigEndian.Uint32(file[at:])
		binary.BigEndian.PutUint32(file[at:], size+uint32(len(more)))
		at, end = at+8, at+int(size)
	}
	return join(file[:end], more, file[end:])
}

// SetBox replaces the body of the box at a path. Samples must come first in the file.
func SetBox(file []byte, path string, body ...[]byte) []byte {
	parent, kind := path[:strings.LastIndex(path, "/")], path[strings.LastIndex(path, "/")+1:]
	at := bytes.Index(file, []byte(kind)) - 4
	file = InBox(file, parent) // checks the path
	old := int(binary.BigEndian.Uint32(file[at:]))
	file = InBox(join(file[:at], Box("free", file[at+8:at+old]), file[at+old:]), parent, Box(kind, body...))
	return file
}

// InSample inserts bytes before the first sample of the first track and moves all samples after it.
// Samples must come first in the file.
func InSample(file, more []byte) []byte {
	file = bytes.Clone(file)
	entry := func(at int, table string) []byte { return file[at+bytes.Index(file[at:], []byte(table)):] }
	first := binary.BigEndian.Uint32(entry(0, "stco")[12:])
	for at := 0; bytes.Contains(file[at:], []byte("stco")); {
		table := entry(at, "stco")
		at = len(file) - len(table) + 4
		for i := range binary.BigEndian.Uint32(table[8:]) {
			if offset := table[12+4*i:]; binary.BigEndian.Uint32(offset) > first {
				binary.BigEndian.PutUint32(offset, binary.BigEndian.Uint32(offset)+uint32(len(more)))
			}
		}
	}
	for _, size := range [][]byte{entry(0, "stsz")[16:], file[bytes.Index(file, []byte("mdat"))-4:]} {
		binary.BigEndian.PutUint32(size, binary.BigEndian.Uint32(size)+uint32(len(more)))
	}
	return join(file[:first], more, file[first:])
}

// Unit returns a unit of H.264 or H.265 after its length.
func Unit(data ...[]byte) []byte {
	body := join(data...)
	return join(Uint32s(uint32(len(body))), body)
}

// Message returns a message of a unit of H.264 or H.265.
func Message(kind byte, text string) []byte {
	return join([]byte{kind, byte(len(text))}, []byte(text))
}

// insideSamples returns videos with the planted location inside of their samples.
func insideSamples() map[string][]byte {
	text, end := []byte(Secret+iso6709), []byte{0x80}
	h264 := func(unit ...[]byte) []byte { return InSample(File("plain.mp4"), Unit(unit...)) }
	h265 := func(unit ...[]byte) []byte { return InSample(File("h265.mp4"), Unit(unit...)) }
	av1 := func(header byte, body []byte) []byte {
		return InSample(File("av1.mp4"), join([]byte{header, byte(len(body))}, body))
	}
	return map[string][]byte{
		"h264, registered":             h264([]byte{6}, Message(4, "\xb5\x001"+string(text)), end),
		"h264, unknown message":        h264([]byte{6}, Message(200, string(text)), end),
		"h264, between other messages": h264([]byte{6}, Message(1, "\x00"), Message(254, ""), Message(5, string(text)), Message(6, "\x84"), end),
		"h264, with escapes":           h264([]byte{6}, Message(5, "\x00\x00"), []byte{3, 5, byte(2*len(text) + 3)}, text, []byte("\x00\x00\x03\x01"), text, end),
		"h264, after the messages":     h264([]byte{6}, Message(1, "\x00"), end, text),
		"h264, too long to be needed":  h264([]byte{6}, Message(1, string(text)+string(text)), end),
		"h264, unit of unknown kind":   h264([]byte{24}, text),
		"h264, filler":                 h264([]byte{12}, text),
		"h265, registered":             h265([]byte{39 << 1, 1}, Message(4, "\xb5\x001"+string(text)), end),
		"h265, clock":                  h265([]byte{39 << 1, 1}, Message(136, string(text)), end),
		"h265, unit of unknown kind":   h265([]byte{48 << 1, 1}, text),
		"h265, filler":                 h265([]byte{38 << 1, 1}, text),
		"h265, Dolby's unit":           h265([]byte{62 << 1, 1}, text),
		"av1, private metadata":        av1(0x2a, join([]byte{6}, text, end)),
		"av1, registered metadata":     av1(0x2a, join([]byte{4, 0xb5}, text, end)),
		"av1, padding":                 av1(0x7a, join(text, end)),
		"av1, unit of unknown kind":    av1(0x4a, text),
		"mpeg4":                        InSample(File("mpeg4.mp4"), join([]byte{0, 0, 1, 0xb2}, text)),
	}
}

// InEntry adds a box at the end of the first track's sample description.
func InEntry(file, more []byte) []byte {
	table := bytes.Index(file, []byte("stsd"))
	body := file[table+4 : table-4+int(binary.BigEndian.Uint32(file[table-4:]))]
	entry := body[8:]
	return SetBox(file, "moov/trak/mdia/minf/stbl/stsd", body[:8], Box(string(entry[4:8]), entry[8:], more))
}

// InFragment adds a box to the first fragment of a video and updates the offsets of its samples.
func InFragment(file, more []byte) []byte {
	file = InBox(file, "moof", more)
	fragment := file[bytes.Index(file, []byte("moof")):bytes.Index(file, []byte("mdat"))]
	for at := 0; ; {
		next := bytes.Index(fragment[at:], []byte("trun"))
		if next < 0 {
			return file
		}
		at += next + 4
		offset := fragment[at+8:]
		binary.BigEndian.PutUint32(offset, binary.BigEndian.Uint32(offset)+uint32(len(more)))
	}
}

const baseIsFragment = 0x20000

// emptyFragment returns a fragment with boxes for one track.
func emptyFragment(boxes ...[]byte) []byte {
	return Box("moof", Box("mfhd", Uint32s(0, 99)), Box("traf", boxes...))
}

// GPSTrack returns a track of locations, as action cameras write it, with one sample.
func GPSTrack(id uint32, format string, offset, size uint32) []byte {
	return Box("trak",
		Box("tkhd", Uint32s(1, 0, 0, id, 0, 1000, 0, 0, 0, 0, 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000, 0, 0)),
		Box("mdia",
			Box("mdhd", Uint32s(0, 0, 0, 1000, 1000, 0x55c40000)),
			Box("hdlr", Uint32s(0, 0), []byte("meta"), Uint32s(0, 0, 0), []byte(Secret+"Handler\x00")),
			Box("minf", Box("nmhd", Uint32s(0)), Box("dinf", Box("dref", Uint32s(0, 1), Box("url ", Uint32s(1)))),
				Box("stbl", Box("stsd", Uint32s(0, 1), Box(format, Uint32s(0, 1), []byte(Secret+"Keys"))), Box("stts", Uint32s(0, 1, 1, 1000)),
					Box("stsc", Uint32s(0, 1, 1, 1, 1)), Box("stsz", Uint32s(0, size, 1)), Box("stco", Uint32s(0, 1, offset))))))
}

// WithGPSTrack adds a track of locations and its sample to a video whose description comes last.
func WithGPSTrack(file []byte, format string) []byte {
	sample := []byte(Secret + iso6709)
	moov := bytes.Index(file, []byte("moov")) - 4
	data := Box("mdat", sample)
	track := GPSTrack(9, format, uint32(moov+8), uint32(len(sample)))
	return InBox(join(file[:moov], data, file[moov:]), "moov", track)
}

var xmpUUID = []byte("\xbe\x7a\xcf\xcb\x97\xa9\x42\xe8\x9c\x71\x99\x94\x91\xe3\xaf\xac")

func movies() []Planted {
	place := Box("\xa9xyz", []byte{0, byte(len(iso6709)), 0x15, 0xc7}, []byte(iso6709))
	loci := Box("loci", Uint32s(0), []byte{0x15, 0xc7}, []byte(Secret+"Name\x00\x00"), Uint32s(150371, 3201982, 0), []byte(Secret+"\x00\x00"))
	file := func(name string, data []byte, hasPlace bool) Planted {
		return Planted{Name: "mp4 " + name, Type: "video/mp4", Data: data, Width: 64, Height: 48, Orientation: 1, HasPlace: hasPlace}
	}
	planted := []Planted{
		{Name: "mov of a phone", Type: "video/quicktime", Data: File("phone.mov"), Width: 48, Height: 64, Orientation: 1, HasPlace: true, HasTime: true},
		file("user data", InBox(File("plain.mp4"), "moov", Box("udta", place)), true),
		file("3gpp place", InBox(File("plain.mp4"), "moov", Box("udta", loci)), true),
		file("user data of a track", InBox(File("plain.mp4"), "moov/trak", Box("udta", place)), true),
		file("xmp in a top-level box", join(File("plain.mp4"), Box("uuid", xmpUUID, XMP())), true),
		file("xmp in the movie", InBox(File("plain.mp4"), "moov", Box("uuid", xmpUUID, XMP())), true),
		file("unknown box", join(File("plain.mp4"), Box("sefd", []byte(Secret)), Box("free", []byte(Secret)), Box("skip", []byte(iso6709))), false),
		file("unknown box deep down", InBox(File("plain.mp4"), "moov/trak/mdia/minf/stbl", Box("gps ", []byte(Secret))), false),
		file("handler's name", bytes.Replace(File("plain.mp4"), []byte("VideoHandler"), []byte(Secret+"Name!"), 1), false),
		file("action camera's track", WithGPSTrack(File("plain.mp4"), "gpmd"), false),
		file("phone's track", WithGPSTrack(File("plain.mp4"), "mebx"), false),
		file("subtitles", File("subtitles.mp4"), false),
		file("subtitles in fragments", File("fragmented-subtitles.mp4"), false),
		file("data of no track", join(File("plain.mp4"), Box("mdat", []byte(Secret+iso6709))), false),
		file("fragmented, in its description", InBox(File("fragmented.mp4"), "moov", Box("udta", place)), true),
		file("fragmented, in a fragment", InFragment(File("fragmented.mp4"), Box("uuid", []byte("0123456789abcdef"+Secret))), false),
		file("fragmented, after a header", join(File("fragmented.mp4"), emptyFragment(Box("tfhd", Uint32s(baseIsFragment, 1), []byte(Secret)))), false),
		file("fragmented, after a run", join(File("fragmented.mp4"), emptyFragment(Box("tfhd", Uint32s(baseIsFragment, 1)), Box("trun", Uint32s(0, 0), []byte(Secret)))), false),
		file("fragmented, between fragments", join(File("fragmented.mp4"), Box("emsg", []byte(Secret)), Box("mdat", []byte(iso6709))), false),
		file("second file type", join(File("plain.mp4"), Box("ftyp", []byte("isom"+Secret+"."))), false),
		file("type of a segment", join(File("plain.mp4"), Box("styp", []byte("msdh"+Secret+"."))), false),
		file("after a decoder's configuration", InEntry(File("plain.mp4"), Box("pasp", Uint32s(1, 1), []byte(Secret))), false),
		file("invalid colours", InEntry(File("plain.mp4"), Box("colr", []byte("prof"+Secret))), false),
		file("large box", join(File("plain.mp4"), Uint32s(1), []byte("uuid"), Uint32s(0, 16+16+uint32(len(Secret))), make([]byte, 16), []byte(Secret)), false),
	}
	inside := insideSamples()
	for _, name := range slices.Sorted(maps.Keys(inside)) {
		planted = append(planted, file("inside samples, "+name, inside[name], false))
	}
	for i, name := range []string{"plain.mp4", "h265.mp4"} {
		planted = append(planted, file("user data among the pictures of "+name, InsertUserData(File(name), i == 1), false))
	}
	return planted
}

// InsertUserData overwrites the message that the encoder wrote into the first picture, or into the
// configuration, by a planted one.
func InsertUserData(file []byte, h265 bool) []byte {
	mark := []byte("x264 - core")
	if h265 {
		mark = []byte("x265 (build")
	}
	return bytes.Replace(file, mark, []byte(Secret + "User")[:len(mark)], 1)
}
