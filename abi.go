package sortie

import (
	"encoding/binary"
	"math/big"
)

// The Ethereum ABI and EIP-712 both encode values as words of 32 bytes. This package encodes few
// structs of fixed shape, so it appends the words by hand, which is several times cheaper than
// reflection.

const wordSize = 32

func appendUint64(dst []byte, value uint64) []byte {
	var word [wordSize]byte
	binary.BigEndian.PutUint64(word[wordSize-8:], value)
	return append(dst, word[:]...)
}

// appendUint appends an unsigned number. Callers refuse numbers that are negative or do not fit.
func appendUint(dst []byte, value *big.Int) []byte {
	var word [wordSize]byte
	if value != nil {
		value.FillBytes(word[:])
	}
	return append(dst, word[:]...)
}

func appendAddress(dst []byte, address Address) []byte {
	var padding [wordSize - len(address)]byte
	return append(append(dst, padding[:]...), address[:]...)
}

// appendBytes appends a dynamic value: its length, then its bytes padded to a whole word.
func appendBytes[T string | []byte](dst []byte, value T) []byte {
	dst = append(appendUint64(dst, uint64(len(value))), value...)
	var padding [wordSize]byte
	return append(dst, padding[:padded(len(value))-len(value)]...)
}

func padded(length int) int { return (length + wordSize - 1) / wordSize * wordSize }

// words reads consecutive words. The first failure sets bad, so a decoder reads all fields and
// checks once.
type words struct {
	data []byte
	at   int
	bad  bool
}

func (w *words) next() (word [wordSize]byte) {
	if w.bad || len(w.data)-w.at < wordSize {
		w.bad = true
		return word
	}
	copy(word[:], w.data[w.at:])
	w.at += wordSize
	return word
}

func (w *words) uint64() uint64 {
	word := w.next()
	if [wordSize - 8]byte(word[:]) != [wordSize - 8]byte{} {
		w.bad = true
	}
	return binary.BigEndian.Uint64(word[wordSize-8:])
}

func (w *words) uint() *big.Int {
	word := w.next()
	return new(big.Int).SetBytes(word[:])
}

func (w *words) address() Address {
	word := w.next()
	if [12]byte(word[:]) != [12]byte{} {
		w.bad = true
	}
	return Address(word[12:])
}

// bytes reads a dynamic value of at most limit bytes.
func (w *words) bytes(limit uint64) []byte {
	length := w.uint64()
	if w.bad || length > limit || len(w.data)-w.at < padded(int(length)) {
		w.bad = true
		return nil
	}
	value := w.data[w.at : w.at+int(length)]
	w.at += padded(int(length))
	return value
}
