// Command generate renders the OpenAPI document as docs.html, the page that package apidocs holds:
// one HTML page without scripts that loads nothing else.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"log"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/sortie-labs/sortie/spec"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

func main() {
	page, err := Render(spec.OpenAPI)
	if err == nil {
		err = os.WriteFile("docs.html", page, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
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
