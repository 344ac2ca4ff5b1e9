package funding

import (
	"sync"

	"github.com/ethereum/go-ethereum/common/lru"

	"github.com/sortie-labs/sortie"
)

// maxSignatures bounds the cache to about 13 megabytes.
const maxSignatures = 1 << 16

type signature [sortie.SignatureLength]byte

// signatureCache holds checked signatures by the digest they sign: a draft is read far more often
// than its deadline advances, and signing and recovering cost as much as the rest of the read. An
// entry cannot become wrong, because the digest covers everything that was signed. The least
// recently used entries, such as signatures of past deadlines, are dropped first.
type signatureCache struct {
	mutex      sync.Mutex
	signatures lru.BasicLRU[sortie.Hash, signature]
}

func newSignatureCache(limit int) *signatureCache {
	return &signatureCache{signatures: lru.NewBasicLRU[sortie.Hash, signature](limit)}
}

func (c *signatureCache) get(digest sortie.Hash) (signature, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.signatures.Get(digest)
}

// keep stores a signature and returns the one to use: the first, if two goroutines signed the same
// digest at once with a signer that is not deterministic.
func (c *signatureCache) keep(digest sortie.Hash, made signature) signature {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if known, ok := c.signatures.Get(digest); ok {
		return known
	}
	c.signatures.Add(digest, made)
	return made
}
