package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// A funding or a closing is proved by the receipt of its transaction. The sender of the transaction
// decides how large that is: it may hold any number of events of ours and of foreign logs, which
// cost the node as much as us. So a receipt is asked for once, however many events it has, and only
// where the transaction's gas bounds its size. In place of the others the node is asked for the
// logs with the missions' keys and for the missions themselves, whose sizes the contract bounds.

const (
	maxReceiptGas      = 1_200_000 // of a transaction; a log takes 375, so that there are at most 3,200 of them
	maxReceiptBytes    = 3 << 19   // of one answer with receipts or transactions
	receiptsAtOnce     = 16        // in one request
	keysAtOnce         = 48        // in one request
	maxHeavyRemembered = 4096      // transactions of one node
)

// heavyReceipts are the transactions whose receipts a node could not give within the limits. They
// are not asked for again.
type heavyReceipts struct {
	mutex  sync.Mutex
	hashes map[sortie.Hash]bool
}

func (h *heavyReceipts) has(transaction sortie.Hash) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.hashes[transaction]
}

func (h *heavyReceipts) add(transaction sortie.Hash) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.hashes == nil || len(h.hashes) >= maxHeavyRemembered {
		h.hashes = make(map[sortie.Hash]bool)
	}
	h.hashes[transaction] = true
}

// errHeavy says that a node does not give a receipt within the limits.
var errHeavy = errors.New("the receipt is too large to read")

// receiptReading is a receipt, or why there is none: errHeavy, or what the node said.
type receiptReading struct {
	receipt *receipt
	err     error
}

// receiptsOf reads the receipts of transactions. It fails when the node cannot be asked; a single
// receipt that cannot be had is in the result.
func (n *Node) receiptsOf(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]receiptReading, error) {
	readings := make(map[sortie.Hash]receiptReading, len(transactions))
	var light []sortie.Hash
	for _, transaction := range transactions {
		if n.heavy.has(transaction) {
			readings[transaction] = receiptReading{err: errHeavy}
		} else {
			light = append(light, transaction)
		}
	}
	var mutex sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelBatches)
	for part := range slices.Chunk(light, receiptsAtOnce) {
		group.Go(func() error {
			some, err := n.readLightReceipts(ctx, part)
			mutex.Lock()
			defer mutex.Unlock()
			maps.Copy(readings, some)
			return err
		})
	}
	return readings, group.Wait()
}

// readLightReceipts reads the receipts of those transactions whose gas bounds their size.
func (n *Node) readLightReceipts(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]receiptReading, error) {
	calls := make([]call, len(transactions))
	for i, transaction := range transactions {
		calls[i] = call{"eth_getTransactionByHash", `["` + transaction.String() + `"]`}
	}
	replies, err := n.batchWithin(ctx, calls, maxReceiptBytes)
	if err != nil {
		return nil, err
	}
	var light []sortie.Hash
	for i, transaction := range transactions {
		if gas, known := replies[i].gas(); known && gas > maxReceiptGas || tooLarge(replies[i].err) {
			n.heavy.add(transaction)
		} else {
			light = append(light, transaction)
		}
	}
	readings := make(map[sortie.Hash]receiptReading, len(transactions))
	if len(light) > 0 {
		if readings, err = n.readReceipts(ctx, light); err != nil {
			return nil, err
		}
	}
	for _, transaction := range transactions {
		if _, read := readings[transaction]; !read {
			readings[transaction] = receiptReading{err: errHeavy}
		}
	}
	return readings, nil
}

