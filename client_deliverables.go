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

// DeliverablesQuery selects a page of deliverables. Its zero value selects the first, with links of
// the service's usual life.
type DeliverablesQuery struct {
	Limit   int           // up to 100; 0: the service's default
	Cursor  string        // the NextCursor of the page before
	LinkTTL time.Duration // how long the media links live, up to 15 minutes, in whole seconds
}

// Deliverables gives one page of a mission's accepted submissions, in the order of acceptance, by
// its draft id or mission id. Its links are short-lived: see [Client.Download], and ask again for
// new ones.
//
// It fails with not_found for an id that is not of this wallet, with mission_not_published, and
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

// AllDeliverables walks through every page. What is accepted all the while is given, also while
// others are being accepted. A submission whose acceptance is taken back and made again during the
// walk moves to the end, and may be given twice: the later one counts. One that was given may have
// been taken back since; its link tells.
func (c *Client) AllDeliverables(ctx context.Context, id string, query DeliverablesQuery) iter.Seq2[Deliverable, error] {
	return walk(query.Cursor, func(cursor string) ([]Deliverable, *string, error) {
		query.Cursor = cursor
		page, err := c.Deliverables(ctx, id, query)
		return page.Submissions, page.Summary.NextCursor, err
	})
}

// SHA256 is the hash that the bytes behind the media link must have.
func (m Media) SHA256() (sum [32]byte, err error) {
	digits, found := strings.CutPrefix(m.Hash, "sha256:")
	decoded, err := hex.DecodeString(digits)
	if !found || err != nil || len(decoded) != len(sum) {
		return sum, fmt.Errorf("media hash %q: want sha256: and 64 hex digits", m.Hash)
	}
	return [32]byte(decoded), nil
}
