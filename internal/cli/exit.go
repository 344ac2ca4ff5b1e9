package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sortie-labs/sortie"
)

// ExitCode is the exit code of the process. Scripts distinguish failures by it.
type ExitCode int

// The exit codes.
const (
	ExitOK             ExitCode = 0
	ExitFailure        ExitCode = 1
	ExitUsage          ExitCode = 2
	ExitNotFound       ExitCode = 3
	ExitAuthentication ExitCode = 4
	ExitConflict       ExitCode = 5
	ExitSafety         ExitCode = 6 // refused, because it could cost money
	ExitChain          ExitCode = 7
	ExitServer         ExitCode = 8 // the network or the service failed
	ExitExpired        ExitCode = 9 // the authorization has expired: fetch a new one
	ExitInterrupted    ExitCode = 130
)

// exitError is an error with an exit code.
type exitError struct {
	code ExitCode
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// Failed returns err with an exit code, or nil for nil.
func Failed(code ExitCode, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code, err}
}

// UsageError returns an error about wrong arguments or flags.
func UsageError(format string, args ...any) error {
	return Failed(ExitUsage, fmt.Errorf(format, args...))
}

func exitCodeOf(err error) ExitCode {
	var exit *exitError
	var api *sortie.Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &api):
		return exitCodeOfStatus(api.Code.HTTPStatus())
	default:
		return ExitFailure
	}
}

func exitCodeOfStatus(status int) ExitCode {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ExitAuthentication
	case status == http.StatusNotFound:
		return ExitNotFound
	case status == http.StatusConflict:
		return ExitConflict
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
		return ExitServer
	default:
		return ExitFailure
	}
}

// reportError prints an error as text, or as one JSON value.
func reportError(w io.Writer, err error, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(w, "sortie: %s\n", describeError(err))
		return
	}
	report := struct {
		Error    *sortie.Error `json:"error"`
		ExitCode ExitCode      `json:"exitCode"`
	}{ExitCode: exitCodeOf(err)}
	if !errors.As(err, &report.Error) {
		report.Error = &sortie.Error{Code: exitName(report.ExitCode), Message: err.Error()}
	}
	_ = json.NewEncoder(w).Encode(report)
}

// describeError returns the text of an error. The message of an error with several wrong fields
// names only the first, and a terminal shows no details, so the fields are listed below it.
func describeError(err error) string {
	fields := fieldErrors(err)
	if len(fields) < 2 {
		return err.Error()
	}
	lines := []string{fmt.Sprintf("%s: %d fields are wrong. Correct them and run it again.", sortie.ErrorCode(err), len(fields))}
	for _, field := range fields {
		lines = append(lines, "  - "+clean(field.Path+" "+field.Message))
	}
	if len(fields) == sortie.MaxFieldErrors {
		lines = append(lines, "  There may be more.")
	}
	return strings.Join(lines, "\n")
}

// fieldErrors returns the wrong fields that an error lists in its details.
func fieldErrors(err error) (fields []sortie.FieldError) {
	var refusal *sortie.Error
	if !errors.As(err, &refusal) {
		return nil
	}
	encoded, err := json.Marshal(refusal.Details["fields"]) // decoded from JSON, so it encodes
	if err != nil || json.Unmarshal(encoded, &fields) != nil {
		return nil // another form, such as a list of names
	}
	return fields
}

// exitName returns the error code of an error that did not come from the service.
func exitName(code ExitCode) sortie.Code {
	switch code {
	case ExitUsage:
		return "usage"
	case ExitNotFound:
		return sortie.CodeNotFound
	case ExitAuthentication:
		return "authentication_failed"
	case ExitConflict:
		return "conflict"
	case ExitSafety:
		return "refused_for_safety"
	case ExitChain:
		return "chain_error"
	case ExitServer:
		return "server_unreachable"
	case ExitExpired:
		return "authorization_expired"
	case ExitInterrupted:
		return "interrupted"
	default:
		return "failed"
	}
}
