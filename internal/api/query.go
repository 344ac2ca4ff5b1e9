package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// parseQuery parses the query string. It refuses unknown and repeated parameters: a misspelled
// filter that was ignored would give the wrong list.
func (req *request) parseQuery(allowed []string) error {
	values, err := url.ParseQuery(req.http.URL.RawQuery)
	if err != nil {
		return sortie.NewError(sortie.CodeInvalidParameter, "the query string is invalid; percent-encode its values").Because(err)
	}
	for name, given := range values {
		switch known := slices.Contains(allowed, name); {
		case !known:
			return sortie.NewError(sortie.CodeInvalidParameter, "unknown query parameter %.60q", name).Detail("parameter", name).Detail("allowed", append([]string{}, allowed...))
		case len(given) > 1:
			return invalidParameter(name, "must appear once")
		case given[0] == "":
			return invalidParameter(name, "must not be empty; leave it out instead")
		}
	}
	req.query = values
	return nil
}

// invalidParameter is the error of a query parameter; the problem begins with a verb.
func invalidParameter(name, problem string) error {
	return sortie.NewError(sortie.CodeInvalidParameter, "query parameter %s %s", name, problem).Detail("parameter", name)
}

// parsePage parses the parameters of a list. A limit above the largest page is not an error: the
// page is smaller.
func (req *request) parsePage() (app.Page, error) {
	page := app.Page{Cursor: req.query.Get("cursor")}
	if text := req.query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || text != strconv.Itoa(limit) {
			return app.Page{}, invalidParameter("limit", "must be a whole number from 1; above "+strconv.Itoa(app.MaxPage)+" it counts as "+strconv.Itoa(app.MaxPage))
		}
		page.Limit = limit
	}
	return page, nil
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// oneOf returns the value if it is allowed.
func oneOf[T ~string](name string, given T, allowed ...T) (T, error) {
	if slices.Contains(allowed, given) {
		return given, nil
	}
	return "", sortie.NewError(sortie.CodeInvalidParameter, "query parameter %s: unknown value %.60q", name, string(given)).
		Detail("parameter", name).Detail("allowed", allowed)
}
