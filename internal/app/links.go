package app

import (
	"time"

	"github.com/sortie-labs/sortie/internal/links"
)

// LinkBuilder returns the URL of a link to a submission's media. The variant is what the link
// allows, one of those in package links; the token proves it. The API makes a builder for each
// request, because URLs begin with the base URL that the client uses.
type LinkBuilder func(submissionID, variant, token string) string

// LinkSigner signs links that expire at the same time.
type LinkSigner struct {
	keys *links.Keys
	exp  int64
}

func (c *core) linkSigner(ttl time.Duration) LinkSigner {
	return LinkSigner{c.links.keys.Load(), c.now().Add(ttl).Unix()}
}

// ExpiresAt is when the links expire.
func (s LinkSigner) ExpiresAt() time.Time { return time.Unix(s.exp, 0) }

// AppendToken appends the token of a link to dst.
func (s LinkSigner) AppendToken(dst []byte, submissionID, variant string) []byte {
	return s.keys.AppendQuery(dst, submissionID, variant, s.exp)
}
