package container

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// The EXIF tags that are read.
const (
	tagOrientation      = 0x0112
	tagDateTime         = 0x0132
	tagExifDirectory    = 0x8769
	tagGPSDirectory     = 0x8825
	tagDateTimeOriginal = 0x9003
	tagOffsetOriginal   = 0x9011

	tagLatitudeRef  = 1
	tagLatitude     = 2
	tagLongitudeRef = 3
	tagLongitude    = 4
	tagGPSTime      = 7
	tagGPSDate      = 0x1d
)

// The field types that are read.
const (
	typeASCII    = 2
	typeShort    = 3
	typeLong     = 4
	typeRational = 5
)

// maxDirectoryEntries is far more than any camera writes.
const maxDirectoryEntries = 1000

// exif is a block of EXIF data: a small TIFF file.
type exif struct {
	data  []byte
	order binary.ByteOrder
}

// field is the type, count and value of a tag.
type field struct {
	kind  uint16
	count uint32
	value []byte
}

// readExif reads the known tags of a block of EXIF data and ignores the rest. The block is not
// served, so a mistake in it is no reason to refuse the picture.
func (m *Metadata) readExif(data []byte) {
	data = bytes.TrimPrefix(data, []byte(exifPrefix))
	if len(data) < 8 {
		return
	}
	e := exif{data: data}
	switch string(data[:4]) {
	case "II*\x00":
		e.order = binary.LittleEndian
	case "MM\x00*":
		e.order = binary.BigEndian
	default:
		return
	}
	var local string
	var directories [2]uint32 // of the capture, and of the location
	e.each(e.order.Uint32(data[4:]), func(tag uint16, f field) {
		switch tag {
		case tagOrientation:
			if turn, ok := e.short(f); ok && turn >= 1 && turn <= 8 {
				m.Orientation = int(turn)
			}
		case tagDateTime:
			local = f.text()
		case tagExifDirectory:
			directories[0], _ = e.long(f)
		case tagGPSDirectory:
			directories[1], _ = e.long(f)
		}
	})
	m.readCapture(e, directories[0], local)
	m.readGPS(e, directories[1])
}

func (m *Metadata) readCapture(e exif, directory uint32, local string) {
	var zone string
	if directory != 0 {
		e.each(directory, func(tag uint16, f field) {
			switch tag {
			case tagDateTimeOriginal:
				local = f.text()
			case tagOffsetOriginal:
				zone = f.text()
			}
		})
	}
	if at, err := time.Parse("2006:01:02 15:04:05-07:00", local+zone); err == nil {
		m.setCaptured(at, false)
	} else if at, err := time.Parse("2006:01:02 15:04:05", local); err == nil {
		m.setCaptured(at, true)
	}
}

func (m *Metadata) readGPS(e exif, directory uint32) {
	if directory == 0 {
		return
	}
	var latitude, longitude, clock [3]float64
	var latitudeRef, longitudeRef, date string
	var hasLatitude, hasLongitude, hasClock bool
	e.each(directory, func(tag uint16, f field) {
		switch tag {
		case tagLatitudeRef:
			latitudeRef = f.text()
		case tagLatitude:
			latitude, hasLatitude = e.rationals(f)
		case tagLongitudeRef:
			longitudeRef = f.text()
		case tagLongitude:
			longitude, hasLongitude = e.rationals(f)
		case tagGPSTime:
			clock, hasClock = e.rationals(f)
		case tagGPSDate:
			date = f.text()
		}
	})
	if hasLatitude && hasLongitude {
		lat, latOK := signed(latitude, latitudeRef, "N", "S")
		lng, lngOK := signed(longitude, longitudeRef, "E", "W")
		if latOK && lngOK {
			m.setPlace(lat, lng)
		}
	}
	if day, err := time.Parse("2006:01:02", date); err == nil && hasClock && clock[0] < 24 && clock[1] < 60 && clock[2] < 61 {
		seconds := clock[0]*3600 + clock[1]*60 + clock[2]
		m.setCaptured(day.Add(time.Duration(seconds*1000)*time.Millisecond), false)
	}
}

