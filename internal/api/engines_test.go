package api

import (
	"os"
	"testing"

	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ingest.ChildArgument { // this program is also the child that looks at files
		os.Exit(ingest.ChildMain())
	}
	os.Exit(pgtest.Main(m))
}

// engines runs a test on an empty database of each of the two engines.
func engines(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, "")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.Database(t))
	})
}
