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

// Whatever is asked in whatever order: an answer is the right one, and memory stays bounded.
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
				rt.Fatalf("%d: another's signature", n)
			}
			if again, known := cache.get(digest); !known || again != want {
				rt.Fatalf("%d: forgotten at once", n)
			}
			if len(cache.young) > limit || len(cache.old) > limit {
				rt.Fatalf("%d and %d entries with a limit of %d", len(cache.young), len(cache.old), limit)
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
			t.Fatalf("the entry in use was dropped after %d others", n)
		}
	}
	if _, known := cache.get(unused); known {
		t.Error("an entry nobody used is still there")
	}
}

func TestSignatureCacheKeepsTheFirst(t *testing.T) {
	t.Parallel()
	cache := newSignatureCache(4)
	digest, first := numbered(1)
	_, second := numbered(2)
	cache.keep(digest, first)
	if got := cache.keep(digest, second); got != first {
		t.Error("a second signature of the same digest replaced the first")
	}
}
