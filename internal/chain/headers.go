package chain

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// maxCalls is how many calls go into one request. Providers differ in how many they take; all known
// ones take a hundred.
const maxCalls = 100

// header is what following needs of a block. Its hash is the node's word: chains differ in what
// they hash, so it cannot be computed here. What counts is that every header names the hash of the
// one before it.
type header struct {
	onchain.Block
	parent sortie.Hash
	bloom  types.Bloom
}

const (
	tagLatest    = "latest"
	tagFinalized = "finalized"
)

func hexNumber(number uint64) string { return "0x" + strconv.FormatUint(number, 16) }

// headerCall asks for a block without its transactions, by number or tag.
func headerCall(block string) call { return call{"eth_getBlockByNumber", `["` + block + `",false]`} }

// parseHeader reads a block. Every member that is read must be there, once.
func parseHeader(text []byte) (*header, error) {
	const number, hash, parent, timestamp, bloom, all = 1, 2, 4, 8, 16, 31
	h := new(header)
	found := 0
	err := eachMember(text, func(name, value []byte) (err error) {
		member := 0
		switch string(name) {
		case "number":
			member = number
			h.Number, err = quantity(value)
		case "hash":
			member = hash
			err = fixedBytes(h.Hash[:], value)
		case "parentHash":
			member = parent
			err = fixedBytes(h.parent[:], value)
		case "timestamp":
			member = timestamp
			var seconds uint64
			seconds, err = quantity(value)
			h.Time = time.Unix(int64(min(seconds, maxTimestamp)), 0).UTC()
		case "logsBloom":
			member = bloom
			err = fixedBytes(h.bloom[:], value)
		}
		if found&member != 0 {
			return badAnswer("a block that names its %s twice", name)
		}
		found |= member
		return err
	})
	if err == nil && found != all {
		err = badAnswer("a block without number, hash, parentHash, timestamp or logsBloom")
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// maxTimestamp is in the year 36812: beyond every plausible block, and inside of what databases
// hold.
const maxTimestamp = 1 << 40

// header reads a reply to a headerCall for a number.
func (r reply) header(number uint64) (*header, error) {
	h, err := r.anyHeader()
	if err != nil {
		return nil, fmt.Errorf("block %d: %w", number, err)
	}
	if h.Number != number {
		return nil, badAnswer("block %d instead of block %d", h.Number, number)
	}
	return h, nil
}

// anyHeader reads a reply to a headerCall for a tag.
func (r reply) anyHeader() (*header, error) {
	text, err := r.value()
	if err != nil {
		return nil, err
	}
	return parseHeader(text)
}

// parallelBatches is how many requests for headers are under way at once.
const parallelBatches = 4

// headers reads blocks by their numbers. It fails when the node lacks one.
func (n *Node) headers(ctx context.Context, numbers []uint64) ([]*header, error) {
	headers := make([]*header, len(numbers))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelBatches)
	for begin := 0; begin < len(numbers); begin += maxCalls {
		end := min(begin+maxCalls, len(numbers))
		group.Go(func() error { return n.readHeaders(ctx, numbers[begin:end], headers[begin:end]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return headers, nil
}

func (n *Node) readHeaders(ctx context.Context, numbers []uint64, headers []*header) error {
	calls := make([]call, len(numbers))
	for i, number := range numbers {
		calls[i] = headerCall(hexNumber(number))
	}
	replies, err := n.batch(ctx, calls)
	if err != nil {
		return err
	}
	for i, number := range numbers {
		if headers[i], err = replies[i].header(number); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}
