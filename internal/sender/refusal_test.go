package sender_test

import (
	"errors"
	"testing"

	"github.com/sortie-labs/sortie/internal/sender"
)

// nodeDialects are answers of nodes to transactions, with realistic values.
var nodeDialects = []struct{ node, text, means string }{
	{"geth", "already known", "has it"},
	{"geth", "nonce too low: next nonce 8, tx nonce 7", "nonce used"},
	{"geth", "nonce too high: address 0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f, tx: 9 state: 7", "nonce gap"},
	{"geth", "replacement transaction underpriced: new tx gas fee cap 1100 < 1000 * 1.10", "replacing"},
	{"geth", "transaction underpriced: gas tip cap 0, minimum needed 1", "price"},
	{"geth", "max fee per gas less than block base fee: address 0x23618e81, maxFeePerGas: 1, baseFee: 875000000", "price"},
	{"geth", "insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000", "balance"},
	{"geth", "txpool is full", "unknown"},

	{"Erigon", "ALREADY_EXISTS: already known", "has it"},
	{"Erigon", "INTERNAL_ERROR: existing tx with same hash", "has it"},
	{"Erigon", "INTERNAL_ERROR: nonce too low", "nonce used"},
	{"Erigon", "INTERNAL_ERROR: could not replace existing tx", "replacing"},
	{"Erigon", "INTERNAL_ERROR: underpriced", "price"},
	{"Erigon", "fee cap less than block base fee", "price"},
	{"Erigon", "INTERNAL_ERROR: insufficient funds for gas * price + value", "balance"},

	{"Nethermind", "AlreadyKnown", "has it"},
	{"Nethermind", "OldNonce, Current nonce: 8, nonce of rejected tx: 7.", "nonce used"},
	{"Nethermind", "NonceGap, Future nonce. Expected nonce: 7", "nonce gap"},
	{"Nethermind", "ReplacementNotAllowed", "replacing"},
	{"Nethermind", "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7", "price"},
	{"Nethermind", "FeeTooLowToCompete", "price"},
	{"Nethermind", "InsufficientFunds, Account balance: 0, cumulative cost: 21000", "balance"},

	{"Besu", "Known transaction", "has it"},
	{"Besu", "Nonce too low", "nonce used"},
	{"Besu", "Transaction nonce is too distant from current sender nonce", "nonce gap"},
	{"Besu", "Replacement transaction underpriced", "replacing"},
	{"Besu", "Gas price below configured minimum gas price", "price"},
	{"Besu", "Upfront cost exceeds account balance", "balance"},

	{"reth", "already known", "has it"},
	{"reth", "nonce too low: next nonce 8, tx nonce 7", "nonce used"},
	{"reth", "replacement transaction underpriced", "replacing"},
	{"reth", "max fee per gas less than block base fee", "price"},
	{"reth", "insufficient funds for gas * price + value: have 0 want 21000", "balance"},

	{"anvil", "transaction already imported", "has it"},
	{"anvil", "nonce too low", "nonce used"},
	{"anvil", "replacement transaction underpriced", "replacing"},
	{"anvil", "max fee per gas less than block base fee", "price"},
	{"anvil", "Insufficient funds for gas * price + value", "balance"},

	{"a provider", "daily request count exceeded", "unknown"},
}

// answered is a JSON-RPC error of a node.
type answered string

func (a answered) Error() string  { return string(a) }
func (a answered) ErrorCode() int { return -32000 }

func TestRefusalsAreReadInEveryDialect(t *testing.T) {
	t.Parallel()
	for _, d := range nodeDialects {
		if got := sender.ReadRefusal(answered(d.text)); got != d.means {
			t.Errorf("%s, %q: read as %s, want %s", d.node, d.text, got, d.means)
		}
	}
	if got := sender.ReadRefusal(nil); got != "has it" {
		t.Errorf("meaning of no error: got %s, want has it", got)
	}
	if got := sender.ReadRefusal(errors.New("proxy: already known host is down")); got != "unknown" {
		t.Errorf("meaning of an error that is not from a node: got %s, want unknown", got)
	}
}
