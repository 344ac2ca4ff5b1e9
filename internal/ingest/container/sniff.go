package container

import (
	"bytes"
	"slices"
	"strings"
)

// sniffLength is the number of bytes that determine the format.
const sniffLength = 512

// sniff returns the format of a file by its first 512 bytes, or fewer if it is shorter. Names and
// declared types are ignored, as programs that open the file ignore them.
func sniff(head []byte) (Format, bool) {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xd8, 0xff}):
		return JPEG, true
	case bytes.HasPrefix(head, []byte(pngSignature)):
		return PNG, true
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return WebP, true
	case len(head) >= 16 && string(head[4:8]) == "ftyp":
		return sniffBrand(head)
	case bytes.HasPrefix(head, []byte{0x1a, 0x45, 0xdf, 0xa3}) && bytes.Contains(head[:min(len(head), 64)], []byte("webm")):
		return WebM, true
	}
	return "", false
}

// mp4Brands are the brands of MP4 files. Other formats in the same boxes, like HEIC, AVIF and
// Canon's raw files, are not included.
var mp4Brands = []string{
	"isom", "iso2", "iso3", "iso4", "iso5", "iso6", "iso7", "iso8", "iso9", "isoa", "isob", "isoc",
	"mp41", "mp42", "mp71", "avc1", "hvc1", "av01", "M4V ", "M4VH", "M4VP", "dash", "msdh", "msix", "cmfc", "cmf2", "MSNV", "mmp4", "XAVC", "3gp4", "3gp5", "3gp6",
}

func sniffBrand(head []byte) (Format, bool) {
	if string(head[8:12]) == "qt  " {
		return QuickTime, true
	}
	return MP4, slices.Contains(mp4Brands, string(head[8:12]))
}

// describe names the format of a refused file for its sender.
func describe(head []byte) string {
	text := strings.ToLower(strings.TrimLeft(string(head), " \t\r\n\xef\xbb\xbf"))
	switch {
	case len(head) == 0:
		return "empty"
	case strings.HasPrefix(text, "gif8"):
		return "a GIF"
	case strings.HasPrefix(text, "%pdf"):
		return "a PDF"
	case strings.HasPrefix(text, "pk\x03\x04"):
		return "a ZIP archive"
	case strings.HasPrefix(text, "#extm3u"):
		return "a playlist"
	case strings.HasPrefix(text, "mm\x00*"), strings.HasPrefix(text, "ii*\x00"):
		return "a TIFF"
	case strings.HasPrefix(text, "<svg"), strings.HasPrefix(text, "<?xml"), strings.HasPrefix(text, "<!doctype"), strings.HasPrefix(text, "<html"):
		return "a text document"
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return "of the brand " + printable(head[8:12])
	case bytes.HasPrefix(head, []byte{0x1a, 0x45, 0xdf, 0xa3}):
		return "a Matroska file that is not WebM"
	}
	return "of a format that is not accepted"
}

// printable makes bytes of a file fit for a message.
func printable(code []byte) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, code))
}
