package api

import (
	"net/http"
	"strconv"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

const maxIdempotencyKey = 255

func (s *Server) createDraft(req *request) error {
	key, err := idempotencyKey(req.http.Header)
	if err != nil {
		return err
	}
	refund, err := s.chargeDraftBytes(req)
	if err != nil {
		return err
	}
	view, created, err := s.config.App.CreateDraft(req.http.Context(), req.wallet, key, req.body)
	if isRefused := err != nil && sortie.ErrorCode(err).HTTPStatus() < http.StatusInternalServerError; isRefused || err == nil && !created {
		refund() // after any other error, the draft may be stored
	}
	if err != nil {
		return err
	}
	header := req.Header()
	header.Set("Location", "/api/external/missions/"+view.DraftID)
	status := http.StatusCreated
	if !created {
		status = http.StatusOK
		header.Set("Idempotent-Replayed", "true")
	}
	return req.answer(status, func(dst []byte) []byte { return appendCreated(dst, view) })
}

// idempotencyKey returns the idempotency key, 1-255 printable ASCII characters.
func idempotencyKey(header http.Header) (string, error) {
	given := header.Values(sortie.HeaderIdempotencyKey)
	switch {
	case len(given) == 0:
		return "", sortie.NewError(sortie.CodeIdempotencyKeyRequired, "set the %s header to a value that is unique to this request, and send the same value when you repeat the request", sortie.HeaderIdempotencyKey)
	case len(given) > 1:
		return "", sortie.NewError(sortie.CodeInvalidIdempotencyKey, "the %s header must appear once", sortie.HeaderIdempotencyKey)
	}
	key := given[0]
	valid := len(key) >= 1 && len(key) <= maxIdempotencyKey
	for i := 0; valid && i < len(key); i++ {
		valid = key[i] >= 0x20 && key[i] <= 0x7e
	}
	if !valid {
		return "", sortie.NewError(sortie.CodeInvalidIdempotencyKey, "the %s header must be 1-%d printable ASCII characters", sortie.HeaderIdempotencyKey, maxIdempotencyKey)
	}
	return key, nil
}

func (s *Server) previewMission(req *request) (sortie.Preview, error) {
	return s.config.App.Preview(req.wallet, req.body)
}

func (s *Server) missionStatus(req *request) error {
	view, err := s.config.App.Mission(req.http.Context(), req.wallet, req.http.PathValue("id"))
	if err != nil {
		return err
	}
	return req.answer(http.StatusOK, func(dst []byte) []byte { return append(appendStatus(append(dst, '{'), view), '}') })
}

func (s *Server) listDrafts(req *request) error {
	query := app.DraftQuery{Status: sortie.ListStatus(req.query.Get("status")), Cursor: req.query.Get("cursor")}
	if query.Status != "" && !query.Status.Valid() {
		return sortie.NewError(sortie.CodeInvalidParameter, "query parameter status: unknown value %.60q", string(query.Status)).
			Detail("parameter", "status").Detail("allowed", sortie.ListStatuses())
	}
	if text := req.query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > app.MaxDraftsPerPage || text != strconv.Itoa(limit) {
			return invalidParameter("limit", "must be a whole number from 1 to "+strconv.Itoa(app.MaxDraftsPerPage))
		}
		query.Limit = limit
	}
	return s.streamDrafts(req, query)
}

// maxListTail bounds the part of a list after its drafts.
const maxListTail = 1 << 10

// streamDrafts sends a page of drafts while it reads them. The page ends before it would be larger
// than maxListBytes.
func (s *Server) streamDrafts(req *request, query app.DraftQuery) error {
	out := req.newStream()
	defer out.close()
	out.text = append(out.text, `{"ok":true,"drafts":[`...)
	summary, err := s.config.App.Drafts(req.http.Context(), req.wallet, query, func(view app.View) (bool, error) {
		before := len(out.text)
		if req.rows > 0 {
			out.text = append(out.text, ',')
		}
		out.text = appendListed(out.text, view)
		if req.rows > 0 && out.size() > maxListBytes-maxListTail {
			out.text = out.text[:before]
			return false, nil
		}
		req.rows++
		return true, out.push()
	})
	if err != nil {
		return err
	}
	out.text = append(appendListSummary(append(out.text, "],"...), summary), "}\n"...)
	return out.end()
}

// confirmFunding answers with the known state at once. The chain is read later.
func (s *Server) confirmFunding(req *request) (sortie.FundingCheck, error) {
	if err := checkFundingHint(req.body); err != nil {
		return sortie.FundingCheck{}, err
	}
	return s.config.App.ConfirmFunding(req.http.Context(), req.wallet, req.http.PathValue("id"))
}
