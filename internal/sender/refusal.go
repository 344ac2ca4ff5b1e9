package sender

import (
	"strings"

	"github.com/sortie-labs/sortie/internal/chain"
)

// refusal is why a node did not take a transaction. JSON-RPC has no codes for it, so it is read
// from the text, in the dialects of the nodes there are. Nothing is ever concluded from it about
// the chain, only about what to try next: whether a transaction was mined is asked of the chain.
type refusal int

const (
	nodeHasIt        refusal = iota // the node has the transaction: it took it now, or had it before
	refusedNonceUsed                // a transaction with this nonce is in a block
	refusedNonceGap                 // transactions with lower nonces are missing in the node's pool
	refusedReplacing                // the pool holds another transaction with this nonce, and this one pays too little more
	refusedPrice                    // it pays less than a block or the pool asks for
	refusedBalance                  // the account cannot pay the gas
	refusedUnknown                  // anything else, such as a full pool or a node that does not answer
)

// dialects are pieces of what nodes say, in lower case, the first that fits deciding: "replacement
// transaction underpriced" is no "transaction underpriced".
//
//   - geth, and most that follow its words: op-geth, bor, nitro, reth, newer Nethermind and Besu
//   - Erigon writes a gRPC status before them
//   - Nethermind names its enumeration
//   - Besu and OpenEthereum have sentences of their own
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

// readRefusal says what a node's answer to a transaction means.
func readRefusal(err error) refusal {
	if err == nil {
		return nodeHasIt
	}
	if !chain.IsAnswer(err) {
		return refusedUnknown // whatever the words of a proxy, it was not the pool that spoke
	}
	text := strings.ToLower(err.Error())
	for _, dialect := range dialects {
		if strings.Contains(text, dialect.piece) {
			return dialect.means
		}
	}
	return refusedUnknown
}
