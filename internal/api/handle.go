package api

import (
	"net/http"

	"github.com/sortie-labs/sortie/internal/app"
)

// ok returns a handler that calls a use case and answers 200 with its result.
func ok[T any](call func(*Server, *request) (T, error)) handler {
	return func(s *Server, req *request) error {
		value, err := call(s, req)
		if err != nil {
			return err
		}
		return req.answerJSON(http.StatusOK, value)
	}
}

// withPage parses the page of a list before it calls the use case.
func withPage[T any](call func(*Server, *request, app.Page) (T, error)) func(*Server, *request) (T, error) {
	return func(s *Server, req *request) (none T, err error) {
		page, err := req.parsePage()
		if err != nil {
			return none, err
		}
		return call(s, req, page)
	}
}

// withReason decodes the reason of an operator's order before it calls the use case.
func withReason[T any](call func(s *Server, req *request, reason string) (T, error)) func(*Server, *request) (T, error) {
	return func(s *Server, req *request) (none T, err error) {
		reason, err := decodeReason(req.body)
		if err != nil {
			return none, err
		}
		return call(s, req, reason)
	}
}
