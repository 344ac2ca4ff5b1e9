// Package wallet says which wallet signed a request. It rebuilds the text of package sortie's
// Request from exactly the characters on the wire, and accepts the signature of a plain key, of a
// deployed contract wallet (ERC-1271), of one that is not deployed yet (ERC-6492) and of the key of
// an account with delegated code (EIP-7702).
//
// # The order of checks, and why
//
// Shape and clock come first: they cost nothing and turn away most of what is wrong. Then the key
// is recovered from the signature; if it is the wallet's, the request is accepted and no node is
// asked, so a plain wallet keeps working while every node is down. Only what is left over costs an
// eth_call: it might be a contract wallet.
//
// An account with delegated code (EIP-7702) is both a key and a contract. Its key is tried first,
// because the key can replace the code at any time and so always has the last word. Its code is
// whatever its delegate says: people delegate to get batches or sponsored gas, and a delegate that
// accepts every signature would open their account to everyone. So only the key counts, unless the
// operator allows delegates (Config.AllowDelegated). The same eth_call that would ask the code
// reports that it is delegated; an ERC-6492 wrapper does not change that.
//
// # What an attacker can buy
//
// Contract code is foreign code run on our node. One check has a gas cap, three seconds and one
// word of answer; there is a bound on checks at a time, beyond which a check fails at once instead
// of waiting; equal checks share one call; and each verdict is remembered while its signature is
// inside the clock window. The caller of [Verifier.Verify] decides who may cause a call at all. The
// validator runs in a simulation, so an ERC-6492 wrapper may call whatever it likes: nothing it
// does is ever sent.
//
// A node that fails, hangs or talks nonsense is never held against the wallet: that is "try again",
// not "wrong signature", and it is not remembered.
//
// # What it refuses to do
//
// It reads no body, writes no answer, limits no rate, keeps no record of used signatures and knows
// no node: the eth_call is given to it. It does not look at X-Forwarded headers. Signatures of
// reads may repeat inside the clock window; a write that is not idempotent by itself keeps
// [Identity].Digest.
package wallet