// each calls fn for every entry of a directory that lies inside the block.
func (e exif) each(at uint32, fn func(tag uint16, f field)) {
	if uint64(at)+2 > uint64(len(e.data)) {
		return
	}
	count := int(e.order.Uint16(e.data[at:]))
	entries := e.data[at+2:]
	for range min(count, maxDirectoryEntries, len(entries)/12) {
		entry := entries[:12]
		entries = entries[12:]
		f := field{kind: e.order.Uint16(entry[2:]), count: e.order.Uint32(entry[4:])}
		length := uint64(f.count) * fieldSize(f.kind)
		f.value = entry[8:]
		if length > 4 {
			start := uint64(e.order.Uint32(entry[8:]))
			if start+length > uint64(len(e.data)) {
				continue
			}
			f.value = e.data[start:]
		}
		f.value = f.value[:length:length]
		fn(e.order.Uint16(entry), f)
	}
}

func fieldSize(kind uint16) uint64 {
	switch kind {
	case typeASCII:
		return 1
	case typeShort:
		return 2
	case typeLong:
		return 4
	case typeRational:
		return 8
	}
	return 0 // other types are not read
}

func (e exif) short(f field) (uint16, bool) {
	if f.kind != typeShort || len(f.value) < 2 {
		return 0, false
	}
	return e.order.Uint16(f.value), true
}

func (e exif) long(f field) (uint32, bool) {
	if f.kind != typeLong || len(f.value) < 4 {
		return 0, false
	}
	return e.order.Uint32(f.value), true
}

// rationals reads degrees, minutes and seconds, or hours, minutes and seconds.
func (e exif) rationals(f field) (values [3]float64, ok bool) {
	if f.kind != typeRational || len(f.value) < 24 {
		return values, false
	}
	for i := range values {
		numerator, denominator := e.order.Uint32(f.value[8*i:]), e.order.Uint32(f.value[8*i+4:])
		if denominator == 0 {
			return values, false
		}
		values[i] = float64(numerator) / float64(denominator)
	}
	return values, true
}

func (f field) text() string {
	if f.kind != typeASCII {
		return ""
	}
	text, _, _ := strings.Cut(string(f.value[:min(len(f.value), 64)]), "\x00")
	return strings.TrimSpace(text)
}

func signed(parts [3]float64, ref, positive, negative string) (float64, bool) {
	degrees := parts[0] + parts[1]/60 + parts[2]/3600
	switch ref {
	case positive:
		return degrees, true
	case negative:
		return -degrees, true
	}
	return 0, false
}

func (m *Metadata) setPlace(lat, lng float64) {
	if lat >= -90 && lat <= 90 && lng >= -180 && lng <= 180 && m.Place == nil {
		m.Place = &Place{Lat: lat, Lng: lng}
	}
}

// setCaptured sets the capture time. A time with a zone replaces one without; otherwise the first
// one is kept.
func (m *Metadata) setCaptured(at time.Time, zoneUnknown bool) {
	if at.Year() < 1990 || at.Year() > 9999 {
		return // the clock was not set
	}
	if m.CapturedAt.IsZero() || m.ZoneUnknown && !zoneUnknown {
		m.CapturedAt, m.ZoneUnknown = at.UTC(), zoneUnknown
	}
}

// orientationExif returns a block of EXIF data that holds the orientation only.
func orientationExif(orientation int) []byte {
	return []byte{
		'M', 'M', 0, '*', 0, 0, 0, 8, // the directory follows
		0, 1, // one entry
		tagOrientation >> 8, tagOrientation & 0xff, 0, typeShort, 0, 0, 0, 1, 0, byte(orientation), 0, 0,
		0, 0, 0, 0, // no further directory
	}
}

// parseISO6709 parses a location as phones write it into videos: +48.8577+002.2950+035.000/
func parseISO6709(text string) (lat, lng float64, ok bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "/")
	lat, rest, ok := cutDegrees(text)
	if !ok {
		return 0, 0, false
	}
	lng, _, ok = cutDegrees(rest)
	return lat, lng, ok
}

func cutDegrees(text string) (degrees float64, rest string, ok bool) {
	if text == "" || (text[0] != '+' && text[0] != '-') {
		return 0, "", false
	}
	end := 1 + strings.IndexAny(text[1:]+"+", "+-")
	degrees, err := strconv.ParseFloat(text[:end], 64)
	return degrees, text[end:], err == nil
}
