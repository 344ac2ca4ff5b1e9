package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"github.com/sortie-labs/sortie/internal/ingest/container"
)

const (
	thumbnailSide    = 512 // pixels of the longer side
	thumbnailQuality = 82
)

// decodePicture decodes a picture whose dimensions were checked before.
func decodePicture(format container.Format, r io.Reader) (image.Image, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	var picture image.Image
	var err error
	switch format {
	case container.JPEG:
		picture, err = jpeg.Decode(buffered)
	case container.PNG:
		picture, err = png.Decode(buffered)
	case container.WebP:
		picture, err = webp.Decode(buffered)
	default:
		return nil, fmt.Errorf("decode %s: not a picture", format)
	}
	if err != nil {
		return nil, &container.Problem{Code: container.CodeUnreadable, Message: "the picture cannot be decoded: it is cut off or damaged"}
	}
	if picture.Bounds().Empty() {
		return nil, errors.New("decode: an empty picture")
	}
	return picture, nil
}

// newThumbnail returns a small, upright, opaque version of a picture.
func newThumbnail(picture image.Image, orientation int) *image.RGBA {
	small := shrink(picture)
	bounds := fit(picture.Bounds(), thumbnailSide)
	thumbnail := image.NewRGBA(bounds)
	draw.Draw(thumbnail, bounds, image.White, image.Point{}, draw.Src)
	draw.CatmullRom.Scale(thumbnail, bounds, small, small.Bounds(), draw.Over, nil)
	return upright(thumbnail, orientation)
}

// fit scales a rectangle down, in proportion, to sides of at most side.
func fit(bounds image.Rectangle, side int) image.Rectangle {
	width, height := bounds.Dx(), bounds.Dy()
	if longer := max(width, height); longer > side {
		width, height = max(1, (width*side+longer/2)/longer), max(1, (height*side+longer/2)/longer)
	}
	return image.Rect(0, 0, width, height)
}

// shrink averages blocks of pixels until the longer side is less than twice a thumbnail's. The
// exact scaler that follows would need memory for every row of a large picture.
func shrink(picture image.Image) *image.RGBA {
	bounds := picture.Bounds()
	width, height := bounds.Dx(), bounds.Dy()
	block := max(1, max(width, height)/thumbnailSide)
	blockX, blockY := min(block, width), min(block, height)
	small := image.NewRGBA(image.Rect(0, 0, width/blockX, height/blockY))
	strip := image.NewRGBA(image.Rect(0, 0, width, blockY))
	for y := range height / blockY {
		draw.Draw(strip, strip.Bounds(), picture, bounds.Min.Add(image.Pt(0, y*blockY)), draw.Src)
		row := small.Pix[y*small.Stride:][:small.Stride]
		for x := range width / blockX {
			average(row[4*x:4*x+4], strip, x*blockX, blockX, blockY)
		}
	}
	return small
}

func average(pixel []byte, strip *image.RGBA, left, width, height int) {
	var sums [4]int
	for y := range height {
		block := strip.Pix[y*strip.Stride+4*left:][:4*width]
		for i := 0; i < len(block); i += 4 {
			sums[0] += int(block[i])
			sums[1] += int(block[i+1])
			sums[2] += int(block[i+2])
			sums[3] += int(block[i+3])
		}
	}
	for i, sum := range sums {
		pixel[i] = byte(sum / (width * height))
	}
}

// upright applies an EXIF orientation.
func upright(picture *image.RGBA, orientation int) *image.RGBA {
	if orientation <= 1 || orientation > 8 {
		return picture
	}
	width, height := picture.Bounds().Dx(), picture.Bounds().Dy()
	turned := image.NewRGBA(image.Rect(0, 0, width, height))
	if orientation >= 5 {
		turned = image.NewRGBA(image.Rect(0, 0, height, width))
	}
	for y := range height {
		for x := range width {
			toX, toY := x, y
			switch orientation {
			case 2:
				toX = width - 1 - x
			case 3:
				toX, toY = width-1-x, height-1-y
			case 4:
				toY = height - 1 - y
			case 5:
				toX, toY = y, x
			case 6:
				toX, toY = height-1-y, x
			case 7:
				toX, toY = height-1-y, width-1-x
			case 8:
				toX, toY = y, width-1-x
			}
			turned.SetRGBA(toX, toY, picture.RGBAAt(x, y))
		}
	}
	return turned
}

func encodeThumbnail(w io.Writer, thumbnail *image.RGBA) error {
	return jpeg.Encode(w, thumbnail, &jpeg.Options{Quality: thumbnailQuality})
}

// grey returns the perceived brightness of a pixel, times a thousand.
func grey(c color.RGBA) int64 { return 299*int64(c.R) + 587*int64(c.G) + 114*int64(c.B) }
