package chain

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"
)

// Answers are walked by hand. parseReplies has checked their syntax, so that only the ends of
// values must be found. All returned slices are parts of the answer.

// eachMember walks an object. It visits a name that appears twice twice: the visitor decides.
func eachMember(object []byte, visit func(name, value []byte) error) error {
	_, err := walkObject(object, visit)
	return err
}

// walkObject walks the object at the start of a text, and returns its length.
func walkObject(text []byte, visit func(name, value []byte) error) (length int, err error) {
	if len(text) == 0 || text[0] != '{' {
		return 0, BadAnswer("%.40q where an object should be", text)
	}
	at := skipSpace(text, 1)
	for text[at] != '}' {
		end := valueEnd(text, at)
		name := text[at+1 : end-1] // with escapes: no name that is read has any
		at = skipSpace(text, skipSpace(text, end)+1)
		end = valueEnd(text, at)
		if err := visit(name, text[at:end]); err != nil {
			return 0, err
		}
		if at = skipSpace(text, end); text[at] == ',' {
			at = skipSpace(text, at+1)
		}
	}
	return at + 1, nil
}

// eachElement walks an array. visit receives the text from an element on, and returns the length of
// the element.
func eachElement(array []byte, visit func(text []byte) (length int, err error)) error {
	if len(array) == 0 || array[0] != '[' {
		return BadAnswer("%.40q where a list should be", array)
	}
	for at := skipSpace(array, 1); array[at] != ']'; {
		length, err := visit(array[at:])
		if err != nil {
			return err
		}
		if at = skipSpace(array, at+length); array[at] == ',' {
			at = skipSpace(array, at+1)
		}
	}
	return nil
}

func skipSpace(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r' {
		at++
	}
	return at
}

// valueEnd returns the end of the value at an index.
func valueEnd(text []byte, at int) int {
	switch text[at] {
	case '"':
		return stringEnd(text, at)
	case '{', '[':
		depth := 0
		for {
			switch text[at] {
			case '"':
				at = stringEnd(text, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
			at++
		}
	default: // a number, true, false or null
		for at < len(text) && text[at] != ',' && text[at] != '}' && text[at] != ']' && text[at] > ' ' {
			at++
		}
		return at
	}
}

// stringEnd returns the end of the string at an index. A quotation mark without a backslash before
// it ends the string; otherwise backslashes are counted.
func stringEnd(text []byte, at int) int {
	begin := at + 1
	at = begin + bytes.IndexByte(text[begin:], '"')
	if text[at-1] != '\\' {
		return at + 1
	}
	for at = begin; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// quantity decodes a JSON-RPC number: "0x" and hex digits without leading zeros. Numbers above 63
// bits are refused, because no database column holds them.
func quantity(value []byte) (uint64, error) {
	digits, found := bytes.CutPrefix(unquote(value), []byte("0x"))
	if !found || len(digits) == 0 || len(digits) > 16 || (digits[0] == '0' && len(digits) > 1) {
		return 0, BadAnswer("%.40q where a number should be", value)
	}
	var number uint64
	for _, digit := range digits {
		nibble, ok := fromHex(digit)
		if !ok {
			return 0, BadAnswer("%.40q where a number should be", value)
		}
		number = number<<4 | uint64(nibble)
	}
	if number > math.MaxInt64 {
		return 0, BadAnswer("the number %s is too large", value)
	}
	return number, nil
}

func fromHex(digit byte) (byte, bool) {
	switch {
	case '0' <= digit && digit <= '9':
		return digit - '0', true
	case 'a' <= digit && digit <= 'f':
		return digit - 'a' + 10, true
	case 'A' <= digit && digit <= 'F':
		return digit - 'A' + 10, true
	}
	return 0, false
}

// fixedBytes decodes exactly len(dst) bytes: a hash, an address, a bloom filter.
func fixedBytes(dst, value []byte) error {
	digits, found := bytes.CutPrefix(unquote(value), []byte("0x"))
	if !found || len(digits) != 2*len(dst) {
		return BadAnswer("%.40q where %d bytes should be", value, len(dst))
	}
	if _, err := hex.Decode(dst, digits); err != nil {
		return BadAnswer("%.40q where %d bytes should be", value, len(dst))
	}
	return nil
}

// anyBytes appends a value of any length.
func anyBytes(dst, value []byte) ([]byte, error) {
	digits, found := bytes.CutPrefix(unquote(value), []byte("0x"))
	if !found {
		return dst, BadAnswer("%.40q where bytes should be", value)
	}
	dst, err := hex.AppendDecode(dst, digits)
	if err != nil {
		return dst, BadAnswer("%.40q where bytes should be", value)
	}
	return dst, nil
}

// unquote returns the inside of a string, and nil for any other value.
func unquote(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	return value[1 : len(value)-1]
}

// wei decodes an amount of up to 256 bits.
func wei(value []byte) (*big.Int, error) {
	amount, valid := new(big.Int).SetString(string(unquote(value)), 0)
	if !valid || amount.Sign() < 0 || amount.BitLen() > 256 {
		return nil, BadAnswer("%.40q where an amount should be", value)
	}
	return amount, nil
}
