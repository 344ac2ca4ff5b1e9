package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/sortie-labs/sortie"
)

// cursorKey signs cursors, so that a cursor is valid only for the list that it came from.
type cursorKey []byte

const (
	cursorVersion  = 1
	cursorMACBytes = 16
	cursorBytes    = 1 + 8 + cursorMACBytes
)

// seal returns the cursor of a position in a list. The list's name must hold everything that
// distinguishes the list.
func (k cursorKey) seal(list string, position int64) string {
	cursor := make([]byte, 9, cursorBytes)
	cursor[0] = cursorVersion
	binary.BigEndian.PutUint64(cursor[1:], uint64(position))
	return base64.RawURLEncoding.EncodeToString(append(cursor, k.mac(list, cursor)...))
}

// open returns the position of a cursor; 0 for an empty one. It fails with invalid_cursor.
func (k cursorKey) open(list, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	cursor, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(cursor) != cursorBytes || cursor[0] != cursorVersion || !hmac.Equal(cursor[9:], k.mac(list, cursor[:9])) {
		return 0, sortie.NewError(sortie.CodeInvalidCursor, "this cursor is not one that the same list gave out; begin without a cursor")
	}
	return int64(binary.BigEndian.Uint64(cursor[1:9])), nil
}

func (k cursorKey) mac(list string, position []byte) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write(position)
	mac.Write([]byte(list)) // last, because its length varies
	return mac.Sum(nil)[:cursorMACBytes]
}

// Page selects a page of a list.
type Page struct {
	Limit  int    // 1 to MaxPage; 0: DefaultPage; more: MaxPage
	Cursor string // empty: from the beginning
}

// The sizes of a page of every list but that of drafts.
const (
	DefaultPage = 50
	MaxPage     = 100
)

// maxPageBytes bounds the missions on a page of the feed and of the reviews: a page ends before the
// mission that reaches it, because creators choose how large a mission is. Elements of other lists
// have a few kilobytes at most.
const maxPageBytes = 1 << 20

// pageBytes counts the bytes of the missions on a page.
type pageBytes int

// add reports whether the page has room for a mission of this size, and counts it. There is always
// room for the first one.
func (p *pageBytes) add(bytes int) bool {
	if *p > 0 && int(*p)+bytes >= maxPageBytes {
		return false
	}
	*p += pageBytes(bytes)
	return true
}

func (p Page) limit() int {
	if p.Limit <= 0 {
		return DefaultPage
	}
	return min(p.Limit, MaxPage)
}
