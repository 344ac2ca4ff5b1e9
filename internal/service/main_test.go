package service

import (
	"os"
	"testing"

	"github.com/sortie-labs/sortie/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
