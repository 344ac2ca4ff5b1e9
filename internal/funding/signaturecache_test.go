package funding

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
)

func numbered(n int) (digest sortie.Hash, made signature) {
	binary.BigEndian.PutUint64(digest[:], uint64(n))
	binary.BigEndian.PutUint64(made[:], uint64(n))
	return digest, made
}

// In any order of calls the cache returns the right signature and stays within its limit.
func TestSignatureCacheIsRightAndBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 8).Draw(rt, "limit")
		cache := newSignatureCache(limit)
		for _, n := range rapid.SliceOf(rapid.IntRange(0, 30)).Draw(rt, "uses") {
			digest, want := numbered(n)
			got, known := cache.get(digest)
			if !known {
				got = cache.keep(digest, want)
			}
			if got != want {
				rt.Fatalf("signature %d: got %x, want %x", n, got, want)
			}
			if again, known := cache.get(digest); !known || again != want {
				rt.Fatalf("signature %d just after it was used: got %x, known %t; want %x", n, again, known, want)
			}
			if entries := cache.signatures.Len(); entries > limit {
				rt.Fatalf("cache size: got %d, want at most %d", entries, limit)
			}
		}
	})
}

func TestSignatureCacheKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	cache := newSignatureCache(4)
	used, made := numbered(0)
	cache.keep(used, made)
	unused, made := numbered(1)
	cache.keep(unused, made)
	for n := 2; n < 100; n++ {
		digest, made := numbered(n)
		cache.keep(digest, made)
		if _, known := cache.get(used); !known {
			t.Fatalf("entry in use: got it dropped after %d others, want it kept", n)
		}
	}
	if _, known := cache.get(unused); known {
		t.Error("unused entry: got it after 98 others, want it dropped")
	}
}

func TestSignatureCacheKeepsTheFirst(t *testing.T) {
	t.Parallel()
	cache := newSignatureCache(4)
	digest, first := numbered(1)
	_, second := numbered(2)
	cache.keep(digest, first)
	if got := cache.keep(digest, second); got != first {
		t.Errorf("keep a second signature of the same digest: got %x, want the first, %x", got, first)
	}
}
