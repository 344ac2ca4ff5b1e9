package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
)

const (
	megabyte    = 1 << 20
	rangeLength = 64 << 10
	largeFile   = 100 * megabyte
)

// shownFile is what one of the first copies shows.
type shownFile struct {
	size int
	hash sortie.Hash
}

// path is where the product and nginx both find it, below the directory of media.
func (f shownFile) path() string {
	digits := strings.TrimPrefix(f.hash.String(), "0x")
	return "/sha256/" + digits[:2] + "/" + digits
}

// shownSizes are those of the first copies' files, and how many there are of each: enough to be
// files and not one file, and few enough to stay in the memory of the operating system.
var shownSizes = []struct{ size, files int }{{megabyte, 32}, {20 * megabyte, 4}, {largeFile, 1}}

// writeFiles writes the files. Their content does not matter for serving them.
func writeFiles(ctx context.Context, directory string) (files []shownFile, err error) {
	objects, err := blob.OpenObjects(ctx, "file:"+directory)
	if err != nil {
		return nil, err
	}
	random := rand.NewChaCha8([32]byte{})
	name := filepath.Join(directory, "incoming", "bench")
	for _, kind := range shownSizes {
		content := make([]byte, kind.size)
		for range kind.files {
			_, _ = random.Read(content) // never fails
			file := shownFile{size: kind.size, hash: sha256.Sum256(content)}
			if err := os.WriteFile(name, content, 0o600); err != nil {
				return nil, err
			}
			if err := objects.Put(ctx, file.hash, name); err != nil {
				return nil, err
			}
			files = append(files, file)
		}
	}
	return files, errors.Join(os.Remove(name), objects.Close())
}

// samplePhoto is a JPEG of ordinary proportions.
func samplePhoto() ([]byte, error) {
	picture := image.NewRGBA(image.Rect(0, 0, 640, 480))
	random := rand.New(rand.NewPCG(1, 2))
	for y := range 480 {
		for x := range 640 {
			picture.Set(x, y, color.RGBA{uint8(x), uint8(y), uint8(random.IntN(64)), 255})
		}
	}
	var encoded bytes.Buffer
	err := jpeg.Encode(&encoded, picture, nil)
	return encoded.Bytes(), err
}

// distinctPhoto is a picture that looks like no other number's: large squares of random brightness.
func distinctPhoto(number int) ([]byte, error) {
	const squares, side = 8, 60
	picture := image.NewRGBA(image.Rect(0, 0, squares*side, squares*side))
	random := rand.New(rand.NewPCG(3, uint64(number)))
	var brightness [squares][squares]uint8
	for row := range brightness {
		for column := range brightness[row] {
			brightness[row][column] = uint8(random.IntN(256))
		}
	}
	for y := range squares * side {
		for x := range squares * side {
			light := brightness[y/side][x/side]
			picture.Set(x, y, color.RGBA{light, light, uint8(random.IntN(64)), 255})
		}
	}
	var encoded bytes.Buffer
	err := jpeg.Encode(&encoded, picture, nil)
	return encoded.Bytes(), err
}
