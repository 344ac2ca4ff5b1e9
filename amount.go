package sortie

import (
	"errors"
	"math/big"
	"strings"
)

// The errors of [ParseUnits].
var (
	ErrInvalidAmount   = errors.New("not an amount: want digits with an optional fraction and exponent, such as 2.5")
	ErrTooManyDecimals = errors.New("more decimals than the token has: the amount cannot be paid exactly")
)

const (
	maxAmountText     = 64 // characters; the longest exact uint256 has 78 digits, far above any amount of money
	maxAmountExponent = 40 // either way; checked before any power of ten is built
)

// ParseUnits turns an amount in whole tokens, such as "2.5", into base units: exactly, never
// through a float. The text is a JSON number without a sign. Zeros at the end of a fraction are not
// decimals.
//
// It fails with [ErrInvalidAmount] or [ErrTooManyDecimals].
func ParseUnits(text string, decimals int) (*big.Int, error) {
	digits, scale, err := splitAmount(text)
	if err != nil {
		return nil, err
	}
	if digits == "" {
		return new(big.Int), nil
	}
	if scale > decimals {
		return nil, ErrTooManyDecimals
	}
	digits += strings.Repeat("0", decimals-scale)
	if len(digits) > 78 {
		return nil, ErrInvalidAmount
	}
	units, ok := new(big.Int).SetString(digits, 10)
	if !ok || units.BitLen() > 256 {
		return nil, ErrInvalidAmount
	}
	return units, nil
}

// FormatUnits is the shortest decimal form of an amount of base units: the inverse of [ParseUnits].
func FormatUnits(units *big.Int, decimals int) string {
	text := units.String()
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	if missing := decimals + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	whole, fraction := text[:len(text)-decimals], strings.TrimRight(text[len(text)-decimals:], "0")
	if fraction == "" {
		return sign + whole
	}
	return sign + whole + "." + fraction
}

// splitAmount reads a JSON number without a sign as digits x 10^-scale, with no zeros at either end
// of digits. Zero has no digits.
func splitAmount(text string) (digits string, scale int, err error) {
	if len(text) > maxAmountText {
		return "", 0, ErrInvalidAmount
	}
	whole, rest := leadingDigits(text)
	if whole == "" || (len(whole) > 1 && whole[0] == '0') {
		return "", 0, ErrInvalidAmount
	}
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		if fraction, rest = leadingDigits(rest[1:]); fraction == "" {
			return "", 0, ErrInvalidAmount
		}
	}
	exponent, err := parseExponent(rest)
	if err != nil {
		return "", 0, err
	}
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	return trimmed, len(fraction) - exponent - (len(digits) - len(trimmed)), nil
}

func parseExponent(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, ErrInvalidAmount
	}
	text = text[1:]
	sign := 1
	if text != "" && (text[0] == '+' || text[0] == '-') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	digits, rest := leadingDigits(text)
	if digits == "" || rest != "" {
		return 0, ErrInvalidAmount
	}
	exponent := 0
	for _, d := range []byte(digits) {
		if exponent = exponent*10 + int(d-'0'); exponent > maxAmountExponent {
			return 0, ErrInvalidAmount
		}
	}
	return sign * exponent, nil
}

func leadingDigits(text string) (digits, rest string) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}
