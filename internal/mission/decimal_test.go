package mission

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The decimal arithmetic must agree with exact fractions.
func TestDecimalAgreesWithFractions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,14})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		number, ok := parseDecimal(text)
		if !ok {
			t.Fatalf("parseDecimal(%s): got not ok, want ok", text)
		}
		exact, _ := new(big.Rat).SetString(text)
		places := rapid.IntRange(0, 6).Draw(t, "places")
		scaled := new(big.Rat).Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)))

		low, high := rapid.Int64Range(-1e12, 1e12).Draw(t, "low"), rapid.Int64Range(-1e12, 1e12).Draw(t, "high")
		want := scaled.Cmp(new(big.Rat).SetInt64(low)) >= 0 && scaled.Cmp(new(big.Rat).SetInt64(high)) <= 0
		if got := number.within(low, high, places); got != want {
			t.Fatalf("%s within %d and %d (%d places): got %v, want %v", text, low, high, places, got, want)
		}
		if new(big.Rat).Abs(scaled).Cmp(new(big.Rat).SetInt64(1e17)) >= 0 {
			return
		}
		if got, want := number.round(places), roundedHalfAway(scaled); got != want {
			t.Fatalf("%s rounded to %d places: got %d, want %d", text, places, got, want)
		}
		if _, cutOff := number.fixed(places); (cutOff == remainderNone) != scaled.IsInt() {
			t.Fatalf("%s at %d places: got remainder %d, want none: %v", text, places, cutOff, scaled.IsInt())
		}
	})
}

func roundedHalfAway(value *big.Rat) int64 {
	half := big.NewRat(1, 2)
	if value.Sign() < 0 {
		half.Neg(half)
	}
	sum := new(big.Rat).Add(value, half)
	return new(big.Int).Quo(sum.Num(), sum.Denom()).Int64() // towards zero
}

// A large exponent must cost nothing: otherwise this test would not end.
func TestDecimalOfAnyExponent(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 30_000)
	for _, c := range []struct {
		text   string
		inside bool // between -90 and 90
		round  int64
	}{
		{"1e999999999", false, math.MaxInt64}, {"-1e999999999", false, -math.MaxInt64}, {"1e" + strings.Repeat("9", 60_000), false, math.MaxInt64},
		{"1e-999999999", true, 0}, {"-1e-999999999", true, 0}, {"0e999999999", true, 0}, {"0." + zeros + "1", true, 0},
		{"1" + zeros, false, math.MaxInt64}, {"1" + zeros + "e-30000", true, 1}, {"0.0" + zeros + "1e30002", true, 1},
	} {
		number, ok := parseDecimal(c.text)
		if !ok || number.within(-90, 90, 0) != c.inside || number.round(0) != c.round {
			t.Errorf("%.40s: got ok %v, inside %v, rounded %d; want ok, inside %v, rounded %d", c.text, ok, number.within(-90, 90, 0), number.round(0), c.inside, c.round)
		}
	}
}

func TestParseDecimalRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "-", "+1", "01", "1.", ".1", "1e", "1e+", "1e1.5", "1x", " 1", "1 ", "--1", "0x1", "1,0", "٣", "1e1e1", "NaN", "-01"} {
		if number, ok := parseDecimal(text); ok {
			t.Errorf("parseDecimal(%q): got %v, want not ok", text, number)
		}
	}
}

func TestShortest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"2.50": "2.5", "-0.0000001": "0", "-0.0000005": "-0.000001", "1e2": "100", "0.1234565": "0.123457", "-12.5": "-12.5"} {
		number, _ := parseDecimal(text)
		if got := shortest(number.round(6), 6); got != want {
			t.Errorf("shortest form of %s: got %s, want %s", text, got, want)
		}
	}
}

func TestParseInstantAgreesWithTimePackage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "zone"))
		want := time.Unix(rapid.Int64Range(0, 1<<37).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(zone)
		got, ok := parseInstant(want.Format(time.RFC3339Nano))
		if want.Year() > 9999 { // has no RFC 3339 form
			return
		}
		if !ok || got.UnixMilli() != want.UnixMilli() {
			t.Fatalf("parseInstant: got %s, ok %v; want %s", got, ok, want.Format(time.RFC3339Nano))
		}
		if text := formatInstant(got); len(text) != len(instantLayout) || text != fmt.Sprint(got.Format("2006-01-02T15:04:05.000"), "Z") {
			t.Fatalf("formatInstant: got %s, want the layout %s", text, instantLayout)
		}
	})
}
