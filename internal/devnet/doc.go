// Package devnet is the development chain: an Ethereum node in this process, with the contracts
// deployed and the wallets of the well-known development mnemonic funded. `sortie dev`, the demo
// and the end-to-end tests run on it.
//
// It owns the chain's rules (fork list, block times, finality), its data directory, its JSON-RPC
// server, the development wallets, and [Deploy], which deploys the contracts on any chain.
//
// It is no production node: it has no peers, finality is a fixed number of blocks, and its keys are
// public. [Key] returns those keys for chain ids 1337 and 31337 only.
//
// # Block times
//
// A block timestamp counts whole seconds and must grow with every block, so a chain that makes a
// block for every transaction and another for every idle second runs ahead of the wall clock, and
// the deadlines of funding authorizations with it. The chain's clock therefore stays inside a
// window around the wall clock: at most 12 seconds late (a reader of a public chain sees heads as
// old as that), at most 2 seconds ahead. Inside the window a transaction is mined within
// milliseconds, with all others that arrived meanwhile. At its front edge blocks wait for the next
// second and take everything pending with them. While the clock is less than 6 seconds late, idle
// blocks are made a tenth later than the interval, which makes room for transactions. So a dozen
// transactions sent one after the other are mined at once each; after that, one block a second.
//
// # Durability
//
// A block reaches the disk, with its state and a note that it is the head, before any client can
// see it. After `kill -9` (or a power cut) the chain restarts with every block that was ever
// visible. A chain whose set-up was interrupted is rewound to its genesis and set up again: no
// client has seen it, because the RPC server starts last.
package devnet
