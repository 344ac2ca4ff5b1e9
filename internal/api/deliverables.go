package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/links"
)

func (s *Server) deliverables(req *request) error {
	page, err := req.parsePage()
	if err != nil {
		return err
	}
	query := app.DeliverablesQuery{Limit: page.Limit, Cursor: page.Cursor}
	if text := req.query.Get("mediaUrlTtlSeconds"); text != "" {
		if query.TTL, err = parseTTL(text); err != nil {
			return err
		}
	}
	answer := newDeliverablesPage(req.base)
	defer answer.release()
	summary, err := s.config.App.Deliverables(req.http.Context(), req.wallet, req.http.PathValue("id"), query, answer.add)
	if err != nil {
		return err
	}
	return req.answer(http.StatusOK, func(dst []byte) []byte { return answer.appendTo(dst, summary) })
}

// deliverablesPage encodes a page of deliverables. The elements are stored as JSON; only the links
// are new.
type deliverablesPage struct {
	text   []byte // the elements
	prefix []byte // the beginning of every link, as JSON without the closing quote
}

// pageTexts holds buffers for the elements: a page of a hundred has about 100 KiB.
var pageTexts = sync.Pool{New: func() any { return new([]byte) }}

func newDeliverablesPage(base string) *deliverablesPage {
	quoted, _ := json.Marshal(base + mediaPath) // a string can always be encoded
	return &deliverablesPage{text: (*pageTexts.Get().(*[]byte))[:0], prefix: quoted[:len(quoted)-1]}
}

func (p *deliverablesPage) release() { pageTexts.Put(&p.text) }

// add appends an element with its links.
func (p *deliverablesPage) add(d app.Deliverable) {
	if len(p.text) > 0 {
		p.text = append(p.text, ',')
	}
	p.text = append(p.text, d.BeforeLinks...)
	p.text = append(p.text, `,"mediaUrl":`...)
	p.addLink(d, links.VariantOriginal)
	p.text = append(p.text, `,"mediaUrlExpiresAt":`...)
	p.text = appendTime(p.text, d.Links.ExpiresAt())
	p.text = append(p.text, `,"thumbnailUrl":`...)
	if d.HasThumbnail {
		p.addLink(d, links.VariantThumbnail)
	} else {
		p.text = append(p.text, "null"...)
	}
	p.text = append(p.text, d.AfterLinks...)
}

func (p *deliverablesPage) addLink(d app.Deliverable, variant string) {
	p.text = append(append(p.text, p.prefix...), d.SubmissionID...)
	p.text = append(append(append(p.text, '/'), variant...), '?')
	p.text = append(d.Links.AppendToken(p.text, d.SubmissionID, variant), '"')
}

// appendTo appends the whole answer, a [sortie.Deliverables].
func (p *deliverablesPage) appendTo(dst []byte, summary app.DeliverablesSummary) []byte {
	dst = append(append(dst, `{"ok":true,"mission":`...), summary.Mission...)
	dst = append(dst, `,"summary":{"acceptedSubmissions":`...)
	dst = strconv.AppendInt(dst, int64(summary.Accepted), 10)
	dst = append(dst, `,"returnedSubmissions":`...)
	dst = strconv.AppendInt(dst, int64(summary.Returned), 10)
	dst = append(dst, `,"nextCursor":`...)
	if summary.NextCursor == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), summary.NextCursor...), '"') // base64url
	}
	dst = append(dst, `,"generatedAt":`...)
	dst = appendTime(dst, summary.GeneratedAt)
	dst = append(append(dst, `},"submissions":[`...), p.text...)
	return append(dst, "]}"...)
}

// parseTTL parses a number of seconds. A number above the limit counts as the limit, even if it
// overflows an integer.
func parseTTL(text string) (time.Duration, error) {
	const longest = int64(app.MaxLinkTTL / time.Second)
	if !isDigits(text) || text[0] == '0' {
		return 0, invalidParameter("mediaUrlTtlSeconds", "must be a whole number from 1; above "+strconv.FormatInt(longest, 10)+" it counts as "+strconv.FormatInt(longest, 10))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // overflow
		seconds = longest
	}
	return time.Duration(min(seconds, longest)) * time.Second, nil
}
