package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sortie-labs/sortie/internal/app"
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
	return req.answerAppended(http.StatusOK, func(dst []byte) ([]byte, error) {
		return s.config.App.Deliverables(req.http.Context(), req.base, req.wallet, req.http.PathValue("id"), query, dst)
	})
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
