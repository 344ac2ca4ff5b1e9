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

// MaxCalls is the number of calls in one request. All known providers accept a hundred.
const MaxCalls = 100

// Header is a block without its transactions. Its hash cannot be verified, because chains hash
// different fields; instead every header must name its parent's hash.
type Header struct {
	onchain.Block
	Parent sortie.Hash
	bloom  types.Bloom
}

const (
	TagLatest    = "latest"
	TagFinalized = "finalized"
)

func HexNumber(number uint64) string { return "0x" + strconv.FormatUint(number, 16) }

// HeaderCall reads a block without its transactions, by number or tag.
func HeaderCall(block string) Call { return Call{"eth_getBlockByNumber", `["` + block + `",false]`} }

// parseHeader decodes a block. Each member must appear once.
func parseHeader(text []byte) (*Header, error) {
	const number, hash, parent, timestamp, bloom, all = 1, 2, 4, 8, 16, 31
	h := new(Header)
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
			err = fixedBytes(h.Parent[:], value)
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
			return BadAnswer("a block that names its %s twice", name)
		}
		found |= member
		return err
	})
	if err == nil && found != all {
		err = BadAnswer("a block without number, hash, parentHash, timestamp or logsBloom")
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// maxTimestamp is in the year 36812: later than any block, and within the range of the databases.
const maxTimestamp = 1 << 40

// Header decodes a reply to a [HeaderCall] with a number.
func (r Reply) Header(number uint64) (*Header, error) {
	h, err := r.AnyHeader()
	if err != nil {
		return nil, fmt.Errorf("block %d: %w", number, err)
	}
	if h.Number != number {
		return nil, BadAnswer("block %d instead of block %d", h.Number, number)
	}
	return h, nil
}

// AnyHeader decodes a reply to a [HeaderCall] with a tag.
func (r Reply) AnyHeader() (*Header, error) {
	text, err := r.Value()
	if err != nil {
		return nil, err
	}
	return parseHeader(text)
}

// parallelBatches is the number of concurrent requests for headers.
const parallelBatches = 4

// Headers reads blocks by number. It fails if the node lacks one.
func (n *Node) Headers(ctx context.Context, numbers []uint64) ([]*Header, error) {
	headers := make([]*Header, len(numbers))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelBatches)
	for begin := 0; begin < len(numbers); begin += MaxCalls {
		end := min(begin+MaxCalls, len(numbers))
		group.Go(func() error { return n.readHeaders(ctx, numbers[begin:end], headers[begin:end]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return headers, nil
}

func (n *Node) readHeaders(ctx context.Context, numbers []uint64, headers []*Header) error {
	calls := make([]Call, len(numbers))
	for i, number := range numbers {
		calls[i] = HeaderCall(HexNumber(number))
	}
	replies, err := n.Batch(ctx, calls)
	if err != nil {
		return err
	}
	for i, number := range numbers {
		if headers[i], err = replies[i].Header(number); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}
