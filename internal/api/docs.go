package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"github.com/sortie-labs/sortie/internal/apidocs"
)

const docsCaching = "public, max-age=300"

// staticPage is a document that does not change while the process runs. It is compressed once,
// because it is served without limits and must cost little.
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

// sendPage sends the page, compressed if the client accepts that.
func (req *request) sendPage(p staticPage) {
	header := req.Header()
	header.Set("Cache-Control", docsCaching)
	header.Add("Vary", "Accept-Encoding")
	body := p.plain
	if acceptsGzip(req.http.Header) {
		header.Set("Content-Encoding", "gzip")
		body = p.gzipped
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	req.status = http.StatusOK
	req.WriteHeader(http.StatusOK)
	_, _ = req.Write(body) // fails only if the client disconnected
}

func (s *Server) openAPI(req *request) error {
	page, err := s.openAPIPage()
	if err != nil {
		return err
	}
	req.Header().Set("Content-Type", "application/yaml")
	req.sendPage(page)
	return nil
}

func (s *Server) docs(req *request) error {
	page, err := s.docsPage()
	if err != nil {
		return err
	}
	header := req.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", apidocs.Policy)
	header.Set("Referrer-Policy", "no-referrer")
	req.sendPage(page)
	return nil
}

func (s *Server) home(req *request) error {
	req.Header().Set("Location", "/docs")
	return req.answerEmpty(http.StatusFound)
}
