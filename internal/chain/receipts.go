package chain

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"math/big"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/params"
	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// A funding or a closing is proved by the receipt of its transaction. The sender of the transaction
// decides how large the receipt is: it may have any number of events and of foreign logs. So a
// receipt is read once, and only if the transaction's gas bounds its size. For other transactions
// the node is asked for the logs with the missions' keys and for the missions, whose sizes the
// contract bounds.

const (
	maxReceiptGas    = 1_200_000 // of a transaction; a log costs 375, so there are at most 3,200
	maxReceiptBytes  = 3 << 19   // of one answer with receipts or transactions
	receiptsAtOnce   = 16        // in one request
	maxLargeReceipts = 4096      // for one node
)

// largeReceipts are the transactions whose receipts exceeded the limits. They are not requested
// again.
type largeReceipts struct {
	mutex  sync.Mutex
	hashes map[sortie.Hash]bool
}

func (h *largeReceipts) has(transaction sortie.Hash) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.hashes[transaction]
}

func (h *largeReceipts) add(transaction sortie.Hash) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.hashes == nil || len(h.hashes) >= maxLargeReceipts {
		h.hashes = make(map[sortie.Hash]bool)
	}
	h.hashes[transaction] = true
}

// ErrReceiptTooLarge says that a receipt exceeds the limits.
var ErrReceiptTooLarge = errors.New("the receipt is too large to read")

// ReceiptResult is a receipt, or an error: [ErrReceiptTooLarge], or that of the node.
type ReceiptResult struct {
	Receipt *Receipt
	Err     error
}

// Receipt is the result of a transaction.
type Receipt struct {
	transaction sortie.Hash
	blockHash   sortie.Hash
	block       uint64
	succeeded   bool
	events      []onchain.Event // of the followed kinds, of any contract
	byKey       map[sortie.Hash][]int

	// In wei; nil if the node does not report them. l1Fee is the fee of a rollup for its data.
	gasUsed, gasPrice, l1Fee *big.Int
}

// cost is the cost of the transaction in gwei, 0 if it is not known.
func (one *Receipt) cost() uint64 {
	if one.gasUsed == nil || one.gasPrice == nil {
		return 0
	}
	cost := new(big.Int).Mul(one.gasUsed, one.gasPrice)
	if one.l1Fee != nil {
		cost.Add(cost, one.l1Fee)
	}
	if cost.Div(cost, big.NewInt(params.GWei)); !cost.IsUint64() {
		return math.MaxUint64
	}
	return cost.Uint64()
}

func receiptCall(transaction sortie.Hash) Call {
	return Call{"eth_getTransactionReceipt", `["` + transaction.String() + `"]`}
}

// receipt decodes a reply to a receiptCall.
func (r Reply) receipt() (*Receipt, error) {
	text, err := r.Value()
	if err != nil {
		return nil, err
	}
	const transaction, blockHash, block, status, logs, all = 1, 2, 4, 8, 16, 31
	found := 0
	one := new(Receipt)
	err = eachMember(text, func(name, value []byte) (err error) {
		member := 0
		switch string(name) {
		case "transactionHash":
			member = transaction
			err = fixedBytes(one.transaction[:], value)
		case "blockHash":
			member = blockHash
			err = fixedBytes(one.blockHash[:], value)
		case "blockNumber":
			member = block
			one.block, err = quantity(value)
		case "status":
			member = status
			one.succeeded = bytes.Equal(value, []byte(`"0x1"`))
		case "logs":
			member = logs
			one.events, err = knownEvents(value)
		case "gasUsed":
			one.gasUsed, _ = wei(value)
		case "effectiveGasPrice":
			one.gasPrice, _ = wei(value)
		case "l1Fee":
			one.l1Fee, _ = wei(value)
		}
		if found&member != 0 {
			return BadAnswer("a receipt that names its %s twice", name)
		}
		found |= member
		return err
	})
	if err == nil && found != all {
		err = BadAnswer("a receipt that lacks one of its members")
	}
	one.byKey = make(map[sortie.Hash][]int, len(one.events))
	for i := range one.events {
		key := one.events[i].MissionKey
		one.byKey[key] = append(one.byKey[key], i)
	}
	return one, err
}

// CheckEvent fails unless the receipt has exactly this event.
func (one *Receipt) CheckEvent(event *onchain.Event) error {
	switch {
	case one.transaction != event.Transaction:
		return BadAnswer("the receipt of another transaction")
	case one.blockHash != event.BlockHash || one.block != event.Block:
		return BadAnswer("the transaction is in another block")
	case !one.succeeded:
		return BadAnswer("the transaction failed")
	}
	for _, i := range one.byKey[event.MissionKey] {
		if same(event, &one.events[i]) {
			return nil
		}
	}
	return BadAnswer("the receipt has no such log")
}

