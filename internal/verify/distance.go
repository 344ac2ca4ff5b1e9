package verify

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/sortie-labs/sortie/internal/mission"
)

// distance returns the meters between two places. It is NaN if one of them is nil, so that every
// comparison and thus every check fails.
func distance(a, b *mission.MicroDegrees) float64 {
	if a == nil || b == nil {
		return math.NaN()
	}
	return mission.Distance(*a, *b)
}

// placeOf returns nil for text that is not a place.
func placeOf(lat, lng json.Number) *mission.MicroDegrees {
	place, err := mission.ParseMicroDegrees(lat, lng)
	if err != nil {
		return nil
	}
	return &place
}

// number is NaN for text that is not a finite number: every comparison with it is false, so no
// check passes.
func number(text json.Number) float64 {
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(value, 0) {
		return math.NaN()
	}
	return value
}
