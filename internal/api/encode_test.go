package api

import (
	"testing"

	"github.com/sortie-labs/sortie"
)

// Addresses that share a cache entry are still encoded correctly.
func TestAddressesAreRememberedRight(t *testing.T) {
	t.Parallel()
	var first, second sortie.Address
	first[0], second[0] = 0xab, 0xcd // the rest, and so the place, is the same
	for _, address := range []sortie.Address{first, first, second, second, first} {
		if got := string(appendAddress([]byte("x"), address)); got != "x"+address.String() {
			t.Errorf("text of an address: got %s, want %s", got, address)
		}
	}
}
