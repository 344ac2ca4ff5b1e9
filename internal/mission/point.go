package mission

import (
	"encoding/json"
	"fmt"
	"math"
)

// MicroDegrees is a point on the earth in millionths of a degree, about 0.1 m. Decimal text on the
// wire and floats in files are converted to it here.
type MicroDegrees struct{ Lat, Lng int64 }

// ParseMicroDegrees reads a point from decimal text in degrees and rounds it to six decimals.
func ParseMicroDegrees(lat, lng json.Number) (MicroDegrees, error) {
	north, okLat := parseDecimal(string(lat))
	east, okLng := parseDecimal(string(lng))
	if !okLat || !okLng || !north.within(-90*degree, 90*degree, coordinatePlaces) || !east.within(-180*degree, 180*degree, coordinatePlaces) {
		return MicroDegrees{}, fmt.Errorf("%.30q, %.30q is not a latitude and a longitude in degrees", lat, lng)
	}
	return MicroDegrees{Lat: north.round(coordinatePlaces), Lng: east.round(coordinatePlaces)}, nil
}

// MicroDegreesOf converts degrees. It reports false for numbers that are not on the earth.
func MicroDegreesOf(lat, lng float64) (point MicroDegrees, ok bool) {
	if !(math.Abs(lat) <= 90 && math.Abs(lng) <= 180) { // also false for NaN
		return MicroDegrees{}, false
	}
	return MicroDegrees{Lat: int64(math.Round(lat * degree)), Lng: int64(math.Round(lng * degree))}, true
}

// Degrees returns the point in degrees.
func (p MicroDegrees) Degrees() (lat, lng float64) {
	return float64(p.Lat) / degree, float64(p.Lng) / degree
}

// EarthRadius is the mean radius of the earth in meters.
const EarthRadius = 6_371_008.8

// Distance returns the great-circle distance of two points in meters. The error is at most half a
// percent, because the earth is not a perfect sphere.
func Distance(a, b MicroDegrees) float64 {
	const radians = math.Pi / 180
	lat1, lng1 := a.Degrees()
	lat2, lng2 := b.Degrees()
	half := func(angle float64) float64 { s := math.Sin(angle * radians / 2); return s * s }
	h := half(lat2-lat1) + math.Cos(lat1*radians)*math.Cos(lat2*radians)*half(lng2-lng1)
	return 2 * EarthRadius * math.Asin(math.Sqrt(min(1, h))) // rounding may make h larger than 1 for antipodal points
}
