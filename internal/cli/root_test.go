package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// A list that did not arrive was not listed.
func TestOutputThatIsLostIsAFailure(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(sortie.MissionFeed{OK: true, Missions: []sortie.OpenMission{}})
	}))
	defer server.Close()
	nothing := func(string) (string, bool) { return "", false }
	for _, args := range [][]string{{"missions"}, {"missions", "--json"}} {
		var complaints bytes.Buffer
		code := run(t.Context(), append(args, "--url", server.URL), nothing, fullDisk{}, &complaints)
		if code != int(ExitFailure) || !strings.Contains(complaints.String(), "no space left on device") {
			t.Errorf("%v: %d: %s", args, code, complaints.String())
		}
	}
}

// In a terminal there are no details to look into.
func TestEveryFaultIsListed(t *testing.T) {
	t.Parallel()
	refusal := func(others int, fields ...sortie.FieldError) error {
		more := ""
		if others > 0 {
			more = fmt.Sprintf(" (and %d more, see details.fields)", others)
		}
		sent, err := json.Marshal(sortie.NewError(sortie.CodeValidationFailed, "The mission was not accepted: title is required%s. Correct it.", more).Detail("fields", fields))
		if err != nil {
			t.Fatal(err)
		}
		got := &sortie.Error{}
		if err := json.Unmarshal(sent, got); err != nil {
			t.Fatal(err)
		}
		return fmt.Errorf("mission.json: %w", got)
	}
	title, count := sortie.FieldError{Path: "title", Message: "is required"}, sortie.FieldError{Path: "targetCount", Message: "is\nrequired"}
	for want, err := range map[string]error{
		"sortie: mission.json: validation_failed: The mission was not accepted: title is required. Correct it.\n":                                                     refusal(0, title),
		"sortie: mission.json: validation_failed: The mission was not accepted: title is required. Correct it.\n  - title is required\n  - targetCount is required\n": refusal(1, title, count),
		"sortie: mission.json: validation_failed: The mission was not accepted: title is required. Correct it.\n" +
			"  - title is required\n  - targetCount is required\n  and 60 more\n": refusal(61, title, count),
		"sortie: mission.json: validation_failed: The mission was not accepted: title is required (and 1 more, see details.fields). Correct it.\n": refusal(1),
	} {
		var got bytes.Buffer
		reportError(&got, err, false)
		if got.String() != want {
			t.Errorf("%s, want %s", got.String(), want)
		}
	}
}
