package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// typedData is EIP-712 typed data as eth_signTypedData_v4 takes it.
type typedData struct {
	Types       map[string][]struct{ Name, Type string } `json:"types"`
	PrimaryType string                                   `json:"primaryType"`
	Domain      json.RawMessage                          `json:"domain"`
	Message     json.RawMessage                          `json:"message"`
}

// encodeType writes the types as EIP-712 hashes them: the primary type, then the others by name.
func (d typedData) encodeType() string {
	var others []string
	for name := range d.Types {
		if name != "EIP712Domain" && name != d.PrimaryType {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	var text strings.Builder
	for _, name := range append([]string{d.PrimaryType}, others...) {
		var fields []string
		for _, field := range d.Types[name] {
			fields = append(fields, field.Type+" "+field.Name)
		}
		text.WriteString(name + "(" + strings.Join(fields, ",") + ")")
	}
	return text.String()
}

// The typed data in spec/eip712.json is what the contract verifies: cast signs it to the same
// bytes.
func TestCastSignsTheTypedDataIdentically(t *testing.T) {
	t.Parallel()
	skipShort(t)
	var documents map[string]json.RawMessage
	readJSON(t, "../spec/eip712.json", &documents)
	var vectors map[string]json.RawMessage
	readJSON(t, "../spec/vectors.json", &vectors)
	var keys struct {
		Service struct{ PrivateKey string }
	}
	if err := json.Unmarshal(vectors["keys"], &keys); err != nil {
		t.Fatal(err)
	}
	casts, err := filepath.Glob("../contracts/node_modules/@foundry-rs/cast-*/bin/cast")
	if err != nil || len(casts) == 0 {
		t.Fatal("cast is missing: run make setup")
	}
	if len(documents) != 3 {
		t.Fatalf("spec/eip712.json has %d documents, want authorization, settlement and close", len(documents))
	}
	for name, document := range documents {
		var data typedData
		if err := json.Unmarshal(document, &data); err != nil {
			t.Fatalf("decode %s of spec/eip712.json: %v", name, err)
		}
		var vector struct{ Types, Signature string }
		if err := json.Unmarshal(vectors[name], &vector); err != nil || vector.Signature == "" {
			t.Fatalf("vectors.json has no signature of %s: %v", name, err)
		}
		if got := data.encodeType(); got != vector.Types {
			t.Errorf("%s: got the types %s, want %s", name, got, vector.Types)
		}
		file := filepath.Join(t.TempDir(), name+".json")
		write(t, file, document)
		output, err := exec.CommandContext(t.Context(), casts[0], "wallet", "sign", "--private-key", keys.Service.PrivateKey, "--data", "--from-file", file).CombinedOutput()
		if got := strings.TrimSpace(string(output)); err != nil || got != vector.Signature {
			t.Errorf("%s: cast wallet sign --data: got %s, %v, want %s", name, got, err, vector.Signature)
		}
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("decode %s: %v", path, err)
	}
}
