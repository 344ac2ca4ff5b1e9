package ingest

import (
	"image"
	"math"
	"slices"
)

const (
	perceptualSide = 32 // the picture is divided into 32 by 32 patches
	perceptualBits = 64
	// leastDetail is the minimum strength of the strongest low frequency. Below it a picture is a
	// wall or the sky, and its hash would be noise, close to that of other such pictures.
	leastDetail = 1_000
)

// perceptualHash returns 64 bits that hardly change when a picture is scaled, recompressed or
// brightened, and that differ in about half of the bits between different pictures. It reports
// false for a picture with too little detail.
//
// Each bit is whether one of the 64 lowest frequencies, without the average brightness, is above
// their median. All sums are integers, so every machine returns the same bits.
func perceptualHash(picture *image.RGBA) (hash uint64, ok bool) {
	var patches [perceptualSide][perceptualSide]int64
	bounds := picture.Bounds()
	for y := range perceptualSide {
		for x := range perceptualSide {
			patches[y][x] = patchGrey(picture, patchOf(bounds.Dx(), x), patchOf(bounds.Dy(), y))
		}
	}
	frequencies := lowFrequencies(&patches)
	sorted := slices.Sorted(slices.Values(frequencies[:]))
	median := (sorted[perceptualBits/2-1] + sorted[perceptualBits/2]) / 2
	for i, frequency := range frequencies {
		if frequency > median {
			hash |= 1 << i
		}
	}
	return hash, max(-sorted[0], sorted[perceptualBits-1]) >= leastDetail
}

// patchOf returns the range of pixels that a patch covers: at least one.
func patchOf(pixels, patch int) [2]int {
	from := pixels * patch / perceptualSide
	return [2]int{from, max(from+1, pixels*(patch+1)/perceptualSide)}
}

func patchGrey(picture *image.RGBA, x, y [2]int) int64 {
	var sum, count int64
	for row := y[0]; row < y[1]; row++ {
		for column := x[0]; column < x[1]; column++ {
			sum += grey(picture.RGBAAt(column, row))
			count++
		}
	}
	return sum / count
}

const maxFrequency = 11 // exclusive, in each direction

// cosines are the factors of the discrete cosine transform, times 2^12.
var cosines = func() (table [maxFrequency][perceptualSide]int64) {
	for u := range table {
		for x := range table[u] {
			table[u][x] = int64(math.Round(4096 * math.Cos(math.Pi*float64(u)*(2*float64(x)+1)/(2*perceptualSide))))
		}
	}
	return table
}()

// perceptualOrder lists pairs of frequencies from the lowest up, diagonal by diagonal, without the
// average brightness.
var perceptualOrder = func() (order [perceptualBits][2]int) {
	n := 0
	for diagonal := 1; n < len(order); diagonal++ {
		for u := 0; u <= diagonal && n < len(order); u++ {
			order[n] = [2]int{u, diagonal - u}
			n++
		}
	}
	return order
}()

// lowFrequencies returns the strengths of the lowest frequencies, in about thousandths of a grey
// level.
func lowFrequencies(patches *[perceptualSide][perceptualSide]int64) (strengths [perceptualBits]int64) {
	var rows [perceptualSide][maxFrequency]int64
	for y := range rows {
		for u := range maxFrequency {
			for x := range perceptualSide {
				rows[y][u] += patches[y][x] * cosines[u][x]
			}
		}
	}
	for i, pair := range perceptualOrder {
		var sum int64
		for y := range perceptualSide {
			sum += rows[y][pair[0]] >> 12 * cosines[pair[1]][y]
		}
		strengths[i] = sum >> 12 / (perceptualSide * perceptualSide)
	}
	return strengths
}
