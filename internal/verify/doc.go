// Package verify decides about an uploaded submission: accepted, flagged for a person, or rejected,
// with the checks and the score that led to it.
//
// It owns the checks and their weights, the three modes (a person decides, the checks decide, a
// verifier program decides), and the contract with that program, which docs/verifier.md describes.
// Every verdict names the policy that made it.
//
// It fetches and stores nothing: the contents of the file, similar submissions and the times of the
// mission are arguments. It calls only the verifier program.
package verify
