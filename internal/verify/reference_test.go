package verify_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/verify"
)

// documented is the first block of a language in the documentation that begins with a text.
func documented(t *testing.T, language, beginning string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/verifier.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(block[1], beginning) {
			return block[1]
		}
	}
	t.Fatalf("docs/verifier.md has no %s that begins with %q", language, beginning)
	return ""
}

// startReference builds and runs the program of the documentation, and returns its URL.
func startReference(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	source, binary := filepath.Join(directory, "main.go"), filepath.Join(directory, "verifier")
	if err := os.WriteFile(source, []byte(documented(t, "go", "package main")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"vet", source}, {"build", "-o", binary, source}} {
		if output, err := exec.CommandContext(t.Context(), "go", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", arguments[0], err, output)
		}
	}
	command := exec.CommandContext(t.Context(), binary, "127.0.0.1:0")
	said, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() }) // the test's context has ended, and the program with it
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("the program said %q, %v", line, err)
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // so that it can go on talking
	return "http://" + address + "/check"
}

func gray(light uint8) []byte {
	picture := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range picture.Pix {
		picture.Pix[i] = color.Gray{Y: light}.Y
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// The program of the documentation reads pictures through the links.
func TestTheDocumentedVerifier(t *testing.T) {
	t.Parallel()
	pictures := map[string][]byte{"/bright": gray(230), "/dim": gray(128), "/dark": gray(20), "/broken": []byte("no picture")}
	media := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		picture, found := pictures[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(picture)
	}))
	t.Cleanup(media.Close)
	verifier := verify.New(verify.Config{Mode: program(t, startReference(t))})
	for path, want := range map[string]verify.Verdict{
		"/bright": {Status: sortie.SubmissionAccepted, Score: 90, Reason: "Of all light, 90 % are there."},
		"/dim":    {Status: sortie.SubmissionFlagged, Score: 50, Reason: "Of all light, 50 % are there."},
		"/dark":   {Status: sortie.SubmissionRejected, Score: 7, Reason: "Of all light, 7 % are there."},
	} {
		got, err := verifier.Check(t.Context(), goodPhoto(t), func() (string, string) { return media.URL + path, "" })
		if err != nil || got.Status != want.Status || got.Score != want.Score || got.Reason != want.Reason || got.Policy != "checks-3/http-70-30" {
			t.Errorf("%s: got %+v, error %v, want %+v", path, got, err, want)
		}
	}
	for _, path := range []string{"/broken", "/gone"} {
		if got, err := verifier.Check(t.Context(), goodPhoto(t), func() (string, string) { return media.URL + path, "" }); !errors.Is(err, verify.ErrNoAnswer) {
			t.Errorf("%s: got %+v, error %v, want %v", path, got, err, verify.ErrNoAnswer)
		}
	}
}

// The documented request equals what is sent, in the order of its members, and the documented
// answer is valid.
func TestTheDocumentedExchange(t *testing.T) {
	t.Parallel()
	var want, got bytes.Buffer
	if err := json.Compact(&want, []byte(documented(t, "json", "{\n"))); err != nil {
		t.Fatal(err)
	}
	url := answering(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = got.ReadFrom(r.Body)
		_, _ = io.WriteString(w, documented(t, "json", `{"score"`))
	})
	verdict, err := ask(t, url, func() (string, string) {
		return "https://api.example.com/api/operator/media/sub_00000000000000000000000001/original?exp=1772374200&kid=1&sig=x", ""
	})
	if err != nil || verdict.Status != sortie.SubmissionAccepted || verdict.Score != 85 {
		t.Fatalf("got verdict %+v, error %v, want accepted with score 85", verdict, err)
	}
	if sent := strings.ReplaceAll(got.String(), `\u0026`, "&"); sent != want.String() {
		t.Errorf("documented is %s\nsent was %s", want.String(), sent)
	}
}
