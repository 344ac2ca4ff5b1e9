package devnet_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie/internal/anviltest"
)

// startAnvil runs another maker's chain for the time of a test.
func startAnvil(t *testing.T, chainID uint64, options ...string) *ethclient.Client {
	t.Helper()
	return dial(t, anviltest.StartAnvil(t, chainID, options...))
}
