package specimen

import "encoding/binary"

// The planted location in degrees, minutes and thousandths of seconds.
const (
	secondsLat = 30132
	secondsLng = 40128
)

// entry is a tag of a directory of EXIF data.
type entry struct {
	tag, kind uint16
	count     uint32
	value     []byte
}

// Exif returns a block of EXIF data as cameras write it: orientation, time, maker notes, location,
// and a thumbnail if it is not nil.
func Exif(order binary.AppendByteOrder, orientation int, thumbnail []byte) []byte {
	b := exifBuilder{order: order}
	head := []byte("MM\x00*")
	if order.AppendUint16(nil, 1)[0] == 1 {
		head = []byte("II*\x00")
	}
	b.data = order.AppendUint32(head, 8)

	gps := []entry{
		b.text(1, "N"), b.rationals(2, 48, 1, 51, 1, secondsLat, 1000), b.text(3, "E"), b.rationals(4, 2, 1, 17, 1, secondsLng, 1000),
		b.rationals(7, 10, 1, 0, 1, 0, 1), b.text(0x1d, "2024:05:01"),
	}
	capture := []entry{
		b.text(0x9003, "2024:05:01 12:00:00"), b.text(0x9011, "+02:00"), {0x927c, 7, 20, []byte(Secret + "MakerNotes...")[:20]}, b.text(0xa431, Secret+"Serial"),
	}
	main := []entry{
		b.text(0x010f, Secret+"Maker"), b.short(0x0112, orientation), b.text(0x0132, "2024:05:01 12:00:00"), b.text(0x013b, Secret+"Artist"),
		b.long(0x8769, 0), b.long(0x8825, 0),
	}
	// The length of each directory is known, and its values follow it.
	captureAt := 8 + directorySize(main)
	gpsAt := captureAt + directorySize(capture)
	smallAt := gpsAt + directorySize(gps)
	main[4], main[5] = b.long(0x8769, captureAt), b.long(0x8825, gpsAt)
	next := uint32(0)
	if thumbnail != nil {
		next = smallAt
	}
	b.directory(main, next)
	b.directory(capture, 0)
	b.directory(gps, 0)
	if thumbnail != nil {
		small := []entry{b.short(0x0103, 6), b.long(0x0201, 0), b.long(0x0202, uint32(len(thumbnail)))}
		small[1] = b.long(0x0201, smallAt+directorySize(small))
		b.directory(small, 0)
		b.data = append(b.data, thumbnail...)
	}
	return b.data
}

type exifBuilder struct {
	order binary.AppendByteOrder
	data  []byte
}

func (b *exifBuilder) text(tag uint16, text string) entry {
	return entry{tag, 2, uint32(len(text) + 1), append([]byte(text), 0)}
}

func (b *exifBuilder) short(tag uint16, value int) entry {
	return entry{tag, 3, 1, b.order.AppendUint16(nil, uint16(value))}
}

func (b *exifBuilder) long(tag uint16, value uint32) entry {
	return entry{tag, 4, 1, b.order.AppendUint32(nil, value)}
}

func (b *exifBuilder) rationals(tag uint16, numbers ...uint32) entry {
	var value []byte
	for _, number := range numbers {
		value = b.order.AppendUint32(value, number)
	}
	return entry{tag, 5, uint32(len(numbers) / 2), value}
}

// directorySize is the length of a directory and of the values that do not fit into its entries.
func directorySize(entries []entry) uint32 {
	size := 2 + 12*len(entries) + 4
	for _, e := range entries {
		if len(e.value) > 4 {
			size += len(e.value)
		}
	}
	return uint32(size)
}

func (b *exifBuilder) directory(entries []entry, next uint32) {
	valuesAt := uint32(len(b.data) + 2 + 12*len(entries) + 4)
	var values []byte
	b.data = b.order.AppendUint16(b.data, uint16(len(entries)))
	for _, e := range entries {
		b.data = b.order.AppendUint32(b.order.AppendUint16(b.order.AppendUint16(b.data, e.tag), e.kind), e.count)
		if len(e.value) > 4 {
			b.data = b.order.AppendUint32(b.data, valuesAt+uint32(len(values)))
			values = append(values, e.value...)
			continue
		}
		b.data = append(b.data, append(e.value, 0, 0, 0, 0)[:4]...)
	}
	b.data = append(b.order.AppendUint32(b.data, next), values...)
}

// XMP returns a packet with the planted location.
func XMP() []byte {
	return []byte(`<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
		`<rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="48,51.5022N" exif:GPSLongitude="2,17.6688E" exif:DateTimeOriginal="2024-05-01T12:00:00+02:00">` +
		`<exif:UserComment>` + Secret + `Comment</exif:UserComment></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`)
}

// ICC returns a colour profile of a length, with one entry.
func ICC(length int) []byte {
	profile := make([]byte, length)
	copy(profile[12:], "mntrRGB XYZ ")
	copy(profile[36:], "acsp")
	binary.BigEndian.PutUint32(profile, uint32(length))
	copy(profile[128:], join(Uint32s(1), []byte("wtpt"), Uint32s(144, 20), []byte("XYZ "), Uint32s(0, 0xf6d6, 0x10000, 0xd32d)))
	return profile
}