// same compares two fundings or closings. The log index of a closing is not compared, because a
// mission closes once.
func same(a, b *onchain.Event) bool {
	if a.Block != b.Block || a.BlockHash != b.BlockHash || a.Transaction != b.Transaction || a.Factory != b.Factory || a.MissionKey != b.MissionKey {
		return false
	}
	switch {
	case a.Funded != nil && b.Funded != nil:
		x, y := a.Funded, b.Funded
		return a.LogIndex == b.LogIndex && x.MissionID == y.MissionID && x.Creator == y.Creator && x.Token == y.Token && x.Reward.Cmp(y.Reward) == 0 &&
			x.TargetCount.Cmp(y.TargetCount) == 0 && x.Nonce == y.Nonce && x.ReclaimAfter == y.ReclaimAfter
	case a.Closed != nil && b.Closed != nil:
		x, y := a.Closed, b.Closed
		return x.Refund.Cmp(y.Refund) == 0 && x.RefundDeferred == y.RefundDeferred && x.Reason == y.Reason
	}
	return false
}

// knownEvents decodes the logs of followed kinds. Other logs may have any shape.
func knownEvents(logs []byte) (events []onchain.Event, err error) {
	var l rawLog
	err = eachElement(logs, func(text []byte) (int, error) {
		length, err := l.parse(text)
		if err != nil {
			return 0, err
		}
		if event, known, err := l.event(); known && err == nil && !l.removed {
			events = append(events, event)
		}
		return length, nil
	})
	return events, err
}

// Receipts reads the receipts of transactions. It fails if the node does not answer; errors of
// single receipts are in the result.
func (n *Node) Receipts(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]ReceiptResult, error) {
	readings := make(map[sortie.Hash]ReceiptResult, len(transactions))
	var light []sortie.Hash
	for _, transaction := range transactions {
		if n.large.has(transaction) {
			readings[transaction] = ReceiptResult{Err: ErrReceiptTooLarge}
		} else {
			light = append(light, transaction)
		}
	}
	var mutex sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelBatches)
	for part := range slices.Chunk(light, receiptsAtOnce) {
		group.Go(func() error {
			some, err := n.readBoundedReceipts(ctx, part)
			mutex.Lock()
			defer mutex.Unlock()
			maps.Copy(readings, some)
			return err
		})
	}
	return readings, group.Wait()
}

// readBoundedReceipts reads the receipts of those transactions whose gas bounds their size.
func (n *Node) readBoundedReceipts(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]ReceiptResult, error) {
	calls := make([]Call, len(transactions))
	for i, transaction := range transactions {
		calls[i] = Call{"eth_getTransactionByHash", `["` + transaction.String() + `"]`}
	}
	replies, err := n.batchWithin(ctx, calls, maxReceiptBytes)
	if err != nil {
		return nil, err
	}
	var light []sortie.Hash
	for i, transaction := range transactions {
		if gas, known := replies[i].gas(); known && gas > maxReceiptGas || tooLarge(replies[i].Err) {
			n.large.add(transaction)
		} else {
			light = append(light, transaction)
		}
	}
	readings := make(map[sortie.Hash]ReceiptResult, len(transactions))
	if len(light) > 0 {
		if readings, err = n.readReceipts(ctx, light); err != nil {
			return nil, err
		}
	}
	for _, transaction := range transactions {
		if _, read := readings[transaction]; !read {
			readings[transaction] = ReceiptResult{Err: ErrReceiptTooLarge}
		}
	}
	return readings, nil
}

// gas decodes the gas limit of a transaction. If it is not known, the receipt is read anyway.
func (r Reply) gas() (gas uint64, known bool) {
	text, err := r.Value()
	if err != nil {
		return 0, false
	}
	err = eachMember(text, func(name, value []byte) (err error) {
		if string(name) == "gas" {
			gas, err = quantity(value)
			known = err == nil
		}
		return err
	})
	return gas, known && err == nil
}

// readReceipts reads receipts in one request, or one by one if that fails, because one of them may
// be the cause.
func (n *Node) readReceipts(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]ReceiptResult, error) {
	calls := make([]Call, len(transactions))
	for i, transaction := range transactions {
		calls[i] = receiptCall(transaction)
	}
	readings := make(map[sortie.Hash]ReceiptResult, len(transactions))
	replies, err := n.batchWithin(ctx, calls, maxReceiptBytes)
	switch {
	case err == nil:
		for i, transaction := range transactions {
			readings[transaction] = n.readReceipt(transaction, replies[i])
		}
		return readings, nil
	case IsAway(err) || ctx.Err() != nil:
		return nil, err
	case len(transactions) == 1:
		if timedOut(err) {
			n.large.add(transactions[0])
		}
		return map[sortie.Hash]ReceiptResult{transactions[0]: {Err: ErrReceiptTooLarge}}, nil
	}
	for i := range transactions {
		one, err := n.readReceipts(ctx, transactions[i:i+1])
		if err != nil {
			return nil, err
		}
		maps.Copy(readings, one)
	}
	return readings, nil
}

func (n *Node) readReceipt(transaction sortie.Hash, r Reply) ReceiptResult {
	if tooLarge(r.Err) {
		n.large.add(transaction)
	}
	if r.Err != nil {
		return ReceiptResult{Err: ErrReceiptTooLarge} // for any refusal
	}
	one, err := r.receipt()
	return ReceiptResult{one, err}
}

func timedOut(err error) bool {
	var slow net.Error
	return errors.As(err, &slow) && slow.Timeout()
}

// IsAway reports whether a node was not reached, or limits the rate of requests.
func IsAway(err error) bool {
	var dialling *net.OpError
	var status statusError
	return errors.As(err, &dialling) && dialling.Op == "dial" || errors.As(err, &status) && status == http.StatusTooManyRequests
}
