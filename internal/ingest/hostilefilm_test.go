package ingest_test

import (
	"bytes"
	"encoding/binary"

	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

func badFilms() []hostileFile {
	film := specimen.File("plain.mp4")
	description := bytes.Index(film, []byte("moov")) - 4
	return []hostileFile{
		{name: "E31 box of length 0", declared: "video/mp4", data: is(append(film[:len(film):len(film)], 0, 0, 0, 0, 'f', 'r', 'e', 'e')), codes: unreadable},
		{name: "E32 box of length 2^64-1", declared: "video/mp4", data: is(append(film[:len(film):len(film)], "\x00\x00\x00\x01free\xff\xff\xff\xff\xff\xff\xff\xff"...)), codes: unreadable},
		{name: "E32 box of length 2^63", declared: "video/mp4", data: is(append(film[:len(film):len(film)], "\x00\x00\x00\x01free\x80\x00\x00\x00\x00\x00\x00\x00"...)), codes: unreadable},
		{name: "E33 10,000 boxes in each other", declared: "video/mp4", data: is(specimen.InBox(film, "moov", nested(10_000, "trak", "mdia"))), codes: unreadable},
		{name: "E33 the same in user data", declared: "video/mp4", data: is(specimen.InBox(film, "moov", nested(10_000, "udta", "meta")))},
		{heavy: true, name: "E33 400,000 boxes beside each other", declared: "video/mp4", data: is(append(film[:len(film):len(film)], bytes.Repeat(specimen.Box("free"), 400_000)...))},
		{heavy: true, name: "E33 800,000 boxes beside each other", declared: "video/mp4", data: is(append(film[:len(film):len(film)], bytes.Repeat(specimen.Box("free"), 800_000)...)), codes: []string{"too_complex"}},
		{name: "E34 times for 2^32-1 samples", declared: "video/mp4", data: is(patched(film, "stts", 4, specimen.U32(0xffffffff))), codes: unreadable},
		{name: "E34 a time for 2^32-1 samples at once", declared: "video/mp4", data: is(patched(film, "stts", 8, specimen.U32(0xffffffff))), codes: unreadable},
		{name: "E34 sizes of 2^32-1 samples", declared: "video/mp4", data: is(patched(film, "stsz", 8, specimen.U32(0xffffffff))), codes: unreadable},
		{name: "E34 2^32-1 samples of a gigabyte", declared: "video/mp4", data: is(patched(film, "stsz", 4, specimen.U32(1<<30, 0xffffffff))), codes: unreadable},
		{name: "E34 2^32-1 chunks", declared: "video/mp4", data: is(patched(film, "stco", 4, specimen.U32(0xffffffff))), codes: unreadable},
		{name: "E34 fragment of 2^32-1 samples", declared: "video/mp4", data: is(patched(specimen.File("fragmented.mp4"), "trun", 4, specimen.U32(0xffffffff))), codes: unreadable},
		{name: "E34 samples behind the file", declared: "video/mp4", data: is(patched(film, "stco", 8, specimen.U32(0xfffffff0))), codes: unreadable},
		{name: "E34 samples in the description", declared: "video/mp4", data: is(patched(film, "stco", 8, specimen.U32(uint32(description)))), codes: unreadable},
		{name: "E34 two chunks that share their samples", declared: "video/mp4", data: is(sharedChunks(2, []byte("\x14\x06\x05\x10sixteen letters.\x80"))), codes: unreadable},
		{name: "E34 70,000 chunks that share their samples", declared: "video/mp4", data: is(sharedChunks(70_000, make([]byte, 60_000))), codes: unreadable},
		{name: "E34 fragment of 2^32-1 empty samples", declared: "video/mp4", data: is(append(specimen.File("fragmented.mp4"), emptySamples(0xffffffff)...)), codes: unreadable},
		{name: "E35 no description", declared: "video/mp4", data: is(film[:description]), codes: unreadable},
		{name: "E35 two descriptions", declared: "video/mp4", data: is(append(film[:len(film):len(film)], film[description:]...)), codes: unreadable},
		{name: "E36 duration of 2^63", declared: "video/mp4", data: is(longFilm(film)), codes: unreadable},
		{name: "E36 a sample that lasts for years", declared: "video/mp4", data: is(patched(film, "stts", 12, specimen.U32(0xffffffff))), codes: unreadable},
		{name: "E37 playlist named .mp4", declared: "video/mp4", data: is([]byte("#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\nfile:///etc/passwd\n")), codes: wrongType},
		{name: "E38 frames somewhere else", declared: "video/mp4", data: is(patched(film, "url ", 0, specimen.U32(0))), codes: unreadable},
		{name: "film without a picture", declared: "video/mp4", data: is(patched(patched(film, "vide", -4, nil), "hdlr", 8, []byte("text"))), codes: unreadable},
		{name: "film of 65,535 by 65,535", declared: "video/mp4", data: is(patched(film, "avc1", 24, bytes.Repeat([]byte{0xff}, 4), 2)), codes: tooMany},
		{name: "film of JPEG files", declared: "video/mp4", data: is(patched(film, "avc1", -4, []byte("jpeg"), 2)), codes: wrongType},
		{name: "film of JPEG files under another name", declared: "video/mp4", data: is(objectType(0x6c)), codes: wrongType},
		{name: "film of PNG files under another name", declared: "video/mp4", data: is(objectType(0x6d)), codes: wrongType},
		{name: "film that does not say how it is coded", declared: "video/mp4", data: is(patched(film, "avcC", -4, []byte("free"))), codes: unreadable},
		{name: "film coded in two ways", declared: "video/mp4", data: is(specimen.InEntry(film, oldCoding())), codes: unreadable},
		{name: "encrypted film", declared: "video/mp4", data: is(patched(film, "avc1", -4, []byte("encv"), 2)), codes: wrongType},
		{name: "WebM with a part of 2^56 bytes", declared: "video/webm", data: is(append(specimen.File("live.webm"), "\x12\x54\xc3\x67\x01\xff\xff\xff\xff\xff\xff\xfe"...)), codes: unreadable},
		{name: "WebM with a part of unknown length", declared: "video/webm", data: is(append(specimen.File("live.webm"), "\x12\x54\xc3\x67\x01\xff\xff\xff\xff\xff\xff\xff"...)), codes: unreadable},
		{heavy: true, name: "WebM of 5,000,000 parts", declared: "video/webm", data: is(append(specimen.File("live.webm"), bytes.Repeat([]byte{0xec, 0x80}, 5_000_000)...)), codes: []string{"too_complex"}},
		{name: "WebM with two blocks in a group", declared: "video/webm", data: is(append(specimen.File("live.webm"), twoBlocks()...)), codes: unreadable},
		{name: "Matroska", declared: "video/webm", data: is(bytes.Replace(specimen.File("plain.webm"), []byte("\x84webm"), []byte("\x84mkv\x00"), 1)), codes: wrongType},
		{name: "WebM packed twice", declared: "video/webm", data: is(bytes.Replace(specimen.File("plain.webm"), []byte("\x22\xb5\x9c\x83und"), []byte("\x6d\x80\x84\x50\x31\x81\x00"), 1)), codes: unreadable},
	}
}

// objectType is a film whose coding says more closely what it is.
func objectType(kind byte) []byte {
	const head = 4 + 5 + 3 + 5 // version, two heads of descriptors, and what the first one says
	return patched(specimen.File("mpeg4.mp4"), "esds", head, []byte{kind})
}

// oldCoding is the description of a coding that was in use before H.264.
func oldCoding() []byte {
	film := specimen.File("mpeg4.mp4")
	at := bytes.Index(film, []byte("esds")) - 4
	return film[at : at+int(binary.BigEndian.Uint32(film[at:]))]
}

// sharedChunks is a film whose chunks all point at the same bytes: one sample, of units with
// lengths of a byte.
func sharedChunks(chunks uint32, sample []byte) []byte {
	film := specimen.File("plain.mp4")
	description := bytes.Index(film, []byte("moov")) - 4
	offset := uint32(description + 8)
	film = append(append(film[:description:description], specimen.Box("mdat", sample)...), film[description:]...)
	film = patched(film, "avcC", 4, []byte{0xfc})
	for table, body := range map[string][]byte{
		"stts": specimen.U32(0, 1, chunks, 1), "stsz": specimen.U32(0, uint32(len(sample)), chunks), "stsc": specimen.U32(0, 1, 1, 1, 1), "stss": specimen.U32(0, 0),
		"stco": append(specimen.U32(0, chunks), bytes.Repeat(specimen.U32(offset), int(chunks))...),
	} {
		film = specimen.SetBox(film, "moov/trak/mdia/minf/stbl/"+table, body)
	}
	return film
}

// emptySamples is a fragment of the first track with samples of no length.
func emptySamples(count uint32) []byte {
	const baseIsFragment, hasDuration, hasSize = 0x20000, 8, 16
	header := specimen.Box("tfhd", specimen.U32(baseIsFragment|hasDuration|hasSize, 1, 0, 0))
	return specimen.Box("moof", specimen.Box("mfhd", specimen.U32(0, 9)), specimen.Box("traf", header, specimen.Box("trun", specimen.U32(0, count))))
}

// twoBlocks is a group of blocks of two tracks, of which the first is in no description.
func twoBlocks() []byte {
	blocks := append(specimen.Element("\xa1", []byte("\x89\x00\x00\x00PK\x03\x04")), specimen.Element("\xa1", []byte("\x81\x00\x00\x00\x00"))...)
	return specimen.Element("\x1f\x43\xb6\x75", specimen.Element("\xe7", []byte{0}), specimen.Element("\xa0", blocks))
}

// nested is a box in a box in a box.
func nested(depth int, kinds ...string) []byte {
	data := make([]byte, 8*depth)
	for i := range depth {
		binary.BigEndian.PutUint32(data[8*i:], uint32(8*(depth-i)))
		copy(data[8*i+4:], kinds[i%len(kinds)])
	}
	return data
}

// patched overwrites bytes so many behind the name of a box. The name may have to be looked for
// more than once.
func patched(file []byte, kind string, offset int, data []byte, which ...int) []byte {
	file = bytes.Clone(file)
	at := 0
	for range append(which, 1)[0] {
		at += bytes.Index(file[at:], []byte(kind)) + 4
	}
	copy(file[at+offset:], data)
	return file
}

// longFilm has a header in its longer form, which says that the film lasts longer than time.
func longFilm(film []byte) []byte {
	header := bytes.Index(film, []byte("mvhd")) - 4
	description := bytes.Index(film, []byte("moov")) - 4
	rest := film[header+8+20 : header+108]
	long := specimen.Box("mvhd", []byte{1, 0, 0, 0}, make([]byte, 16), specimen.U32(1000, 1<<31, 0), rest)
	moov := specimen.Box("moov", long, film[header+108:])
	return append(film[:description:description], moov...)
}
