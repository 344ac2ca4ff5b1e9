package verify

import (
	"encoding/json"
	"math"
	"strconv"
)

const earthRadius = 6_371_008.8 // m, the mean

// distance is the great-circle distance in meters. The earth is not quite a sphere: it may be off by half a percent.
func distance(a, b Place) float64 {
	const degree = math.Pi / 180
	half := func(angle float64) float64 { s := math.Sin(angle / 2); return s * s }
	h := half((b.Lat-a.Lat)*degree) + math.Cos(a.Lat*degree)*math.Cos(b.Lat*degree)*half((b.Lng-a.Lng)*degree)
	return 2 * earthRadius * math.Asin(math.Sqrt(min(1, h))) // rounding may lift h above 1 for points opposite of each other
}

func placeOf(lat, lng json.Number) Place { return Place{Lat: number(lat), Lng: number(lng)} }

// number is NaN for what is no finite number: no comparison holds for it, so that no check passes on it.
func number(text json.Number) float64 {
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(value, 0) {
		return math.NaN()
	}
	return value
}
