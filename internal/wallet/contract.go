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
	"github.com/ethereum/go-ethereum/common/lru"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts"
	"github.com/sortie-labs/sortie/contracts/bind/signaturevalidator"
)

// Caller runs an eth_call on the newest block of the funding chain: without `to`, so that data is
// run as creation code; with the given gas limit; with a `from` that is not the zero address. It
// returns the result of the code, or an error if the node gave no result. It ends when ctx does.
// The error is logged, so it must not contain a node's URL with its credentials.
type Caller func(ctx context.Context, data []byte, gas uint64) ([]byte, error)

const (
	// callGas is the gas of a check. The most expensive honest check deploys an account (a Safe or
	// an ERC-4337 account: 0.3 to 0.6 million) and verifies a passkey in Solidity (0.3 million);
	// 8 KiB of signature cost up to 0.35 million as data. A loop that burns all of it keeps a node
	// busy for about ten milliseconds. Nodes refuse more than 2^24.
	callGas = 3_000_000

	// callTimeout is short, because a client waits for the call.
	callTimeout = 3 * time.Second

	defaultMaxCalls    = 32
	defaultMaxVerdicts = 8192
)

// errUnavailable means that a signature could not be checked.
var errUnavailable = errors.New("contract wallet not checked")

// query is a check of a contract wallet: does it accept this signature of this digest?
type query struct {
	wallet    sortie.Address
	digest    sortie.Hash
	signature []byte
}

// queryID identifies a query. It is a cryptographic hash of all its fields, because a cached
// verdict authenticates a client.
type queryID [sha256.Size]byte

func (q query) id() queryID {
	hash := sha256.New()
	hash.Write(q.wallet[:])
	hash.Write(q.digest[:])
	hash.Write(q.signature) // last, because its length varies
	return queryID(hash.Sum(nil))
}

// dependsOnChain reports whether the next block may change the verdict from refused to accepted: an
// empty signature means that the wallet approved the digest on chain (Safe's SignMessageLib). Such
// a refusal is not cached.
func (q query) dependsOnChain() bool { return len(q.signature) == 0 }

var validator = signaturevalidator.NewSignatureValidator()

// callData returns the validator's creation code followed by the query.
func (q query) callData() []byte {
	return contracts.SignatureValidator.CreateWith(validator.PackConstructor(common.Address(q.wallet), q.digest, q.signature))
}

// verdict is the validator's result: the bits of SignatureValidator.sol.
type verdict byte

const (
	refused  verdict = 0
	accepted verdict = 1 << 0 // the account's code accepts the signature
	// delegated marks a key's account with delegated code (EIP-7702). The delegate decides what its
	// code accepts.
	delegated verdict = 1 << 1

	allVerdicts = accepted | delegated
)

// contractChecks checks signatures of contract wallets. Equal queries share one call, and the
// number of concurrent calls is bounded.
type contractChecks struct {
	call     Caller
	maxCalls int

	calls, remembered atomic.Uint64

	mu       sync.Mutex
	running  map[queryID]*check // at most maxCalls
	verdicts lru.BasicLRU[queryID, verdict]
}

// check is a running query. verdict and err are set before done is closed.
type check struct {
	done    chan struct{}
	verdict verdict
	err     error
}

// decided are finished checks, by verdict.
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
		running:  make(map[queryID]*check),
		verdicts: lru.NewBasicLRU[queryID, verdict](maxVerdicts),
	}
}

// check returns the verdict of a query. It calls allow before the query causes a call. It fails
// with errUnavailable if there is no verdict.
//
// The cache does not expire: the clock window is checked before, so that the verdict of an expired
// signature is never read.
func (c *contractChecks) check(ctx context.Context, q query, allow func() error) (verdict, error) {
	if c.call == nil {
		return refused, fmt.Errorf("%w: no node is configured", errUnavailable)
	}
	id := q.id()
	current := c.find(id)
	if current == nil {
		// Called without the lock, and before the check is shared: a refusal concerns this client
		// only.
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

// find returns the finished or running check of a query, or nil.
func (c *contractChecks) find(id queryID) *check {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findLocked(id)
}

func (c *contractChecks) findLocked(id queryID) *check {
	if known, found := c.verdicts.Get(id); found {
		return decided[known]
	}
	return c.running[id]
}

// findOrBegin returns the check of a query, and whether the caller has to run it. It returns nil if
// maxCalls checks are running.
func (c *contractChecks) findOrBegin(id queryID) (current *check, mine bool) {
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

// run makes the call. It continues when its client disconnects, because others may wait for it, and
// because a client that disconnects must not get another call for free.
func (c *contractChecks) run(ctx context.Context, id queryID, current *check, q query) {
	defer func() { // also after a panic: other clients may wait
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, id)
		if current.err == nil && (current.verdict&accepted != 0 || !q.dependsOnChain()) {
			c.verdicts.Add(id, current.verdict)
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

// parseVerdict parses the validator's result. It refuses everything but a word of the known bits.
func parseVerdict(answer []byte) (verdict, error) {
	if len(answer) == 32 && [31]byte(answer[:31]) == [31]byte{} && verdict(answer[31]) <= allVerdicts {
		return verdict(answer[31]), nil
	}
	return refused, fmt.Errorf("%w: the node returned %d bytes, %.40x, want a word from 0 to %d", errUnavailable, len(answer), answer, allVerdicts)
}
