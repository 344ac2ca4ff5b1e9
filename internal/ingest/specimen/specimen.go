// Package specimen makes media files for tests: files as cameras, phones and browsers write them,
// with a location and other private data planted at every location where a file can hold it, and
// the parts to build hostile files. Only tests import it.
package specimen

import (
	"bytes"
	"embed"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
)

// The planted data. It must never be served.
const (
	Lat = 48.85837
	Lng = 2.29448

	// Secret begins every planted text.
	Secret = "Planted"

	iso6709 = "+48.85837+002.29448+035.000/"
)

// Traces are byte strings: each planted file holds at least one, cleaned files hold none.
func Traces() [][]byte {
	traces := [][]byte{[]byte(Secret), []byte("48.858"), []byte("2.2944"), []byte("48,51"), []byte("2,17.6"), []byte("GPSL")}
	for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
		traces = append(traces, order.AppendUint32(order.AppendUint32(nil, secondsLat), 1000), order.AppendUint32(order.AppendUint32(nil, secondsLng), 1000))
	}
	return traces
}

//go:embed files
var files embed.FS

// File returns one of the files that make.sh made with real programs.
func File(name string) []byte {
	data, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err)
	}
	return data
}

// Picture returns a picture with visible structure, different for every seed.
func Picture(width, height, seed int) *image.RGBA {
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	s := float64(seed)
	for y := range height {
		for x := range width {
			u, v := float64(x)/float64(width), float64(y)/float64(height)
			picture.SetRGBA(x, y, color.RGBA{
				R: wave(3*u + 1.7*s*v + s), G: wave(5*v - 2.3*u*s + 0.7*s), B: wave(4*(u+v) + 1.3*s), A: 255,
			})
		}
	}
	return picture
}

func wave(t float64) byte { return byte(127.5 + 127.5*math.Sin(2*math.Pi*t)) }

// JPEG encodes a picture as JPEG, with further segments after its first two bytes.
func JPEG(picture image.Image, segments ...[]byte) []byte {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, picture, &jpeg.Options{Quality: 85}); err != nil {
		panic(err)
	}
	return join(file.Bytes()[:2], join(segments...), file.Bytes()[2:])
}

// Segment returns a segment of a JPEG file.
func Segment(marker byte, data ...[]byte) []byte {
	body := join(data...)
	return join([]byte{0xff, marker}, binary.BigEndian.AppendUint16(nil, uint16(len(body)+2)), body)
}

// PNG encodes a picture as PNG, with further chunks after its header.
func PNG(picture image.Image, chunks ...[]byte) []byte {
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		panic(err)
	}
	const header = 8 + 25
	return join(file.Bytes()[:header], join(chunks...), file.Bytes()[header:])
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
