// Package apidocs holds the API documentation as one HTML page without scripts. The page loads
// nothing else, so a content security policy can forbid everything but its style sheet.
//
// The page is generated from the OpenAPI document before the program is built, so that the program
// contains no parser of YAML and Markdown.
package apidocs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

//go:generate go run ./generate

// Page is the documentation of the API, in HTML.
//
//go:embed docs.html
var Page []byte

// Policy is the Content-Security-Policy of the page: it allows the page's own style sheet and
// nothing else.
var Policy = "default-src 'none'; style-src 'sha256-" + digestOf(styleOf(Page)) +
	"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func styleOf(page []byte) []byte {
	_, rest, _ := bytes.Cut(page, []byte("<style>"))
	style, _, _ := bytes.Cut(rest, []byte("</style>"))
	return style
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.StdEncoding.EncodeToString(sum[:])
}
