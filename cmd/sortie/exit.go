package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sortie-labs/sortie"
)

// exitCode is what the process ends with: a script can tell failures apart without reading text.
type exitCode int

const (
	exitOK             exitCode = 0
	exitFailure        exitCode = 1
	exitUsage          exitCode = 2
	exitNotFound       exitCode = 3
	exitAuthentication exitCode = 4
	exitConflict       exitCode = 5
	exitSafety         exitCode = 6 // we refused to do something that could cost money
	exitChain          exitCode = 7
	exitServer         exitCode = 8 // the network or the service failed
	exitExpired        exitCode = 9 // the authorization is too old: fetch a fresh one
	exitInterrupted    exitCode = 130
)

// exitError is an error that knows how the process ends.
type exitError struct {
	code exitCode
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// failed says how the process ends on err. It leaves nil alone.
func failed(code exitCode, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code, err}
}

func usageError(format string, args ...any) error {
	return failed(exitUsage, fmt.Errorf(format, args...))
}

func exitCodeOf(err error) exitCode {
	var exit *exitError
	var api *sortie.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &api):
		return exitCodeOfStatus(api.Code.HTTPStatus())
	default:
		return exitFailure
	}
}

func exitCodeOfStatus(status int) exitCode {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return exitAuthentication
	case status == http.StatusNotFound:
		return exitNotFound
	case status == http.StatusConflict:
		return exitConflict
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
		return exitServer
	default:
		return exitFailure
	}
}

// reportError tells a person in lines of text, or a program in one JSON value.
func reportError(w io.Writer, err error, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(w, "sortie: %v\n", err)
		return
	}
	report := struct {
		Error    *sortie.Error `json:"error"`
		ExitCode exitCode      `json:"exitCode"`
	}{ExitCode: exitCodeOf(err)}
	if !errors.As(err, &report.Error) {
		report.Error = &sortie.Error{Code: exitName(report.ExitCode), Message: err.Error()}
	}
	_ = json.NewEncoder(w).Encode(report) // nobody is left to tell
}

// exitName is the code of an error that did not come from the service.
func exitName(code exitCode) sortie.Code {
	switch code {
	case exitUsage:
		return "usage"
	case exitNotFound:
		return sortie.CodeNotFound
	case exitAuthentication:
		return "authentication_failed"
	case exitConflict:
		return "conflict"
	case exitSafety:
		return "refused_for_safety"
	case exitChain:
		return "chain_error"
	case exitServer:
		return "server_unreachable"
	case exitExpired:
		return "authorization_expired"
	case exitInterrupted:
		return "interrupted"
	default:
		return "failed"
	}
}
