package ingest_test

import (
	"bytes"
	"encoding/binary"

	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

func badVideos() []hostileFile {
	video := specimen.File("plain.mp4")
	description := bytes.Index(video, []byte("moov")) - 4
	return []hostileFile{
		{name: "box of length 0", declared: "video/mp4", data: is(append(video[:len(video):len(video)], 0, 0, 0, 0, 'f', 'r', 'e', 'e')), codes: unreadable},
		{name: "box of length 2^64-1", declared: "video/mp4", data: is(append(video[:len(video):len(video)], "\x00\x00\x00\x01free\xff\xff\xff\xff\xff\xff\xff\xff"...)), codes: unreadable},
		{name: "box of length 2^63", declared: "video/mp4", data: is(append(video[:len(video):len(video)], "\x00\x00\x00\x01free\x80\x00\x00\x00\x00\x00\x00\x00"...)), codes: unreadable},
		{name: "10,000 boxes in each other", declared: "video/mp4", data: is(specimen.InBox(video, "moov", nested(10_000, "trak", "mdia"))), codes: unreadable},
		{name: "10,000 boxes in each other in user data", declared: "video/mp4", data: is(specimen.InBox(video, "moov", nested(10_000, "udta", "meta")))},
		{heavy: true, name: "400,000 boxes in sequence", declared: "video/mp4", data: is(append(video[:len(video):len(video)], bytes.Repeat(specimen.Box("free"), 400_000)...))},
		{heavy: true, name: "800,000 boxes in sequence", declared: "video/mp4", data: is(append(video[:len(video):len(video)], bytes.Repeat(specimen.Box("free"), 800_000)...)), codes: []string{"too_complex"}},
		{name: "times for 2^32-1 samples", declared: "video/mp4", data: is(patched(video, "stts", 4, specimen.Uint32s(0xffffffff))), codes: unreadable},
		{name: "a time for 2^32-1 samples at once", declared: "video/mp4", data: is(patched(video, "stts", 8, specimen.Uint32s(0xffffffff))), codes: unreadable},
		{name: "sizes of 2^32-1 samples", declared: "video/mp4", data: is(patched(video, "stsz", 8, specimen.Uint32s(0xffffffff))), codes: unreadable},
		{name: "2^32-1 samples of a gigabyte", declared: "video/mp4", data: is(patched(video, "stsz", 4, specimen.Uint32s(1<<30, 0xffffffff))), codes: unreadable},
		{name: "2^32-1 chunks", declared: "video/mp4", data: is(patched(video, "stco", 4, specimen.Uint32s(0xffffffff))), codes: unreadable},
		{name: "fragment of 2^32-1 samples", declared: "video/mp4", data: is(patched(specimen.File("fragmented.mp4"), "trun", 4, specimen.Uint32s(0xffffffff))), codes: unreadable},
		{name: "samples after the end of the file", declared: "video/mp4", data: is(patched(video, "stco", 8, specimen.Uint32s(0xfffffff0))), codes: unreadable},
		{name: "samples in the description", declared: "video/mp4", data: is(patched(video, "stco", 8, specimen.Uint32s(uint32(description)))), codes: unreadable},
		{name: "two chunks that share their samples", declared: "video/mp4", data: is(sharedChunks(2, []byte("\x14\x06\x05\x10sixteen letters.\x80"))), codes: unreadable},
		{name: "70,000 chunks that share their samples", declared: "video/mp4", data: is(sharedChunks(70_000, make([]byte, 60_000))), codes: unreadable},
		{name: "fragment of 2^32-1 empty samples", declared: "video/mp4", data: is(append(specimen.File("fragmented.mp4"), emptySamples(0xffffffff)...)), codes: unreadable},
		{name: "no description", declared: "video/mp4", data: is(video[:description]), codes: unreadable},
		{name: "two descriptions", declared: "video/mp4", data: is(append(video[:len(video):len(video)], video[description:]...)), codes: unreadable},
		{name: "duration of 2^63", declared: "video/mp4", data: is(longVideo(video)), codes: unreadable},
		{name: "a sample that lasts for years", declared: "video/mp4", data: is(patched(video, "stts", 12, specimen.Uint32s(0xffffffff))), codes: unreadable},
		{name: "playlist named .mp4", declared: "video/mp4", data: is([]byte("#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\nfile:///etc/passwd\n")), codes: wrongType},
		{name: "frames in another file", declared: "video/mp4", data: is(patched(video, "url ", 0, specimen.Uint32s(0))), codes: unreadable},
		{name: "video without a picture", declared: "video/mp4", data: is(patched(patched(video, "vide", -4, nil), "hdlr", 8, []byte("text"))), codes: unreadable},
		{name: "video of 65,535 by 65,535", declared: "video/mp4", data: is(patched(video, "avc1", 24, bytes.Repeat([]byte{0xff}, 4), 2)), codes: tooMany},
		{name: "video of JPEG files", declared: "video/mp4", data: is(patched(video, "avc1", -4, []byte("jpeg"), 2)), codes: wrongType},
		{name: "video of JPEG files under another name", declared: "video/mp4", data: is(objectType(0x6c)), codes: wrongType},
		{name: "video of PNG files under another name", declared: "video/mp4", data: is(objectType(0x6d)), codes: wrongType},
		{name: "video without a configuration of its coding", declared: "video/mp4", data: is(patched(video, "avcC", -4, []byte("free"))), codes: unreadable},
		{name: "video coded in two ways", declared: "video/mp4", data: is(specimen.InEntry(video, oldCoding())), codes: unreadable},
		{name: "encrypted video", declared: "video/mp4", data: is(patched(video, "avc1", -4, []byte("encv"), 2)), codes: wrongType},
		{name: "WebM with a part of 2^56 bytes", declared: "video/webm", data: is(append(specimen.File("live.webm"), "\x12\x54\xc3\x67\x01\xff\xff\xff\xff\xff\xff\xfe"...)), codes: unreadable},
		{name: "WebM with a part of unknown length", declared: "video/webm", data: is(append(specimen.File("live.webm"), "\x12\x54\xc3\x67\x01\xff\xff\xff\xff\xff\xff\xff"...)), codes: unreadable},
		{heavy: true, name: "WebM of 5,000,000 parts", declared: "video/webm", data: is(append(specimen.File("live.webm"), bytes.Repeat([]byte{0xec, 0x80}, 5_000_000)...)), codes: []string{"too_complex"}},
		{name: "WebM with two blocks in a group", declared: "video/webm", data: is(append(specimen.File("live.webm"), twoBlocks()...)), codes: unreadable},
		{name: "Matroska", declared: "video/webm", data: is(bytes.Replace(specimen.File("plain.webm"), []byte("\x84webm"), []byte("\x84mkv\x00"), 1)), codes: wrongType},
		{name: "WebM that is compressed as a whole", declared: "video/webm", data: is(bytes.Replace(specimen.File("plain.webm"), []byte("\x22\xb5\x9c\x83und"), []byte("\x6d\x80\x84\x50\x31\x81\x00"), 1)), codes: unreadable},
	}
}

// objectType is a video of another MPEG-4 object type.
func objectType(kind byte) []byte {
	const head = 4 + 5 + 3 + 5 // version, two descriptor headers, and the body of the first one
	return patched(specimen.File("mpeg4.mp4"), "esds", head, []byte{kind})
}

// oldCoding is the configuration of a coding that was used before H.264.
func oldCoding() []byte {
	video := specimen.File("mpeg4.mp4")
	at := bytes.Index(video, []byte("esds")) - 4
	return video[at : at+int(binary.BigEndian.Uint32(video[at:]))]
}

// sharedChunks is a video whose chunks all refer to the same sample, of units with lengths of one
// byte.
func sharedChunks(chunks uint32, sample []byte) []byte {
	video := specimen.File("plain.mp4")
	description := bytes.Index(video, []byte("moov")) - 4
	offset := uint32(description + 8)
	video = append(append(video[:description:description], specimen.Box("mdat", sample)...), video[description:]...)
	video = patched(video, "avcC", 4, []byte{0xfc})
	for table, body := range map[string][]byte{
		"stts": specimen.Uint32s(0, 1, chunks, 1), "stsz": specimen.Uint32s(0, uint32(len(sample)), chunks), "stsc": specimen.Uint32s(0, 1, 1, 1, 1), "stss": specimen.Uint32s(0, 0),
		"stco": append(specimen.Uint32s(0, chunks), bytes.Repeat(specimen.Uint32s(offset), int(chunks))...),
	} {
		video = specimen.SetBox(video, "moov/trak/mdia/minf/stbl/"+table, body)
	}
	return video
}

// emptySamples is a fragment of the first track with samples of length zero.
func emptySamples(count uint32) []byte {
	const baseIsFragment, hasDuration, hasSize = 0x20000, 8, 16
	header := specimen.Box("tfhd", specimen.Uint32s(baseIsFragment|hasDuration|hasSize, 1, 0, 0))
	return specimen.Box("moof", specimen.Box("mfhd", specimen.Uint32s(0, 9)), specimen.Box("traf", header, specimen.Box("trun", specimen.Uint32s(0, count))))
}

// twoBlocks is a group with blocks of two tracks, of which the first is not described.
func twoBlocks() []byte {
	blocks := append(specimen.Element("\xa1", []byte("\x89\x00\x00\x00PK\x03\x04")), specimen.Element("\xa1", []byte("\x81\x00\x00\x00\x00"))...)
	return specimen.Element("\x1f\x43\xb6\x75", specimen.Element("\xe7", []byte{0}), specimen.Element("\xa0", blocks))
}

// nested returns boxes inside of each other.
func nested(depth int, kinds ...string) []byte {
	data := make([]byte, 8*depth)
	for i := range depth {
		binary.BigEndian.PutUint32(data[8*i:], uint32(8*(depth-i)))
		copy(data[8*i+4:], kinds[i%len(kinds)])
	}
	return data
}

// patched overwrites bytes at an offset after the type of a box, of its first occurrence or of
// another.
func patched(file []byte, kind string, offset int, data []byte, which ...int) []byte {
	file = bytes.Clone(file)
	at := 0
	for range append(which, 1)[0] {
		at += bytes.Index(file[at:], []byte(kind)) + 4
	}
	copy(file[at+offset:], data)
	return file
}

// longVideo has a header of version 1 with a duration of 2^63.
func longVideo(video []byte) []byte {
	header := bytes.Index(video, []byte("mvhd")) - 4
	description := bytes.Index(video, []byte("moov")) - 4
	rest := video[header+8+20 : header+108]
	long := specimen.Box("mvhd", []byte{1, 0, 0, 0}, make([]byte, 16), specimen.Uint32s(1000, 1<<31, 0), rest)
	moov := specimen.Box("moov", long, video[header+108:])
	return append(video[:description:description], moov...)
}
