package wallet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts"
	"github.com/sortie-labs/sortie/contracts/bind/signaturevalidator"
)

// Caller runs an eth_call on the newest block of the funding chain: no `to`, so that data is run as
// creation code; the given gas limit; a `from` that is not the zero address. It returns what the
// code returned, ends when ctx does, and gives an error whenever the node gave no result. The error
// is for the log: it must not hold a node's URL with its credentials.
type Caller func(ctx context.Context, data []byte, gas uint64) ([]byte, error)

const (
	// callGas pays for a check. The dearest honest one deploys an account (a Safe or an ERC-4337
	// account: 0.3 to 0.6 million) and verifies a passkey in Solidity (0.3 million); 8 KiB of
	// signature cost up to 0.35 million as data. A loop that burns all of it keeps a node busy for
	// some ten milliseconds. Above 2^24 nodes refuse.
	callGas = 3_000_000

	// callTimeout is short: a client waits for it.
	callTimeout = 3 * time.Second

	defaultMaxCalls    = 32
	defaultMaxVerdicts = 8192
)

// errUnavailable says that a question was not decided.
var errUnavailable = errors.New("contract wallet not asked")

// question is what a contract wallet is asked: do you accept this signature of this hash?
type question struct {
	wallet    sortie.Address
	digest    sortie.Hash
	signature []byte
}

// questionID stands for a question. It is a cryptographic hash of the whole of it, because a
// remembered "yes" lets somebody in.
type questionID [sha256.Size]byte

func (q question) id() questionID {
	hash := sha256.New()
	hash.Write(q.wallet[:])
	hash.Write(q.digest[:])
	hash.Write(q.signature) // last, because its length varies
	return questionID(hash.Sum(nil))
}

// dependsOnChain reports a question whose answer may change from no to yes in the next block: with
// an empty signature the wallet is asked whether it has approved the digest on chain (Safe's
// SignMessageLib). A no to it is not remembered.
func (q question) dependsOnChain() bool { return len(q.signature) == 0 }

var validator = signaturevalidator.NewSignatureValidator()

// callData is the validator's creation code with the question behind it.
func (q question) callData() []byte {
	return contracts.SignatureValidator.CreateWith(validator.PackConstructor(common.Address(q.wallet), q.digest, q.signature))
}

// verdict is the validator's answer about a signature: the bits of SignatureValidator.sol.
type verdict byte

const (
	refused  verdict = 0
	accepted verdict = 1 << 0 // the account's code accepts the signature
	// delegated marks a key's account with delegated code (EIP-7702). Its code is whatever its
	// delegate says.
	delegated verdict = 1 << 1

	allVerdicts = accepted | delegated
)

// contractChecks asks contract wallets: each question once, a bounded number at a time.
type contractChecks struct {
	call     Caller
	maxCalls int

	calls, remembered atomic.Uint64

	mu       sync.Mutex
	running  map[questionID]*check // at most maxCalls
	verdicts verdicts
}

// check is one question on its way. verdict and err are set before done is closed and never after.
type check struct {
	done    chan struct{}
	verdict verdict
	err     error
}

// decided are the checks whose answer is remembered, by verdict.
var decided = func() (checks [allVerdicts + 1]*check) {
	done := make(chan struct{})
	close(done)
	for v := range checks {
		checks[v] = &check{done: done, verdict: verdict(v)}
	}
	return checks
}()

func newContractChecks(call Caller, maxCalls, maxVerdicts int) *contractChecks {
	if maxCalls == 0 {
		maxCalls = defaultMaxCalls
	}
	if maxVerdicts == 0 {
		maxVerdicts = defaultMaxVerdicts
	}
	return &contractChecks{
		call:     call,
		maxCalls: maxCalls,
		running:  make(map[questionID]*check),
		verdicts: newVerdicts(maxVerdicts),
	}
}

// ask answers a question. allow decides whether it may cost a call. An undecided question gives
// errUnavailable.
func (c *contractChecks) ask(ctx context.Context, q question, allow func() error) (verdict, error) {
	if c.call == nil {
		return refused, fmt.Errorf("%w: no node is configured", errUnavailable)
	}
	id := q.id()
	current := c.find(id)
	if current == nil {
		// Asked outside the lock, and before anything is shared: being turned away is about this
		// client alone.
		if err := allow(); err != nil {
			return refused, err
		}
		var mine bool
		if current, mine = c.findOrBegin(id); mine {
			c.run(ctx, id, current, q)
			return current.verdict, current.err
		}
	}
	if current == nil {
		return refused, fmt.Errorf("%w: %d calls are running already", errUnavailable, c.maxCalls)
	}
	c.remembered.Add(1)
	select {
	case <-current.done:
		return current.verdict, current.err
	case <-ctx.Done():
		return refused, fmt.Errorf("%w: %w", errUnavailable, ctx.Err())
	}
}

// find gives the decided or running check of a question, nil if there is none.
func (c *contractChecks) find(id questionID) *check {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findLocked(id)
}

func (c *contractChecks) findLocked(id questionID) *check {
	if known, found := c.verdicts.get(id); found {
		return decided[known]
	}
	return c.running[id]
}

// findOrBegin gives the check of a question, and whether the caller has to run it. Nil: too many
// run already.
func (c *contractChecks) findOrBegin(id questionID) (current *check, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if current := c.findLocked(id); current != nil {
		return current, false
	}
	if len(c.running) >= c.maxCalls {
		return nil, false
	}
	current = &check{done: make(chan struct{}), err: fmt.Errorf("%w: the call was abandoned", errUnavailable)}
	c.running[id] = current
	return current, true
}

// run makes the call. It goes on when its own client leaves, because others may wait for it, and
// because a client that leaves early should not get another call for free.
func (c *contractChecks) run(ctx context.Context, id questionID, current *check, q question) {
	defer func() { // deferred, so that a panic on the way leaves nobody waiting
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, id)
		if current.err == nil && (current.verdict&accepted != 0 || !q.dependsOnChain()) {
			c.verdicts.put(id, current.verdict)
		}
		close(current.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	c.calls.Add(1)
	answer, err := c.call(ctx, q.callData(), callGas)
	if err != nil {
		current.err = fmt.Errorf("%w: eth_call: %w", errUnavailable, err)
		return
	}
	current.verdict, current.err = parseVerdict(answer)
}

// parseVerdict reads the validator's answer. Anything but a word of the known bits did not come
// from the validator.
func parseVerdict(answer []byte) (verdict, error) {
	if len(answer) == 32 && [31]byte(answer[:31]) == [31]byte{} && verdict(answer[31]) <= allVerdicts {
		return verdict(answer[31]), nil
	}
	return refused, fmt.Errorf("%w: the node answered %d bytes, %.40x, want a word from 0 to %d", errUnavailable, len(answer), answer, allVerdicts)
}
