package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/sortie-labs/sortie/spec"
)

// contract checks real requests and answers against openapi.yaml. It is closed: an undocumented
// status, header or member is a violation, and so is a request that was served but is not allowed
// by the document.
type contract struct {
	document *openapi3.T
}

// everyAnswerMayHave are headers of HTTP and headers that the document describes for all answers.
var everyAnswerMayHave = []string{
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Cache-Control", "Connection", "Content-Encoding",
	"Content-Length", "Content-Type", "Date", "Vary", "X-Content-Type-Options",
}

// answersOutsideOperations are the answers to requests that belong to no operation.
var answersOutsideOperations = map[int]string{
	http.StatusNoContent:           "Preflight",
	http.StatusBadRequest:          "BadRequest",
	http.StatusNotFound:            "NotFound",
	http.StatusInternalServerError: "InternalError",
	http.StatusServiceUnavailable:  "Overloaded",
}

var loadContract = sync.OnceValues(func() (*contract, error) {
	for _, mediaType := range []string{"text/html", "application/yaml"} {
		openapi3filter.RegisterBodyDecoder(mediaType, openapi3filter.PlainBodyDecoder)
	}
	document, err := openapi3.NewLoader().LoadFromData(spec.OpenAPI)
	if err != nil {
		return nil, err
	}
	return &contract{document}, document.Validate(context.Background()) // examples included
})

func newContract(t testing.TB) *contract {
	t.Helper()
	c, err := loadContract()
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return c
}

// check fails the test if openapi.yaml does not describe the request and its response.
func (c *contract) check(t testing.TB, request *http.Request, requestBody []byte, response *http.Response, responseBody []byte) {
	t.Helper()
	if err := c.violation(request, requestBody, response, responseBody); err != nil {
		t.Errorf("%s %s, answered %d, is not what openapi.yaml says: %v\n%.2000s",
			request.Method, request.URL.RequestURI(), response.StatusCode, err, responseBody)
	}
}

func (c *contract) violation(request *http.Request, requestBody []byte, response *http.Response, responseBody []byte) error {
	input := &openapi3filter.RequestValidationInput{
		Request: withBody(request, requestBody),
		Options: &openapi3filter.Options{
			MultiError: true, IncludeResponseStatus: true, RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true,
			AuthenticationFunc: hasHeader,
		},
	}
	served := c.route(request, response.StatusCode, input)
	if input.Route.Operation.Responses.Status(response.StatusCode) == nil {
		return fmt.Errorf("status %d is not documented", response.StatusCode)
	}
	documented := input.Route.Operation.Responses.Status(response.StatusCode).Value
	for name := range response.Header {
		if !slices.Contains(everyAnswerMayHave, name) && !isDocumented(documented.Headers, name) {
			return fmt.Errorf("header %s is not documented", name)
		}
	}
	body, err := decompressed(response, responseBody)
	if err != nil {
		return err
	}
	if len(documented.Content) == 0 && len(body) > 0 {
		return errors.New("a body is not documented")
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header, Options: input.Options,
		Body: io.NopCloser(bytes.NewReader(body)),
	}
	if err := openapi3filter.ValidateResponse(context.Background(), answer); err != nil {
		return err
	}
	if !served {
		return nil
	}
	return undocumentedRequest(input)
}

// route finds the operation of a request and reports whether it was served. A request that belongs
// to no operation gets one with answersOutsideOperations.
func (c *contract) route(request *http.Request, status int, input *openapi3filter.RequestValidationInput) (served bool) {
	template, values := c.match(request.URL.EscapedPath())
	item := c.document.Paths.Value(template)
	input.PathParams = values
	input.Route = &routers.Route{Spec: c.document, Path: template, PathItem: item, Method: request.Method}
	method := request.Method
	if method == http.MethodHead && (item == nil || item.Head == nil) {
		method = http.MethodGet
	}
	if item != nil && method != http.MethodOptions {
		if operation := item.GetOperation(method); operation != nil {
			input.Route.Operation = operation
			return status < http.StatusBadRequest
		}
		// All operations of a path answer other methods in the same way.
		input.Route.Operation = slices.Collect(maps.Values(item.Operations()))[0]
		return false
	}
	responses := openapi3.NewResponses()
	responses.Delete("default")
	for code, name := range answersOutsideOperations {
		responses.Set(fmt.Sprint(code), c.document.Components.Responses[name])
	}
	input.Route.PathItem = &openapi3.PathItem{}
	input.Route.Operation = &openapi3.Operation{Responses: responses}
	return false
}

// match finds the documented path of a request. A path without parameters has precedence.
func (c *contract) match(path string) (template string, values map[string]string) {
	if c.document.Paths.Value(path) != nil && !strings.Contains(path, "{") {
		return path, nil
	}
	steps := strings.Split(path, "/")
	for _, template := range c.document.Paths.InMatchingOrder() {
		wanted := strings.Split(template, "/")
		values := make(map[string]string)
		if slices.EqualFunc(steps, wanted, func(step, want string) bool {
			name, isParameter := strings.CutPrefix(want, "{")
			if isParameter {
				values[strings.TrimSuffix(name, "}")] = step
			}
			return step == want || isParameter && step != ""
		}) {
			return template, values
		}
	}
	return "", nil
}

// undocumentedRequest returns why a request should not have been served.
func undocumentedRequest(input *openapi3filter.RequestValidationInput) error {
	operation := input.Route.Operation
	isSignedRead := input.Request.Method == http.MethodGet && operation.Security == nil // the others ignore their query
	for name := range input.Request.URL.Query() {
		if isSignedRead && operation.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("the request was served: query parameter %q is not documented", name)
		}
	}
	if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
		return fmt.Errorf("the request was served: %w", err)
	}
	return nil
}

