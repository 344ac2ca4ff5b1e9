package follower

import (
	"context"
	"errors"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// keysAtOnce is the number of missions in one request.
const keysAtOnce = 48

// prove verifies fundings and closings with a node. It returns nil, or what is wrong, for each.
func (f *Follower) prove(ctx context.Context, node *chain.Node, events []*onchain.Event) ([]error, error) {
	seen := make(map[sortie.Hash]bool, len(events))
	var transactions []sortie.Hash
	for _, event := range events {
		if !seen[event.Transaction] {
			seen[event.Transaction] = true
			transactions = append(transactions, event.Transaction)
		}
	}
	readings, err := node.Receipts(ctx, transactions)
	if err != nil {
		return nil, err
	}
	verdicts := make([]error, len(events))
	var without []int // events without a readable receipt
	for i, event := range events {
		reading := readings[event.Transaction]
		switch {
		case errors.Is(reading.Err, chain.ErrReceiptTooLarge):
			without = append(without, i)
		case reading.Err != nil:
			verdicts[i] = reading.Err
		default:
			verdicts[i] = reading.Receipt.CheckEvent(event)
		}
	}
	return verdicts, f.proveByKey(ctx, node, events, without, verdicts)
}

// proveByKey verifies events without a receipt by their logs and the contract's state.
func (f *Follower) proveByKey(ctx context.Context, node *chain.Node, events []*onchain.Event, which []int, verdicts []error) error {
	for len(which) > 0 {
		first, end := events[which[0]], 1
		for end < min(len(which), keysAtOnce) && inOneFilter(first, events[which[end]]) {
			end++
		}
		part := make([]*onchain.Event, end)
		calls := make([]chain.Call, 1, 1+end)
		for at, i := range which[:end] {
			part[at] = events[i]
			calls = append(calls, chain.MissionCall(events[i].Factory, events[i].MissionKey, chain.TagLatest))
		}
		calls[0] = chain.MissionLogsCall(part)
		replies, err := f.ask(ctx, node, calls)
		if err != nil {
			return err
		}
		logs, err := replies[0].LogsByKey()
		for at, i := range which[:end] {
			verdicts[i] = err
			if err == nil {
				verdicts[i] = errors.Join(chain.CheckLogged(part[at], logs), replies[1+at].CheckMission(part[at]))
			}
		}
		which = which[end:]
	}
	return nil
}

// inOneFilter reports whether one request can read the logs of two events.
func inOneFilter(a, b *onchain.Event) bool {
	return a.BlockHash == b.BlockHash && a.Factory == b.Factory && a.Kind == b.Kind
}
