package blob_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && otherMains[os.Args[1]] != nil {
		os.Exit(otherMains[os.Args[1]](os.Args[2:]))
	}
	code := m.Run()
	stopServers()
	os.Exit(code)
}

// otherMains are the other programs that this test binary can run, by its first argument.
var otherMains = map[string]func(args []string) int{}

func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