// gas reads the most gas that a transaction may use. A node that does not say it is asked for the
// receipt all the same.
func (r reply) gas() (gas uint64, known bool) {
	text, err := r.value()
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

// readReceipts reads receipts in one request, or one by one when the node does not answer that: any
// of them may be the reason.
func (n *Node) readReceipts(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]receiptReading, error) {
	calls := make([]call, len(transactions))
	for i, transaction := range transactions {
		calls[i] = receiptCall(transaction)
	}
	readings := make(map[sortie.Hash]receiptReading, len(transactions))
	replies, err := n.batchWithin(ctx, calls, maxReceiptBytes)
	switch {
	case err == nil:
		for i, transaction := range transactions {
			readings[transaction] = n.readReceipt(transaction, replies[i])
		}
		return readings, nil
	case isAway(err) || ctx.Err() != nil:
		return nil, err
	case len(transactions) == 1:
		if timedOut(err) {
			n.heavy.add(transactions[0])
		}
		return map[sortie.Hash]receiptReading{transactions[0]: {err: errHeavy}}, nil
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

func (n *Node) readReceipt(transaction sortie.Hash, r reply) receiptReading {
	if tooLarge(r.err) {
		n.heavy.add(transaction)
	}
	if r.err != nil {
		return receiptReading{err: errHeavy} // a refusal, whatever it says
	}
	one, err := r.receipt()
	return receiptReading{one, err}
}

func timedOut(err error) bool {
	var slow net.Error
	return errors.As(err, &slow) && slow.Timeout()
}

// isAway reports whether a node could not be asked at all, or wants to be asked less often.
func isAway(err error) bool {
	var dialling *net.OpError
	var status statusError
	return errors.As(err, &dialling) && dialling.Op == "dial" || errors.As(err, &status) && status == http.StatusTooManyRequests
}

// prove asks a node for proof of fundings and closings. For each it gives nil, or what is wrong
// with the node's answer.
func (f *Follower) prove(ctx context.Context, node *Node, events []*store.ChainEvent) ([]error, error) {
	seen := make(map[sortie.Hash]bool, len(events))
	var transactions []sortie.Hash
	for _, event := range events {
		if !seen[event.Transaction] {
			seen[event.Transaction] = true
			transactions = append(transactions, event.Transaction)
		}
	}
	readings, err := node.receiptsOf(ctx, transactions)
	if err != nil {
		return nil, err
	}
	verdicts := make([]error, len(events))
	var without []int // a receipt that can be read
	for i, event := range events {
		reading := readings[event.Transaction]
		switch {
		case errors.Is(reading.err, errHeavy):
			without = append(without, i)
		case reading.err != nil:
			verdicts[i] = reading.err
		default:
			verdicts[i] = reading.receipt.hasEvent(event)
		}
	}
	return verdicts, f.proveByKey(ctx, node, events, without, verdicts)
}

// proveByKey looks at the logs of events and at the contract's state, where there is no receipt to
// read.
func (f *Follower) proveByKey(ctx context.Context, node *Node, events []*store.ChainEvent, which []int, verdicts []error) error {
	for len(which) > 0 {
		first, end := events[which[0]], 1
		for end < min(len(which), keysAtOnce) && inOneFilter(first, events[which[end]]) {
			end++
		}
		part := make([]*store.ChainEvent, end)
		calls := make([]call, 1, 1+end)
		for at, i := range which[:end] {
			part[at] = events[i]
			calls = append(calls, missionCall(events[i].Factory, events[i].MissionKey, tagLatest))
		}
		calls[0] = keyedLogsCall(part)
		replies, err := f.ask(ctx, node, calls)
		if err != nil {
			return err
		}
		logs, err := replies[0].logsByKey()
		for at, i := range which[:end] {
			verdicts[i] = err
			if err == nil {
				verdicts[i] = errors.Join(isLogged(part[at], logs), replies[1+at].holds(part[at]))
			}
		}
		which = which[end:]
	}
	return nil
}

// inOneFilter reports whether the logs of two events can be asked for together.
func inOneFilter(a, b *store.ChainEvent) bool {
	return a.BlockHash == b.BlockHash && a.Factory == b.Factory && a.Kind == b.Kind
}

// keyedLogsCall asks for the logs of fundings, or of closings, of one block. There is one of each
// mission.
func keyedLogsCall(events []*store.ChainEvent) call {
	topic := topicMissionFunded
	if events[0].Kind == store.EventMissionClosed {
		topic = topicMissionClosed
	}
	keys := make([]sortie.Hash, len(events))
	for i, event := range events {
		keys[i] = event.MissionKey
	}
	one := newSieve([]sortie.Address{events[0].Factory})
	one.only(topic, keys...)
	return one.blockCall(events[0].BlockHash)
}

// logsByKey reads a reply to a keyedLogsCall.
func (r reply) logsByKey() (map[sortie.Hash][]store.ChainEvent, error) {
	logs, err := r.value()
	if err != nil {
		return nil, err
	}
	found, err := knownEvents(logs)
	byKey := make(map[sortie.Hash][]store.ChainEvent, len(found))
	for _, event := range found {
		byKey[event.MissionKey] = append(byKey[event.MissionKey], event)
	}
	return byKey, err
}

// isLogged refuses logs that do not have exactly this event of its mission.
func isLogged(event *store.ChainEvent, logs map[sortie.Hash][]store.ChainEvent) error {
	if found := logs[event.MissionKey]; len(found) != 1 || !same(event, &found[0]) {
		return badAnswer("the block has no such log")
	}
	return nil
}

// holds reads a reply to a missionCall and refuses a mission of which the event does not tell.
func (r reply) holds(event *store.ChainEvent) error {
	m, err := r.mission()
	if err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	if funded := event.Funded; funded != nil {
		if m.creator != funded.Creator || m.token != funded.Token || m.reward.ToBig().Cmp(funded.Reward) != 0 ||
			!funded.TargetCount.IsUint64() || m.targetCount != funded.TargetCount.Uint64() || m.reclaimAfter != funded.ReclaimAfter {
			return badAnswer("the contract holds something else")
		}
	}
	if closed := event.Closed; closed != nil && m.closed != closed.Reason {
		return badAnswer("the contract holds the mission as it is")
	}
	return nil
}