func hasHeader(_ context.Context, input *openapi3filter.AuthenticationInput) error {
	if name := input.SecurityScheme.Name; input.RequestValidationInput.Request.Header.Get(name) == "" {
		return input.NewError(fmt.Errorf("no %s", name))
	}
	return nil
}

func withBody(request *http.Request, body []byte) *http.Request {
	clone := request.Clone(context.Background())
	clone.Body = http.NoBody
	clone.ContentLength = int64(len(body))
	if len(body) > 0 {
		clone.Body = io.NopCloser(bytes.NewReader(body))
		clone.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return clone
}

func isDocumented(headers openapi3.Headers, name string) bool {
	for documented := range headers {
		if strings.EqualFold(documented, name) {
			return true
		}
	}
	return false
}

// decompressed returns the body of a response whose client requested gzip itself.
func decompressed(response *http.Response, body []byte) ([]byte, error) {
	if response.Header.Get("Content-Encoding") != "gzip" || len(body) == 0 {
		return body, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the body is not the gzip it claims to be: %w", err)
	}
	return io.ReadAll(reader)
}

func TestContractSeesWhatIsNotDocumented(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	v := readVectors(t)
	body := []byte(v.Requests[1].Body)
	good := func() (*http.Request, *http.Response, []byte) {
		request, _ := http.NewRequest(http.MethodPost, "https://api.example.com/api/external/missions/drafts", nil)
		request.Header = http.Header{
			"Content-Type": {"application/json"}, "Idempotency-Key": {"k"},
			"X-Service-Wallet": {"0x"}, "X-Service-Timestamp": {"1"}, "X-Service-Signature": {"0x"},
		}
		return request, &http.Response{StatusCode: http.StatusCreated, Header: http.Header{
			"Content-Type": {"application/json; charset=utf-8"}, "X-Request-Id": {"req_5f0c6b1de5a94c0f8e21a7b3"},
			"Location": {"/api/external/missions/draft_01jh2k3m4n5p6q7r8s9t0v1w2x"},
		}}, exampleJSON(t, "Created")
	}
	request, response, answer := good()
	if err := c.violation(request, body, response, answer); err != nil {
		t.Fatalf("a good request: %v", err)
	}
	replace := func(old, with string) func(*http.Request, *http.Response, []byte) []byte {
		return func(_ *http.Request, _ *http.Response, answer []byte) []byte {
			return []byte(strings.Replace(string(answer), old, with, 1))
		}
	}
	for name, spoil := range map[string]func(*http.Request, *http.Response, []byte) []byte{
		"member added":     replace(`{`, `{"ok":true,`),
		"member missing":   replace(`"nextAction"`, `"next"`),
		"deep member":      replace(`"nonce"`, `"extra":1,"nonce"`),
		"wrong type":       replace(`"chainId":84532`, `"chainId":"84532"`),
		"address too long": replace(v.Keys.Service.Address.String(), v.Keys.Service.Address.String()+"0"),
		"unknown value":    replace(`"reviewStatus":"draft"`, `"reviewStatus":"new"`),
		"status": func(_ *http.Request, r *http.Response, b []byte) []byte {
			r.StatusCode = http.StatusAccepted
			return b
		},
		"header added": func(_ *http.Request, r *http.Response, b []byte) []byte { r.Header.Set("X-Powered-By", "x"); return b },
		"header gone":  func(_ *http.Request, r *http.Response, b []byte) []byte { r.Header.Del("Location"); return b },
		"header bad":   func(_ *http.Request, r *http.Response, b []byte) []byte { r.Header.Set("X-Request-Id", "1"); return b },
		"media type": func(_ *http.Request, r *http.Response, b []byte) []byte {
			r.Header.Set("Content-Type", "text/plain")
			return b
		},
		"served unsigned": func(r *http.Request, _ *http.Response, b []byte) []byte {
			r.Header.Del("X-Service-Signature")
			return b
		},
		"served keyless": func(r *http.Request, _ *http.Response, b []byte) []byte { r.Header.Del("Idempotency-Key"); return b },
		"other path":     func(r *http.Request, _ *http.Response, b []byte) []byte { r.URL.Path += "/"; return b },
	} {
		request, response, answer := good()
		answer = spoil(request, response, answer)
		if c.violation(request, body, response, answer) == nil {
			t.Errorf("%s: got no violation, want one", name)
		}
	}
	request, response, answer = good()
	if c.violation(request, []byte(`{"title":"x"}`), response, answer) == nil {
		t.Error("a served request with a body that is not documented: not seen")
	}
}

// Generators make one type of each component of any kind, so names must be unique.
func TestComponentNamesAreUnique(t *testing.T) {
	t.Parallel()
	components, seen := newContract(t).document.Components, map[string]string{}
	for kind, names := range map[string][]string{
		"schemas":       slices.Collect(maps.Keys(components.Schemas)),
		"parameters":    slices.Collect(maps.Keys(components.Parameters)),
		"requestBodies": slices.Collect(maps.Keys(components.RequestBodies)),
		"responses":     slices.Collect(maps.Keys(components.Responses)),
		"headers":       slices.Collect(maps.Keys(components.Headers)),
	} {
		for _, name := range names {
			if other, taken := seen[strings.ToLower(name)]; taken {
				t.Errorf("%s is in %s and in %s, want one", name, kind, other)
			}
			seen[strings.ToLower(name)] = kind
		}
	}
}
