package mission

import "math"

// EarthRadius is the mean one, in meters.
const EarthRadius = 6_371_008.8

// Distance is the great-circle distance in meters of two points in degrees. The earth is not quite
// a sphere: it may be off by half a percent.
func Distance(lat1, lng1, lat2, lng2 float64) float64 {
	const degree = math.Pi / 180
	half := func(angle float64) float64 { s := math.Sin(angle * degree / 2); return s * s }
	h := half(lat2-lat1) + math.Cos(lat1*degree)*math.Cos(lat2*degree)*half(lng2-lng1)
	return 2 * EarthRadius * math.Asin(math.Sqrt(min(1, h))) // rounding may lift h above 1 for points opposite of each other
}
