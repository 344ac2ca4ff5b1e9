// Package verify decides what becomes of an uploaded submission: accepted, flagged for a person, or
// rejected, with the checks and the score that say why.
//
// It owns the checks and their weights, the three modes (a person decides, the checks decide, a
// verifier program decides), and the contract with that program, which docs/verifier.md describes.
// Every verdict names the policy that made it, so that it can be told later which rules a
// submission was held against.
//
// It refuses to fetch anything: what the file holds, which submissions look like it and when the
// mission runs are arguments. It stores nothing, and whether a verdict still applies is decided by
// who asked for it. The only thing it talks to is the verifier.
package verify
