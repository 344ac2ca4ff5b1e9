package api

import (
	"net/http"
	"testing"

	"github.com/sortie-labs/sortie/internal/apidocs"
	"github.com/sortie-labs/sortie/spec"
)

func TestDocsAreServed(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for target, contentType := range map[string]string{"/docs": "text/html; charset=utf-8", "/openapi.yaml": "application/yaml"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := s.send(testRequest{method: method, target: target, unsigned: true})
			if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != contentType {
				t.Errorf("%s %s: got %d %s, want 200 %s", method, target, got.StatusCode, got.Header.Get("Content-Type"), contentType)
			}
		}
	}
	if got := s.send(testRequest{target: "/openapi.yaml", unsigned: true}); string(got.body) != string(spec.OpenAPI) {
		t.Error("/openapi.yaml is not the document")
	}
	if got := s.send(testRequest{target: "/docs", unsigned: true}); got.Header.Get("Content-Security-Policy") != apidocs.Policy {
		t.Errorf("policy of /docs: got %q, want %q", got.Header.Get("Content-Security-Policy"), apidocs.Policy)
	}
}
