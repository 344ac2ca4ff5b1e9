// Package apidocs renders an OpenAPI document as one HTML page without scripts. The page loads
// nothing else, so a content security policy can forbid everything but its style sheet.
package apidocs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"

	"go.yaml.in/yaml/v3"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// Policy is the Content-Security-Policy of the page: it allows the page's own style sheet and
// nothing else.
var Policy = "default-src 'none'; style-src 'sha256-" + digestOf(pageCSS) +
	"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Render returns the page for an OpenAPI document in YAML. It fails if a reference in the document
// cannot be resolved.
func Render(openAPI []byte) ([]byte, error) {
	rendered, err := render(openAPI)
	if err != nil {
		return nil, fmt.Errorf("render docs: %w", err)
	}
	return rendered, nil
}

func render(openAPI []byte) ([]byte, error) {
	var parsed yaml.Node
	if err := yaml.Unmarshal(openAPI, &parsed); err != nil {
		return nil, err
	}
	if len(parsed.Content) != 1 {
		return nil, errors.New("the OpenAPI document is empty")
	}
	reader := &reader{root: node{parsed.Content[0]}}
	page := reader.page()
	if reader.err != nil {
		return nil, reader.err
	}
	layout, err := template.New("page.html").Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	page.Style = template.CSS(pageCSS) // embedded, so it is trusted
	var rendered bytes.Buffer
	if err := layout.Execute(&rendered, page); err != nil {
		return nil, err
	}
	return rendered.Bytes(), nil
}
