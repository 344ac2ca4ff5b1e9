package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutant is an entry of mutants/*.json: a fault to plant in the source, and the test that must
// fail. scripts/mutants.mjs runs them.
type mutant struct {
	Fault, File, Old, New, Package, Test string
}

// TestMutantsFitTheTree fails when source moved on and a mutant no longer applies, or names a test
// that does not exist.
func TestMutantsFitTheTree(t *testing.T) {
	t.Parallel()
	lists, err := filepath.Glob("../mutants/*.json")
	if err != nil || len(lists) == 0 {
		t.Fatalf("lists of mutants: got %d and error %v, want at least one list", len(lists), err)
	}
	for _, list := range lists {
		content, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		var mutants []mutant
		if err := json.Unmarshal(content, &mutants); err != nil {
			t.Errorf("decode %s: %v", list, err)
		}
		for _, m := range mutants {
			checkMutant(t, filepath.Base(list), m)
		}
	}
}

func checkMutant(t *testing.T, list string, m mutant) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", m.File))
	if err != nil {
		t.Errorf("%s: read the file of %q: %v", list, m.Fault, err)
		return
	}
	if got := strings.Count(string(source), m.Old); got != 1 || m.Old == m.New {
		t.Errorf("%s: %q: its text occurs %d times in %s, want 1, and the replacement must differ", list, m.Fault, got, m.File)
	}
	files, err := filepath.Glob(filepath.Join("..", m.Package, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	test, _, _ := strings.Cut(m.Test, "/") // subtests have no declaration
	declared := regexp.MustCompile(`(?m)^func (` + test + `)\(`)
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && declared.Match(content) {
			return
		}
	}
	t.Errorf("%s: %q: package %s declares no test %s", list, m.Fault, m.Package, m.Test)
}
