package verify

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/sortie-labs/sortie/internal/mission"
)

// distance is the distance of two places in meters.
func distance(a, b Place) float64 { return mission.Distance(a.Lat, a.Lng, b.Lat, b.Lng) }

func placeOf(lat, lng json.Number) Place { return Place{Lat: number(lat), Lng: number(lng)} }

// number is NaN for text that is not a finite number: every comparison with it is false, so no
// check passes.
func number(text json.Number) float64 {
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(value, 0) {
		return math.NaN()
	}
	return value
}
