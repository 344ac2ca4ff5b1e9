package follower

import (
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chaintest"
)

// MemoryLedger is a ledger for tests on real chains.
type MemoryLedger = memoryLedger

// NewMemoryLedger returns an empty ledger.
var NewMemoryLedger = newMemoryLedger

// SetFactories sets the followed factories.
func (l *memoryLedger) SetFactories(factories ...sortie.Address) { l.factories = factories }

// Rows describes the events that the ledger holds.
func (l *memoryLedger) Rows() []string { return l.rows() }

// DescribeLog describes a log as Rows describes its event.
func DescribeLog(log *types.Log) (string, error) {
	event, err := chaintest.DecodeLog(log)
	return chaintest.Describe(event), err
}
