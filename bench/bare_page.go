package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"hash"
	"strconv"
	"sync"
	"time"
)

// barePage selects a page of deliverables in the order of acceptance.
const barePage = `SELECT submission_id, fragment FROM deliverables WHERE draft_id = $1 AND accept_seq > 0 ORDER BY accept_seq LIMIT 100`

// bareLinks signs links. It reuses the keyed hash states.
type bareLinks struct{ states sync.Pool }

type bareLinkState struct {
	mac     hash.Hash
	message []byte
	sum     [sha256.Size]byte
}

func newBareLinks() *bareLinks {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return &bareLinks{sync.Pool{New: func() any { return &bareLinkState{mac: hmac.New(sha256.New, secret)} }}}
}

// appendPage appends a page. The rows are stored JSON fragments that lack only their links.
func (s *bareServer) appendPage(dst []byte, draftID string) ([]byte, error) {
	state := s.links.states.Get().(*bareLinkState)
	defer s.links.states.Put(state)
	expires := time.Now().Add(15 * time.Minute)
	seconds, shown := strconv.FormatInt(expires.Unix(), 10), expires.UTC().Format("2006-01-02T15:04:05.000Z")
	dst = append(dst, `{"ok":true,"submissions":[`...)
	err := s.rows.each(s.rows.selectDeliverables, func(row []sql.RawBytes) {
		dst = state.appendLink(append(dst, `{"mediaUrl":"`...), row[0], "original", seconds)
		dst = append(append(append(dst, `","mediaUrlExpiresAt":"`...), shown...), `","thumbnailUrl":"`...)
		dst = state.appendLink(dst, row[0], "thumbnail", seconds)
		dst = append(append(dst, `",`...), row[1]...)
		dst = append(dst, '}', ',')
	}, draftID)
	return append(dst, `{}]}`...), err
}

func (s *bareLinkState) appendLink(dst, submissionID []byte, variant, expires string) []byte {
	s.message = append(append(s.message[:0], "v1\n"...), submissionID...)
	s.message = append(append(append(append(s.message, '\n'), variant...), '\n'), expires...)
	s.mac.Reset()
	s.mac.Write(s.message)
	dst = append(append(dst, publicURL+"/api/external/media/"...), submissionID...)
	dst = append(append(append(dst, '/'), variant...), "?exp="...)
	dst = append(append(dst, expires...), "&kid=k1&sig="...)
	return base64.RawURLEncoding.AppendEncode(dst, s.mac.Sum(s.sum[:0]))
}
