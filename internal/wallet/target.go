package wallet

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sortie-labs/sortie"
)

// checkTarget refuses targets for which the signed URL would be ambiguous, with invalid_request.
func checkTarget(r *http.Request) error {
	if !strings.HasPrefix(r.RequestURI, "/") {
		return sortie.NewError(sortie.CodeInvalidRequest,
			"the request target must be a path with an optional query, such as /api/external/missions: not a whole URL")
	}
	if !isOneLine(r.RequestURI) || !isOneLine(r.Host) || !isOneLine(r.Method) {
		return sortie.NewError(sortie.CodeInvalidRequest, "control characters in the request line or in Host: escape them")
	}
	return nil
}

// baseURL is a public base URL of the service. Signed URLs begin with its text.
type baseURL struct{ host, text string }

type baseURLs []baseURL

func parseBaseURLs(texts []string) (baseURLs, error) {
	bases := make(baseURLs, 0, len(texts))
	for _, text := range texts {
		parsed, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("public URL: %w", err)
		}
		web := parsed.Scheme == "https" || parsed.Scheme == "http"
		if !web || parsed.Host == "" || parsed.User != nil || strings.ContainsAny(text, "?#") {
			return nil, fmt.Errorf("public URL %q: want http:// or https:// and a host, such as https://api.example.com", parsed.Redacted())
		}
		bases = append(bases, baseURL{parsed.Host, strings.TrimRight(text, "/")})
	}
	return bases, nil
}

// of returns the base URL that a request to this Host was signed for.
func (b baseURLs) of(host string) string {
	if len(b) == 0 {
		return "http://" + host
	}
	for _, base := range b {
		if strings.EqualFold(base.host, host) {
			return base.text
		}
	}
	return b[0].text
}
