package mission

import "math"

// EarthRadius is the mean radius of the earth in meters.
const EarthRadius = 6_371_008.8

// Distance returns the great-circle distance in meters between two points in degrees. The error is
// at most half a percent, because the earth is not a perfect sphere.
func Distance(lat1, lng1, lat2, lng2 float64) float64 {
	const degree = math.Pi / 180
	half := func(angle float64) float64 { s := math.Sin(angle * degree / 2); return s * s }
	h := half(lat2-lat1) + math.Cos(lat1*degree)*math.Cos(lat2*degree)*half(lng2-lng1)
	return 2 * EarthRadius * math.Asin(math.Sqrt(min(1, h))) // rounding may make h larger than 1 for antipodal points
}
