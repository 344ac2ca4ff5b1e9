package ingest_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math/bits"
	"testing"

	"golang.org/x/image/draw"

	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// nearDuplicate is the number of bits in which the hashes of similar pictures may differ.
const nearDuplicate = 6

func hashOf(t *testing.T, picture image.Image) uint64 {
	t.Helper()
	hash, ok := ingest.PerceptualHash(ingest.NewThumbnail(picture, 1))
	if !ok {
		t.Fatal("the picture has too little detail for a hash")
	}
	return hash
}

func TestPerceptualHashOfSimilarPictures(t *testing.T) {
	t.Parallel()
	for seed := range 6 {
		picture := scene(800, 600, seed)
		want := hashOf(t, picture)
		for name, changed := range map[string]image.Image{
			"compressed hard":  recompressed(t, picture, 25),
			"half the size":    scaled(picture, 400, 300),
			"a tenth":          scaled(picture, 80, 60),
			"brighter":         adjusted(picture, 1, 25),
			"less contrast":    adjusted(picture, 0.8, 20),
			"cut at the edges": picture.SubImage(image.Rect(8, 6, 792, 594)),
		} {
			if distance := bits.OnesCount64(hashOf(t, changed) ^ want); distance > nearDuplicate {
				t.Errorf("picture %d, %s: %d bits differ, want at most %d", seed, name, distance, nearDuplicate)
			}
		}
	}
}

func TestPerceptualHashOfDifferentPictures(t *testing.T) {
	t.Parallel()
	var hashes []uint64
	for seed := range 40 {
		hashes = append(hashes, hashOf(t, scene(120, 80, seed)))
	}
	for i := range hashes {
		for j := range i {
			if distance := bits.OnesCount64(hashes[i] ^ hashes[j]); distance <= nearDuplicate {
				t.Errorf("pictures %d and %d: %d bits differ, want more than %d", i, j, distance, nearDuplicate)
			}
		}
	}
}

func TestNoPerceptualHashOfPlainPictures(t *testing.T) {
	t.Parallel()
	for _, c := range []color.Color{color.White, color.Black, color.RGBA{100, 150, 200, 255}} {
		wall := image.NewRGBA(image.Rect(0, 0, 300, 200))
		draw.Draw(wall, wall.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
		if _, ok := ingest.PerceptualHash(ingest.NewThumbnail(recompressed(t, wall, 80), 1)); ok {
			t.Errorf("a plain picture of %v has a hash, want none", c)
		}
	}
}

// Stored hashes are compared with those of other machines, so they must not change.
func TestPerceptualHashIsStable(t *testing.T) {
	t.Parallel()
	thumbnail := specimen.Picture(320, 240, 5)
	const want = uint64(0x90c28201540a8142)
	if hash, _ := ingest.PerceptualHash(thumbnail); hash != want {
		t.Errorf("got %#x, want %#x", hash, want)
	}
}

func TestThumbnailSizes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ width, height, wantWidth, wantHeight int }{
		{1, 1, 1, 1}, {512, 512, 512, 512}, {513, 511, 512, 510}, {4000, 3000, 512, 384}, {3000, 4000, 384, 512}, {5000, 10, 512, 1}, {10, 5000, 1, 512}, {700, 5, 512, 4},
	} {
		thumbnail := ingest.NewThumbnail(image.NewGray(image.Rect(0, 0, row.width, row.height)), 1)
		if size := thumbnail.Bounds().Size(); size != image.Pt(row.wantWidth, row.wantHeight) {
			t.Errorf("thumbnail of %dx%d is %v, want %dx%d", row.width, row.height, size, row.wantWidth, row.wantHeight)
		}
	}
	clear := ingest.NewThumbnail(image.NewNRGBA(image.Rect(0, 0, 10, 10)), 1)
	if got := clear.RGBAAt(5, 5); got != (color.RGBA{255, 255, 255, 255}) {
		t.Errorf("transparent pixels became %v, want white", got)
	}
}

// scene returns a picture of shapes, with strong low frequencies like photographs.
func scene(width, height, seed int) *image.RGBA {
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	texture := specimen.Picture(16, 12, seed+1)
	draw.CatmullRom.Scale(picture, picture.Bounds(), texture, texture.Bounds(), draw.Src, nil)
	state := uint32(seed)*2654435761 + 12345
	next := func(n int) int {
		state = state*1664525 + 1013904223
		return int(state>>8) % n
	}
	for range 8 {
		x, y := next(width), next(height)
		shape := image.Rect(x, y, x+width/8+next(width/3), y+height/8+next(height/3))
		paint := color.RGBA{byte(next(256)), byte(next(256)), byte(next(256)), 255}
		draw.Draw(picture, shape, image.NewUniform(paint), image.Point{}, draw.Src)
	}
	return picture
}

func recompressed(t *testing.T, picture image.Image, quality int) image.Image {
	t.Helper()
	var data bytes.Buffer
	if err := jpeg.Encode(&data, picture, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	decoded, err := jpeg.Decode(&data)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func scaled(picture image.Image, width, height int) image.Image {
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.ApproxBiLinear.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	return small
}

func adjusted(picture *image.RGBA, contrast, brightness float64) image.Image {
	changed := image.NewRGBA(picture.Bounds())
	for i, value := range picture.Pix {
		changed.Pix[i] = byte(max(0, min(255, float64(value)*contrast+brightness)))
		if i%4 == 3 {
			changed.Pix[i] = 255
		}
	}
	return changed
}
