package funding

import (
	"sync"

	"github.com/sortie-labs/sortie"
)

// signaturesPerGeneration bounds the cache: two generations of this many signatures take 13
// megabytes.
const signaturesPerGeneration = 1 << 15

type signature [sortie.SignatureLength]byte

// signatureCache remembers checked signatures by the digest they sign, because a draft is read far
// more often than its deadline advances, and signing and recovering cost as much as the rest of the
// read together. A digest stands for all that was signed, so an entry can never be wrong, only
// unused.
//
// It has two generations. New and used entries go to the young one; when that is full, the old one
// is dropped and the young one becomes the old. What was not used for a whole generation is gone,
// signatures of past deadlines among it.
type signatureCache struct {
	mu         sync.Mutex
	limit      int // entries of one generation
	young, old map[sortie.Hash]signature
}

func newSignatureCache(limit int) *signatureCache {
	return &signatureCache{limit: limit, young: make(map[sortie.Hash]signature), old: make(map[sortie.Hash]signature)}
}

func (c *signatureCache) get(digest sortie.Hash) (signature, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(digest)
}

// keep stores a signature and gives back the one to use: the first, if two goroutines signed the
// same digest at once with a signer that does not repeat itself.
func (c *signatureCache) keep(digest sortie.Hash, made signature) signature {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.find(digest); ok {
		return known
	}
	c.insert(digest, made)
	return made
}

func (c *signatureCache) find(digest sortie.Hash) (signature, bool) {
	if known, ok := c.young[digest]; ok {
		return known, true
	}
	known, ok := c.old[digest]
	if ok {
		c.insert(digest, known)
	}
	return known, ok
}

func (c *signatureCache) insert(digest sortie.Hash, made signature) {
	if len(c.young) >= c.limit {
		c.young, c.old = c.old, c.young
		clear(c.young)
	}
	c.young[digest] = made
}
