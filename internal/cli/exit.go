package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/sortie-labs/sortie"
)

// exitCode is what the process ends with: a script can tell failures apart without reading text.
type ExitCode int

const (
	ExitOK             ExitCode = 0
	ExitFailure        ExitCode = 1
	ExitUsage          ExitCode = 2
	ExitNotFound       ExitCode = 3
	ExitAuthentication ExitCode = 4
	ExitConflict       ExitCode = 5
	ExitSafety         ExitCode = 6 // we refused to do something that could cost money
	ExitChain          ExitCode = 7
	ExitServer         ExitCode = 8 // the network or the service failed
	ExitExpired        ExitCode = 9 // the authorization is too old: fetch a fresh one
	ExitInterrupted    ExitCode = 130
)

// exitError is an error that knows how the process ends.
type exitError struct {
	code ExitCode
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// failed says how the process ends on err. It leaves nil alone.
func Failed(code ExitCode, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code, err}
}

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

// reportError tells a person in lines of text, or a program in one JSON value.
func reportError(w io.Writer, err error, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(w, "sortie: %s\n", withFaults(err))
		return
	}
	report := struct {
		Error    *sortie.Error `json:"error"`
		ExitCode ExitCode      `json:"exitCode"`
	}{ExitCode: exitCodeOf(err)}
	if !errors.As(err, &report.Error) {
		report.Error = &sortie.Error{Code: exitName(report.ExitCode), Message: err.Error()}
	}
	_ = json.NewEncoder(w).Encode(report) // nobody is left to tell
}

// otherFaults is how the service counts, in a message, the faults that it lists in the details.
var otherFaults = regexp.MustCompile(` \(and ([0-9]+) more, see details\.fields\)`)

// withFaults lists all that is wrong with a definition below the message, which has only the first:
// a terminal shows no details.
func withFaults(err error) string {
	text := err.Error()
	count := otherFaults.FindStringSubmatch(text)
	faults := faultsOf(err)
	if count == nil || len(faults) == 0 {
		return text
	}
	lines := []string{otherFaults.ReplaceAllString(text, "")}
	for _, fault := range faults {
		lines = append(lines, "  - "+clean(fault.Path+" "+fault.Message))
	}
	if others, _ := strconv.Atoi(count[1]); others >= len(faults) { // it lists no more than so many
		lines = append(lines, fmt.Sprintf("  and %d more", others+1-len(faults)))
	}
	return strings.Join(lines, "\n")
}

func faultsOf(err error) (faults []sortie.FieldError) {
	var refusal *sortie.Error
	if !errors.As(err, &refusal) {
		return nil
	}
	fields, err := json.Marshal(refusal.Details["fields"]) // they came as JSON
	if err != nil || json.Unmarshal(fields, &faults) != nil {
		return nil // of a later version
	}
	return faults
}

// exitName is the code of an error that did not come from the service.
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
