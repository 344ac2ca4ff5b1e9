package sortie

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// DeliverablesQuery selects a page of deliverables. Its zero value selects the first page, with
// links of the default lifetime.
type DeliverablesQuery struct {
	Limit   int           // up to 100; 0: the service's default
	Cursor  string        // the NextCursor of the page before
	LinkTTL time.Duration // lifetime of the media links, up to 15 minutes, in whole seconds
}

// Deliverables returns one page of a mission's accepted submissions, in the order of acceptance, by
// its draft id or mission id. Its links expire: see [Client.Download], and call it again for new
// ones.
//
// It fails with not_found for an id of another wallet, with mission_not_published, and
// with invalid_cursor.
func (c *Client) Deliverables(ctx context.Context, id string, query DeliverablesQuery) (Deliverables, error) {
	ttl := ""
	if query.LinkTTL != 0 {
		ttl = strconv.FormatInt(int64(query.LinkTTL/time.Second), 10)
	}
	page := PageQuery{Limit: query.Limit, Cursor: query.Cursor}
	var deliverables Deliverables
	err := c.send(ctx, call{method: http.MethodGet, path: page.apply(missionPath(id)+"/deliverables", "mediaUrlTtlSeconds", ttl)}, &deliverables)
	return deliverables, err
}

// AllDeliverables yields the deliverables of every page. A submission that is accepted again during
// the walk moves to the end and may be yielded twice: the later one counts. A submission whose
// acceptance was taken back since has a link that fails with not_found.
func (c *Client) AllDeliverables(ctx context.Context, id string, query DeliverablesQuery) iter.Seq2[Deliverable, error] {
	return walk(query.Cursor, func(cursor string) ([]Deliverable, *string, error) {
		query.Cursor = cursor
		page, err := c.Deliverables(ctx, id, query)
		return page.Submissions, page.Summary.NextCursor, err
	})
}

// SHA256 is the hash of the bytes that the media link serves.
func (m Media) SHA256() (sum [32]byte, err error) {
	digits, found := strings.CutPrefix(m.Hash, "sha256:")
	decoded, err := hex.DecodeString(digits)
	if !found || err != nil || len(decoded) != len(sum) {
		return sum, fmt.Errorf("media hash %q: want sha256: and 64 hex digits", m.Hash)
	}
	return [32]byte(decoded), nil
}
