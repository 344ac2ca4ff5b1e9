package mission_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie/internal/mission"
)

func TestParseMicroDegrees(t *testing.T) {
	t.Parallel()
	for text, want := range map[[2]json.Number]mission.MicroDegrees{
		{"52.516275", "13.377704"}:    {Lat: 52_516_275, Lng: 13_377_704},
		{"-90", "180"}:                {Lat: -90_000_000, Lng: 180_000_000},
		{"0.0000005", "-0.000000499"}: {Lat: 1},
		{"1e1", "-1.5e-5"}:            {Lat: 10_000_000, Lng: -15},
	} {
		if got, err := mission.ParseMicroDegrees(text[0], text[1]); err != nil || got != want {
			t.Errorf("ParseMicroDegrees%q: got %+v, error %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range [][2]json.Number{{"90.0000001", "0"}, {"0", "-180.0000001"}, {"", "0"}, {"0", "east"}, {"NaN", "0"}, {"1e400", "0"}} {
		if got, err := mission.ParseMicroDegrees(text[0], text[1]); err == nil {
			t.Errorf("ParseMicroDegrees%q: got %+v, want an error", text, got)
		}
	}
}

func TestMicroDegreesOf(t *testing.T) {
	t.Parallel()
	got, ok := mission.MicroDegreesOf(52.51627549, -13.3777045)
	if want := (mission.MicroDegrees{Lat: 52_516_275, Lng: -13_377_705}); !ok || got != want {
		t.Errorf("MicroDegreesOf: got %+v, ok %t; want %+v", got, ok, want)
	}
	if lat, lng := got.Degrees(); lat != 52.516275 || lng != -13.377705 {
		t.Errorf("Degrees: got %v, %v; want 52.516275, -13.377705", lat, lng)
	}
	for name, point := range map[string][2]float64{
		"no numbers": {math.NaN(), math.NaN()}, "infinite": {math.Inf(1), 0}, "too large": {1e300, 1e300}, "beyond a pole": {90.1, 0}, "beyond the meridian": {0, -180.1},
	} {
		if got, ok := mission.MicroDegreesOf(point[0], point[1]); ok {
			t.Errorf("MicroDegreesOf, %s: got %+v, want not ok", name, got)
		}
	}
}

// Distance must agree with another formula, be symmetric and satisfy the triangle inequality.
func TestDistance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		point := rapid.Custom(func(t *rapid.T) mission.MicroDegrees {
			return mission.MicroDegrees{Lat: rapid.Int64Range(-90_000_000, 90_000_000).Draw(t, "lat"), Lng: rapid.Int64Range(-180_000_000, 180_000_000).Draw(t, "lng")}
		})
		a, b, c := point.Draw(t, "a"), point.Draw(t, "b"), point.Draw(t, "c")
		got := mission.Distance(a, b)
		if want := chordDistance(a, b); math.Abs(got-want) > 0.5 {
			t.Fatalf("distance: got %v m, want %v m as by the chord", got, want)
		}
		switch {
		case mission.Distance(a, a) != 0, math.Abs(mission.Distance(b, a)-got) > 1e-6:
			t.Fatalf("distance to itself: got %v m, want 0; distance back: got %v m, want %v m", mission.Distance(a, a), mission.Distance(b, a), got)
		case got > mission.Distance(a, c)+mission.Distance(c, b)+0.5:
			t.Fatalf("distance: got %v m, want at most that by way of a third point", got)
		}
	})
}

// chordDistance computes the distance from the angle of the two points at the center of the earth.
func chordDistance(a, b mission.MicroDegrees) float64 {
	x, y := onSphere(a), onSphere(b)
	var chord, sum float64
	for i := range x {
		chord += (x[i] - y[i]) * (x[i] - y[i])
		sum += (x[i] + y[i]) * (x[i] + y[i])
	}
	return mission.EarthRadius * 2 * math.Atan2(math.Sqrt(chord), math.Sqrt(sum))
}

func onSphere(p mission.MicroDegrees) [3]float64 {
	lat, lng := p.Degrees()
	lat, lng = lat*math.Pi/180, lng*math.Pi/180
	return [3]float64{math.Cos(lat) * math.Cos(lng), math.Cos(lat) * math.Sin(lng), math.Sin(lat)}
}
