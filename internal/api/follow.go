package api

import (
	"net/http"
	"strconv"

	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) doctor(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	doctor, err := s.config.App.Doctor(x.r.Context(), x.wallet, x.r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, doctor)
}

// confirmFunding answers with what is known at once. The look at the chain that it asks for comes
// after.
func (s *Server) confirmFunding(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	if err := readFundingHint(x.body); err != nil {
		return err
	}
	check, err := s.config.App.ConfirmFunding(x.r.Context(), x.wallet, x.r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, check)
}

func (s *Server) events(x *exchange) error {
	page, err := x.parsePage()
	if err != nil {
		return err
	}
	events, err := s.config.App.Events(x.r.Context(), x.wallet, page)
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, events)
}

// parsePage reads the parameters of a list, which may have others beside. A limit that is too great
// is no mistake: the page is smaller.
func (x *exchange) parsePage(others ...string) (app.Page, error) {
	if err := x.parseQuery(append([]string{"limit", "cursor"}, others...)...); err != nil {
		return app.Page{}, err
	}
	page := app.Page{Cursor: x.query.Get("cursor")}
	if text := x.query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || text != strconv.Itoa(limit) {
			return app.Page{}, invalidParameter("limit", "want a whole number from 1; above "+strconv.Itoa(app.MaxPage)+" it is "+strconv.Itoa(app.MaxPage))
		}
		page.Limit = limit
	}
	return page, nil
}
