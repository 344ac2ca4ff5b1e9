package sender

import (
	"strings"

	"github.com/sortie-labs/sortie/internal/chain"
)

// refusal is why a node refused a transaction. JSON-RPC has no codes for it, so it is derived from
// the text. It decides only what to try next; the chain decides whether a transaction was mined.
type refusal int

const (
	nodeHasIt        refusal = iota // the node has the transaction, from now or before
	refusedNonceUsed                // a transaction with this nonce is in a block
	refusedNonceGap                 // transactions with lower nonces are missing in the node's pool
	refusedReplacing                // the pool has another transaction with this nonce, and this one does not pay enough more
	refusedPrice                    // the price is below the block's or the pool's minimum
	refusedBalance                  // the account cannot pay the gas
	refusedUnknown                  // anything else, such as a full pool or no answer
)

// dialects are pieces of what nodes say, in lower case, the first that fits deciding: "replacement
// transaction underpriced" is no "transaction underpriced".
//
//   - geth, and most others: op-geth, bor, nitro, reth, newer Nethermind and Besu
//   - Erigon writes a gRPC status before them
//   - Nethermind names its enumeration
//   - Besu and OpenEthereum have their own sentences
//   - anvil and Hardhat are for development
var dialects = []struct {
	piece string
	means refusal
}{
	{"already known", nodeHasIt},              // geth, reth; Erigon: "ALREADY_EXISTS: already known"
	{"alreadyknown", nodeHasIt},               // Nethermind
	{"known transaction", nodeHasIt},          // Besu; geth before 1.9: "known transaction: <hash>"
	{"existing tx with same hash", nodeHasIt}, // Erigon
	{"already imported", nodeHasIt},           // anvil, OpenEthereum
	{"already in mempool", nodeHasIt},         // providers
	{"transaction already exists", nodeHasIt}, // providers
	{"nonce too low", refusedNonceUsed},       // geth, reth, Erigon, Besu, anvil
	{"oldnonce", refusedNonceUsed},            // Nethermind
	{"nonce is too low", refusedNonceUsed},    // OpenEthereum, Hardhat
	{"nonce too high", refusedNonceGap},       // geth, nitro
	{"noncegap", refusedNonceGap},             // Nethermind
	{"noncetoofarinfuture", refusedNonceGap},
	{"nonce is too distant", refusedNonceGap},                // Besu
	{"nonce too far in the future", refusedNonceGap},         // Besu
	{"delegation gapped nonce", refusedNonceGap},             // Nethermind, of accounts with code
	{"gapped-nonce tx", refusedNonceGap},                     // geth, of accounts with code
	{"replacement transaction under", refusedReplacing},      // geth, reth, Besu, anvil; Hardhat: "... underpriced. A gasPrice/..."
	{"replacementnotallowed", refusedReplacing},              // Nethermind
	{"could not replace existing tx", refusedReplacing},      // Erigon
	{"future transaction tries to repl", refusedReplacing},   // geth
	{"insufficient funds", refusedBalance},                   // geth, reth, Erigon, anvil
	{"insufficientfunds", refusedBalance},                    // Nethermind
	{"upfront cost exceeds account balance", refusedBalance}, // Besu
	{"doesn't have enough funds", refusedBalance},            // Hardhat
	{"max fee per gas less than block base", refusedPrice},   // geth, reth, anvil
	{"fee cap less than block base fee", refusedPrice},       // Erigon
	{"below current base fee", refusedPrice},                 // Besu
	{"less than the current base", refusedPrice},             // Besu
	{"too low for the next block", refusedPrice},             // Hardhat
	{"transaction underpriced", refusedPrice},                // geth, reth
	{"underpriced", refusedPrice},                            // Erigon
	{"feetoolow", refusedPrice},                              // Nethermind, FeeTooLowToCompete too
	{"gas price below configured minimum", refusedPrice},     // Besu
	{"gas tip cap", refusedPrice},                            // geth: "gas tip cap 0, minimum needed 1"
	{"maxfeepergas", refusedPrice},                           // Nethermind, Hardhat
}

// readRefusal classifies a node's answer to a transaction.
func readRefusal(err error) refusal {
	if err == nil {
		return nodeHasIt
	}
	if !chain.IsAnswer(err) {
		return refusedUnknown // the text of a proxy is not that of the pool
	}
	text := strings.ToLower(err.Error())
	for _, dialect := range dialects {
		if strings.Contains(text, dialect.piece) {
			return dialect.means
		}
	}
	return refusedUnknown
}
