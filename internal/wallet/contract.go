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

// Caller runs an eth_call on the newest block of the funding chain: no `to`, so that data is run as creation code; the
// given gas limit; a `from` that is not the zero address. It returns what the code returned, ends when ctx does, and gives
// an error whenever the node gave no result. The error is for the log: it must not hold a node's URL with its credentials.
type Caller func(ctx context.Context, data []byte, gas uint64) ([]byte, error)

const (
	// callGas pays for a check. The dearest honest one deploys an account (a Safe or an ERC-4337 account: 0.3 to 0.6
	// million) and verifies a passkey in Solidity (0.3 million); 8 KiB of signature cost up to 0.35 million as data. A loop
	// that burns all of it keeps a node busy for some ten milliseconds. Above 2^24 nodes refuse.
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

// questionID stands for a question. It is a cryptographic hash of the whole of it, because a remembered "yes" lets somebody in.
type questionID [sha256.Size]byte

func (q question) id() questionID {
	hash := sha256.New()
	hash.Write(q.wallet[:])
	hash.Write(q.digest[:])
	hash.Write(q.signature) // last, because its length varies
	return questionID(hash.Sum(nil))
}

// dependsOnChain reports a question whose answer may change from no to yes in the next block: with an empty signature the
// wallet is asked whether it has approved the digest on chain (Safe's SignMessageLib). A no to it is not remembered.
func (q question) dependsOnChain() bool { return len(q.signature) == 0 }

var validator = signaturevalidator.NewSignatureValidator()

// callData is the validator's creation code with the question behind it.
func (q question) callData() []byte {
	return contracts.SignatureValidator.CreateWith(validator.PackConstructor(common.Address(q.wallet), q.digest, q.signature))
}

// contractChecks asks contract wallets: each question once, a bounded number at a time.
type contractChecks struct {
	call     Caller
	maxCalls int

	calls, remembered atomic.Uint64

	mu       sync.Mutex
	running  map[questionID]*check // at most maxCalls
	verdicts verdicts
}

// check is one question on its way. valid and err are set before done is closed and never after.
type check struct {
	done  chan struct{}
	valid bool
	err   error
}

// decided are the checks whose answer is remembered: [0] is "no", [1] is "yes".
var decided = func() (checks [2]*check) {
	done := make(chan struct{})
	close(done)
	return [2]*check{{done: done}, {done: done, valid: true}}
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

// ask answers a question. allow decides whether it may cost a call. An undecided question gives errUnavailable.
func (c *contractChecks) ask(ctx context.Context, q question, allow func() error) (bool, error) {
	if c.call == nil {
		return false, fmt.Errorf("%w: no node is configured", errUnavailable)
	}
	id := q.id()
	current := c.find(id)
	if current == nil {
		// Asked outside the lock, and before anything is shared: being turned away is about this client alone.
		if err := allow(); err != nil {
			return false, err
		}
		var mine bool
		if current, mine = c.findOrBegin(id); mine {
			c.run(ctx, id, current, q)
			return current.valid, current.err
		}
	}
	if current == nil {
		return false, fmt.Errorf("%w: %d calls are running already", errUnavailable, c.maxCalls)
	}
	c.remembered.Add(1)
	select {
	case <-current.done:
		return current.valid, current.err
	case <-ctx.Done():
		return false, fmt.Errorf("%w: %w", errUnavailable, ctx.Err())
	}
}

// find gives the decided or running check of a question, nil if there is none.
func (c *contractChecks) find(id questionID) *check {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findLocked(id)
}

func (c *contractChecks) findLocked(id questionID) *check {
	if valid, known := c.verdicts.get(id); known {
		if valid {
			return decided[1]
		}
		return decided[0]
	}
	return c.running[id]
}

// findOrBegin gives the check of a question, and whether the caller has to run it. Nil: too many run already.
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

// run makes the call. It goes on when its own client leaves, because others may wait for it, and because a client that
// leaves early should not get another call for free.
func (c *contractChecks) run(ctx context.Context, id questionID, current *check, q question) {
	defer func() { // deferred, so that a panic on the way leaves nobody waiting
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, id)
		if current.err == nil && (current.valid || !q.dependsOnChain()) {
			c.verdicts.put(id, current.valid)
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
	current.valid, current.err = verdict(answer)
}

// verdict reads the validator's answer. Anything but the words 0 and 1 did not come from the validator.
func verdict(answer []byte) (valid bool, err error) {
	if len(answer) == 32 && [31]byte(answer[:31]) == [31]byte{} && answer[31] <= 1 {
		return answer[31] == 1, nil
	}
	return false, fmt.Errorf("%w: the node answered %d bytes, %.40x, want the word 0 or 1", errUnavailable, len(answer), answer)
}
