package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// generatedProgram uses a generated client for a public and for a signed request.
const generatedProgram = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"generated/client"
)

func main() {
	var signed http.Header
	if err := json.Unmarshal([]byte(os.Getenv("SIGNED")), &signed); err != nil {
		panic(err)
	}
	sign := func(_ context.Context, request *http.Request) error {
		for name, values := range signed {
			request.Header[name] = values
		}
		return nil
	}
	service, err := client.NewClientWithResponses(os.Args[1])
	if err != nil {
		panic(err)
	}
	feed, err := service.ListOpenMissionsWithResponse(context.Background(), nil)
	if err != nil || feed.JSON200 == nil {
		panic(fmt.Sprint("feed: ", err, feed))
	}
	drafts, err := service.ListMissionsWithResponse(context.Background(), nil, sign)
	if err != nil || drafts.JSON200 == nil {
		panic(fmt.Sprint("drafts: ", err, drafts))
	}
	fmt.Printf("%d missions, %d drafts\n", len(feed.JSON200.Missions), len(drafts.JSON200.Drafts))
}
`

// A client that is generated from the specification can be built and used without the SDK.
func TestGeneratedGoClient(t *testing.T) {
	t.Parallel()
	skipShort(t)
	dev, home := startDev(t), t.TempDir()
	run := func(directory string, environment []string, name string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir, command.Env = directory, append(os.Environ(), environment...)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("run %s %s: %v\n%s", name, strings.Join(args, " "), err, lastLines(string(output)))
		}
		return string(output)
	}
	if err := os.Mkdir(filepath.Join(home, "client"), 0o700); err != nil {
		t.Fatal(err)
	}
	run("..", nil, "go", "tool", "-modfile=tools/go.mod", "oapi-codegen", "-generate", "types,client", "-package", "client",
		"-o", filepath.Join(home, "client", "client.go"), "spec/openapi.yaml")
	pinned, err := os.ReadFile("../tools/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../tools/go.sum")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "go.mod"), regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(pinned, []byte("module generated")))
	write(t, filepath.Join(home, "go.sum"), sums)
	write(t, filepath.Join(home, "main.go"), []byte(generatedProgram))
	run(home, []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", "build", "-o", "program", ".")

	key, err := sortie.ParseKey(dev.key(t, "creator"))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, dev.BaseURL+"/api/external/missions", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sortie.SignRequest(t.Context(), request, nil, key, time.Now()); err != nil {
		t.Fatal(err)
	}
	signed, err := json.Marshal(request.Header)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := run(home, []string{"SIGNED=" + string(signed)}, "./program", dev.BaseURL), "0 missions, 0 drafts\n"; got != want {
		t.Errorf("the generated client saw %q, want %q", got, want)
	}
}
