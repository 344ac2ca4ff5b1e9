package container

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// maxXMP is how much of an XMP packet is read.
const maxXMP = 64 << 10

// readXMP reads location and capture time from an XMP packet. The packet is XML from a stranger:
// the few properties are found by their usual names, and the XML is not parsed.
func (m *Metadata) readXMP(packet []byte) {
	packet = packet[:min(len(packet), maxXMP)]
	lat, latOK := parseXMPDegrees(xmpProperty(packet, "exif:GPSLatitude"), "N", "S")
	lng, lngOK := parseXMPDegrees(xmpProperty(packet, "exif:GPSLongitude"), "E", "W")
	if latOK && lngOK {
		m.setPlace(lat, lng)
	}
	for _, name := range []string{"exif:DateTimeOriginal", "photoshop:DateCreated", "xmp:CreateDate"} {
		text := xmpProperty(packet, name)
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			m.setCaptured(at, false)
		} else if at, err := time.Parse("2006-01-02T15:04:05", text); err == nil {
			m.setCaptured(at, true)
		}
	}
}

// xmpProperty returns the value of a property, written as an attribute or as an element.
func xmpProperty(packet []byte, name string) string {
	at := bytes.Index(packet, []byte(name))
	if at < 0 {
		return ""
	}
	rest := packet[at+len(name):]
	rest = rest[:min(len(rest), 128)]
	start := bytes.IndexAny(rest, `>"'`)
	if start < 0 {
		return ""
	}
	end := bytes.IndexAny(rest[start+1:], `<"'`)
	if end < 0 {
		return ""
	}
	return strings.TrimSpace(string(rest[start+1 : start+1+end]))
}

// parseXMPDegrees parses 48,51.4620N or 48,51,27.72N.
func parseXMPDegrees(text, positive, negative string) (float64, bool) {
	if len(text) < 2 {
		return 0, false
	}
	var parts [3]float64
	numbers := strings.Split(text[:len(text)-1], ",")
	if len(numbers) > len(parts) {
		return 0, false
	}
	for i, number := range numbers {
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, false
		}
		parts[i] = value
	}
	return signed(parts, text[len(text)-1:], positive, negative)
}
