package sortie_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"pgregory.net/rapid"
)

func TestParseUnitsReadsNumbersAsJSONDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "0.0": "0", "0e9": "0", "1": "1000000", "1.0000000000": "1000000", "2.5e0": "2500000", "25E-1": "2500000",
		"0.000001": "1", "1e-6": "1", "123456789.123456": "123456789123456", "1e+2": "100000000", "100e-2": "1000000",
	} {
		units, err := sortie.ParseUnits(text, 6)
		if err != nil || units.String() != want {
			t.Errorf("%q: got %v, %v; want %s", text, units, err, want)
		}
	}
	for text, want := range map[string]error{
		"": sortie.ErrInvalidAmount, " 1": sortie.ErrInvalidAmount, "1 ": sortie.ErrInvalidAmount, "-1": sortie.ErrInvalidAmount,
		"-0": sortie.ErrInvalidAmount, "+1": sortie.ErrInvalidAmount, "01": sortie.ErrInvalidAmount, "1.": sortie.ErrInvalidAmount,
		".5": sortie.ErrInvalidAmount, "1,5": sortie.ErrInvalidAmount, "1_000": sortie.ErrInvalidAmount, "0x10": sortie.ErrInvalidAmount,
		"1e": sortie.ErrInvalidAmount, "1e+": sortie.ErrInvalidAmount, "1e1.5": sortie.ErrInvalidAmount, "NaN": sortie.ErrInvalidAmount,
		"Infinity": sortie.ErrInvalidAmount, "1e400": sortie.ErrInvalidAmount, "1e-400": sortie.ErrInvalidAmount, "１": sortie.ErrInvalidAmount,
		"1e-7": sortie.ErrTooManyDecimals, "1.0000001": sortie.ErrTooManyDecimals, strings.Repeat("9", 65): sortie.ErrInvalidAmount,
		"1e99999999999999999999": sortie.ErrInvalidAmount,
	} {
		if units, err := sortie.ParseUnits(text, 6); !errors.Is(err, want) {
			t.Errorf("%q: got %v, %v; want %v", text, units, err, want)
		}
	}
}

func TestUnitsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		decimals := rapid.IntRange(0, 18).Draw(t, "decimals")
		units := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "units"))
		text := sortie.FormatUnits(units, decimals)
		parsed, err := sortie.ParseUnits(text, decimals)
		if err != nil || parsed.Cmp(units) != 0 {
			t.Fatalf("%v with %d decimals prints as %s, which reads as %v, %v", units, decimals, text, parsed, err)
		}
		if strings.Contains(text, ".") && strings.HasSuffix(text, "0") {
			t.Fatalf("%s is not the shortest form", text)
		}
	})
}

func FuzzParseUnits(f *testing.F) {
	for _, seed := range []string{"2.5", "1e1", "0.30000000000000004", "1e999999999", "-0", "00"} {
		f.Add(seed, 6)
	}
	f.Fuzz(func(t *testing.T, text string, decimals int) {
		if decimals < 0 || decimals > 36 {
			return
		}
		units, err := sortie.ParseUnits(text, decimals)
		if err != nil {
			return
		}
		again, err := sortie.ParseUnits(sortie.FormatUnits(units, decimals), decimals)
		if err != nil || again.Cmp(units) != 0 {
			t.Fatalf("%q is %v, which does not survive formatting: %v, %v", text, units, again, err)
		}
	})
}
