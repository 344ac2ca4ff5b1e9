package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

// run runs a client command.
func run(ctx context.Context, args []string, lookupEnv func(string) (string, bool), stdout, stderr io.Writer) int {
	return Program{LookupEnv: lookupEnv, Stdout: stdout, Stderr: stderr}.Run(ctx, args)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A list that could not be printed is a failure.
func TestAWriteErrorIsAFailure(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(sortie.MissionFeed{OK: true, Missions: []sortie.OpenMission{}})
	}))
	defer server.Close()
	nothing := func(string) (string, bool) { return "", false }
	for _, args := range [][]string{{"missions"}, {"missions", "--json"}} {
		var errors bytes.Buffer
		code := run(t.Context(), append(args, "--url", server.URL), nothing, fullDisk{}, &errors)
		if code != int(ExitFailure) || !strings.Contains(errors.String(), "no space left on device") {
			t.Errorf("%v: got exit code %d and %q, want %d and the write error", args, code, errors.String(), ExitFailure)
		}
	}
}

// A terminal shows no error details, so several wrong fields are listed.
func TestWrongFieldsAreListed(t *testing.T) {
	t.Parallel()
	refusal := func(fields ...sortie.FieldError) error {
		sent, err := json.Marshal(sortie.NewError(sortie.CodeValidationFailed, "The mission was not accepted: title is required. Correct it.").Detail("fields", fields))
		if err != nil {
			t.Fatal(err)
		}
		got := &sortie.Error{}
		if err := json.Unmarshal(sent, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	const message = "sortie: validation_failed: The mission was not accepted: title is required. Correct it.\n"
	title, count := sortie.FieldError{Path: "title", Message: "is required"}, sortie.FieldError{Path: "targetCount", Message: "is\nrequired"}
	var most []sortie.FieldError
	for range sortie.MaxFieldErrors {
		most = append(most, title)
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no list":    {refusal(), message},
		"one field":  {refusal(title), message},
		"two fields": {refusal(title, count), "sortie: validation_failed: 2 fields are wrong. Correct them and run it again.\n  - title is required\n  - targetCount is required\n"},
		"a full list": {refusal(most...), "sortie: validation_failed: 50 fields are wrong. Correct them and run it again.\n" +
			strings.Repeat("  - title is required\n", sortie.MaxFieldErrors) + "  There may be more.\n"},
		"names of fields": {sortie.NewError(sortie.CodeIdempotencyConflict, "another mission").Detail("fields", []string{"title", "reward"}), "sortie: idempotency_conflict: another mission\n"},
	} {
		var got bytes.Buffer
		reportError(&got, c.err, false)
		if got.String() != c.want {
			t.Errorf("%s: got %q, want %q", name, got.String(), c.want)
		}
	}
}
