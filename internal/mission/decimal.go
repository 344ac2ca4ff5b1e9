package mission

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/sortie-labs/sortie"
)

// decimal is an exact number, digits x 10^exponent, read from text without arithmetic on its value.
// Digits has no zeros at either end; zero has no digits.
type decimal struct {
	digits    string
	exponent  int
	negative  bool
	saturated bool // the absolute value of the exponent is larger than stored
}

const maxExponent = 999_999 // outside of all bounds; added to the digits of a body it fits an int

// parseDecimal reads a JSON number.
func parseDecimal(text string) (number decimal, ok bool) {
	text, number.negative = strings.CutPrefix(text, "-")
	whole, rest := digitsOf(text)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return decimal{}, false
	}
	digits := whole
	if fraction, found := strings.CutPrefix(rest, "."); found {
		if fraction, rest = digitsOf(fraction); fraction == "" {
			return decimal{}, false
		}
		number.exponent = -len(fraction)
		digits += fraction
	}
	if rest != "" && !number.scale(rest) {
		return decimal{}, false
	}
	digits = strings.TrimLeft(digits, "0")
	number.digits = strings.TrimRight(digits, "0")
	number.exponent += len(digits) - len(number.digits)
	if number.digits == "" {
		return decimal{}, true
	}
	return number, true
}

// scale applies the text of an exponent, such as e+10.
func (d *decimal) scale(text string) bool {
	if text[0] != 'e' && text[0] != 'E' {
		return false
	}
	sign := 1
	unsigned := text[1:]
	if unsigned != "" && (unsigned[0] == '+' || unsigned[0] == '-') {
		if unsigned[0] == '-' {
			sign = -1
		}
		unsigned = unsigned[1:]
	}
	digits, rest := digitsOf(unsigned)
	if digits == "" || rest != "" {
		return false
	}
	exponent := 0
	for i := range len(digits) {
		if exponent = exponent*10 + int(digits[i]-'0'); exponent > maxExponent {
			exponent, d.saturated = maxExponent, true
			break
		}
	}
	d.exponent += sign * exponent
	return true
}

func digitsOf(text string) (digits, rest string) {
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

// remainder describes the decimals that were cut off.
type remainder byte

const (
	remainderNone remainder = iota
	remainderBelowHalf
	remainderHalfOrMore
)

// fixed returns the number in units of 10^-places, cut towards zero, and what was cut off. A number
// that is too large saturates.
func (d decimal) fixed(places int) (units int64, cutOff remainder) {
	kept := len(d.digits) + d.exponent + places // number of digits before the cut
	switch {
	case d.digits == "":
		return 0, remainderNone
	case kept > 18:
		units = math.MaxInt64
	case kept < 0:
		cutOff = remainderBelowHalf
	default:
		for i := range kept {
			units *= 10
			if i < len(d.digits) {
				units += int64(d.digits[i] - '0')
			}
		}
		if kept < len(d.digits) {
			cutOff = remainderBelowHalf
			if d.digits[kept] >= '5' {
				cutOff = remainderHalfOrMore
			}
		}
	}
	if d.negative {
		units = -units
	}
	return units, cutOff
}

// round returns the number in units of 10^-places, rounded half away from zero.
func (d decimal) round(places int) int64 {
	units, cutOff := d.fixed(places)
	switch {
	case cutOff != remainderHalfOrMore:
		return units
	case d.negative:
		return units - 1
	default:
		return units + 1
	}
}

// within reports whether the exact number is between low and high, which are in units of
// 10^-places.
func (d decimal) within(low, high int64, places int) bool {
	units, cutOff := d.fixed(places)
	if units < low || units > high {
		return false
	}
	if cutOff == remainderNone {
		return true
	}
	if d.negative {
		return units > low && units <= high
	}
	return units < high
}

// appendCanonical appends the same text for all spellings of a number that is not saturated. The
// text is for hashing, not for reading.
func (d decimal) appendCanonical(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	if d.digits == "" {
		return append(dst, '0')
	}
	dst = append(append(dst, d.digits...), 'e')
	return strconv.AppendInt(dst, int64(d.exponent), 10)
}

// shortest writes units of 10^-places in as few characters as possible.
func shortest(units int64, places int) string { return sortie.FormatUnits(big.NewInt(units), places) }
