package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// parseQuery takes each of the named parameters at most once, and no other: a misspelled filter
// that is ignored shows somebody the wrong list.
func (req *request) parseQuery(allowed ...string) error {
	values, err := url.ParseQuery(req.http.URL.RawQuery)
	if err != nil {
		return sortie.NewError(sortie.CodeInvalidParameter, "the query string cannot be read; percent-encode its values").Because(err)
	}
	for name, given := range values {
		switch known := slices.Contains(allowed, name); {
		case !known:
			return sortie.NewError(sortie.CodeInvalidParameter, "unknown query parameter %.60q", name).Detail("parameter", name).Detail("allowed", append([]string{}, allowed...))
		case len(given) > 1:
			return invalidParameter(name, "it must stand once")
		case given[0] == "":
			return invalidParameter(name, "it must not be empty; leave it out instead")
		}
	}
	req.query = values
	return nil
}

func invalidParameter(name, problem string) error {
	return sortie.NewError(sortie.CodeInvalidParameter, "query parameter %s: %s", name, problem).Detail("parameter", name)
}

// parsePage reads the parameters of a list, which may have others beside. A limit that is too great
// is no mistake: the page is smaller.
func (req *request) parsePage(others ...string) (app.Page, error) {
	if err := req.parseQuery(append([]string{"limit", "cursor"}, others...)...); err != nil {
		return app.Page{}, err
	}
	page := app.Page{Cursor: req.query.Get("cursor")}
	if text := req.query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || text != strconv.Itoa(limit) {
			return app.Page{}, invalidParameter("limit", "want a whole number from 1; above "+strconv.Itoa(app.MaxPage)+" it is "+strconv.Itoa(app.MaxPage))
		}
		page.Limit = limit
	}
	return page, nil
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// oneOf takes a value that is among those allowed.
func oneOf[T ~string](name string, given T, allowed ...T) (T, error) {
	if slices.Contains(allowed, given) {
		return given, nil
	}
	return "", sortie.NewError(sortie.CodeInvalidParameter, "query parameter %s: unknown value %.60q", name, string(given)).
		Detail("parameter", name).Detail("allowed", allowed)
}
