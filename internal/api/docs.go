package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"go.yaml.in/yaml/v3"
)

// The page at /docs is made of the OpenAPI document, once: what is described is what is shown. It
// has no script and loads nothing, so that reading it tells nobody, and nobody can change it on its
// way.

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsCSS string

// docsPolicy lets the page show itself in its own style and do nothing else.
var docsPolicy = "default-src 'none'; style-src 'sha256-" + digestOf(docsCSS) +
	"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const docsCaching = "public, max-age=300"

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// staticPage is a document that never changes while the process runs. It is compressed once: it is
// asked for without a wallet and without limits, so sending it must cost next to nothing.
type staticPage struct{ plain, gzipped []byte }

func newStaticPage(plain []byte) (staticPage, error) {
	var gzipped bytes.Buffer
	compressor, err := gzip.NewWriterLevel(&gzipped, gzip.BestCompression)
	if err == nil {
		_, err = compressor.Write(plain)
	}
	if err == nil {
		err = compressor.Close()
	}
	if err != nil {
		return staticPage{}, fmt.Errorf("compress a page: %w", err)
	}
	return staticPage{plain, gzipped.Bytes()}, nil
}

// sendPage sends the page as the client understands it.
func (x *exchange) sendPage(p staticPage) {
	header := x.Header()
	header.Set("Cache-Control", docsCaching)
	header.Add("Vary", "Accept-Encoding")
	body := p.plain
	if acceptsGzip(x.r.Header) {
		header.Set("Content-Encoding", "gzip")
		body = p.gzipped
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	x.status = http.StatusOK
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(body) // a client that went away is no error
}

func (s *Server) openAPI(x *exchange) error {
	page, err := s.openAPIPage()
	if err != nil {
		return err
	}
	x.Header().Set("Content-Type", "application/yaml")
	x.sendPage(page)
	return nil
}

func (s *Server) docs(x *exchange) error {
	page, err := s.docsPage()
	if err != nil {
		return err
	}
	header := x.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", docsPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	x.sendPage(page)
	return nil
}

func newDocsPage(openAPI []byte) (staticPage, error) {
	rendered, err := renderDocs(openAPI)
	if err != nil {
		return staticPage{}, err
	}
	return newStaticPage(rendered)
}

// renderDocs makes the page. It fails on a document with a reference that leads nowhere.
func renderDocs(openAPI []byte) ([]byte, error) {
	var parsed yaml.Node
	if err := yaml.Unmarshal(openAPI, &parsed); err != nil {
		return nil, fmt.Errorf("render docs: %w", err)
	}
	if len(parsed.Content) != 1 {
		return nil, fmt.Errorf("render docs: the OpenAPI document is empty")
	}
	reader := &docsReader{root: docsNode{parsed.Content[0]}}
	page := reader.page()
	if reader.err != nil {
		return nil, fmt.Errorf("render docs: %w", reader.err)
	}
	layout, err := template.New("docs.html").Parse(docsHTML)
	if err != nil {
		return nil, fmt.Errorf("render docs: %w", err)
	}
	page.Style = template.CSS(docsCSS) // ours, embedded
	var rendered bytes.Buffer
	if err := layout.Execute(&rendered, page); err != nil {
		return nil, fmt.Errorf("render docs: %w", err)
	}
	return rendered.Bytes(), nil
}
