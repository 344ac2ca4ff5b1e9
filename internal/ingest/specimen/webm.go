package specimen

import (
	"bytes"
	"encoding/binary"
)

// Element returns an element of a WebM file with the bytes of its id.
func Element(name string, data ...[]byte) []byte {
	body := join(data...)
	size := binary.BigEndian.AppendUint64(nil, uint64(len(body))|1<<56)
	return join([]byte(name), size, body)
}

// cluster returns a cluster of blocks at time zero.
func cluster(blocks ...[]byte) []byte {
	return Element("\x1f\x43\xb6\x75", Element("\xe7", []byte{0}), join(blocks...))
}

func webms() []Planted {
	tag := func(name, value string) []byte {
		return Element("\x12\x54\xc3\x67", Element("\x73\x73", Element("\x63\xc0"), Element("\x67\xc8", Element("\x45\xa3", []byte(name)), Element("\x44\x87", []byte(value)))))
	}
	attachment := Element("\x19\x41\xa4\x69", Element("\x61\xa7", Element("\x46\x6e", []byte(Secret+".txt")), Element("\x46\x5c", []byte(iso6709))))
	chapters := Element("\x10\x43\xa7\x70", []byte(Secret+"Chapter"))
	live := File("live.webm")
	file := func(name string, data []byte, hasPlace bool) Planted {
		return Planted{Name: "webm " + name, Type: "video/webm", Data: data, Width: 64, Height: 48, Orientation: 1, HasPlace: hasPlace}
	}
	return []Planted{
		file("tags", join(live, tag("LOCATION", iso6709)), true),
		file("tags without a place", join(live, tag("COMMENT", Secret)), false),
		file("attachment and chapters", join(live, attachment, chapters), false),
		file("empty space", join(live, Element("\xec", []byte(Secret))), false),
		file("archive after it", join(File("plain.webm"), []byte("PK\x03\x04"+Secret)), false),
		file("block of no track", join(live, cluster(Element("\xa3", []byte("\x89\x00\x00\x80"+Secret)))), false),
		file("inside samples, av1", join(File("av1.webm"), cluster(Element("\xa3", []byte("\x81\x00\x00\x80\x2a"), []byte{byte(len(Secret) + 2)}, []byte("\x06"+Secret+"\x80")))), false),
		file("inside samples, av1 in a group", join(File("av1.webm"), cluster(Element("\xa0", Element("\xa1", []byte("\x81\x00\x00\x00\x7a"), []byte{byte(len(Secret) + 1)}, []byte(Secret+"\x80"))))), false),
		file("subtitles", File("subtitles.webm"), false),
		file("vorbis comments", bytes.Replace(live, []byte("Xiph.Org libVorbis"), []byte(Secret + " " + iso6709)[:18], 1), false),
	}
}
