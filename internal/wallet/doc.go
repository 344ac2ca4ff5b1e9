// Package wallet verifies which wallet signed a request. It rebuilds the text of package sortie's
// Request from the exact characters on the wire, and accepts the signature of a plain key, of a
// deployed contract wallet (ERC-1271), of a contract wallet that is not deployed yet (ERC-6492) and
// of the key of an account with delegated code (EIP-7702).
//
// # Order of checks
//
// Form and clock are checked first, because that costs nothing. Then the key is recovered from the
// signature. If it is the wallet's key, the request is accepted without a node, so plain wallets
// work while all nodes are down. Every other signature costs an eth_call, because it may be that of
// a contract wallet.
//
// An account with delegated code (EIP-7702) is both a key and a contract. Its key is tried first:
// the key can replace the code at any time. The delegate decides what the code accepts; a delegate
// that accepts every signature would open the account to everyone. So only the key counts, unless
// the operator allows delegates (Config.AllowDelegated). The validator reports in the same eth_call
// that code is delegated, also inside an ERC-6492 wrapper.
//
// # Bounds
//
// Contract code is foreign code that runs on our node. One check has a gas limit, three seconds and
// a result of one word. The number of concurrent checks is bounded; above the bound a check fails
// at once. Equal checks share one call, and a verdict is cached while its signature is inside the
// clock window. The caller of [Verifier.Verify] decides which clients may cause a call. The
// validator runs in a simulation: nothing that an ERC-6492 wrapper calls is ever sent.
//
// An error of a node never counts against the wallet: the client may try again, and the error is
// not cached.
//
// # Limits of the package
//
// It reads no body, writes no answer, limits no rate, stores no used signatures and knows no node:
// it is given the eth_call. It ignores X-Forwarded headers. Signatures of reads may be repeated
// inside the clock window; a write that is not idempotent stores [Identity].Digest.
package wallet
