package devnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/rpc"
)

const (
	maxTopics       = 4
	maxAlternatives = 1000            // addresses, or topics at one position
	filterLife      = 5 * time.Minute // of a filter that is not polled
)

var errNoFilter = errors.New("filter not found")

// logFilter is what eth_getLogs and its relatives search for.
type logFilter struct {
	BlockHash *common.Hash
	FromBlock *rpc.BlockNumber
	ToBlock   *rpc.BlockNumber
	Addresses oneOrMore[common.Address]
	Topics    []oneOrMore[common.Hash]
}

// oneOrMore is a value, a list of alternatives, or null for any.
type oneOrMore[T comparable] []T

// UnmarshalJSON reads a value, a list or null. A null inside of a list allows any, too.
func (o *oneOrMore[T]) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		var one *T
		err := json.Unmarshal(data, &one)
		if one != nil {
			*o = oneOrMore[T]{*one}
		}
		return err
	}
	var many []*T
	if err := json.Unmarshal(data, &many); err != nil {
		return err
	}
	if len(many) > maxAlternatives {
		return invalidParams(fmt.Sprintf("%d alternatives; at most %d", len(many), maxAlternatives))
	}
	for _, one := range many {
		if one == nil {
			*o = nil
			return nil
		}
		*o = append(*o, *one)
	}
	return nil
}

func (o oneOrMore[T]) allows(value T) bool { return len(o) == 0 || slices.Contains(o, value) }

// UnmarshalJSON reads a filter.
func (f *logFilter) UnmarshalJSON(data []byte) error {
	var raw struct {
		BlockHash *common.Hash              `json:"blockHash"`
		FromBlock *rpc.BlockNumber          `json:"fromBlock"`
		ToBlock   *rpc.BlockNumber          `json:"toBlock"`
		Address   oneOrMore[common.Address] `json:"address"`
		Topics    []oneOrMore[common.Hash]  `json:"topics"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if raw.BlockHash != nil && (raw.FromBlock != nil || raw.ToBlock != nil) {
		return errors.New("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other")
	}
	if len(raw.Topics) > maxTopics {
		return errors.New("exceed max topics")
	}
	*f = logFilter{raw.BlockHash, raw.FromBlock, raw.ToBlock, raw.Address, raw.Topics}
	return nil
}

func (f *logFilter) matches(log *types.Log) bool {
	if !f.Addresses.allows(log.Address) || len(f.Topics) > len(log.Topics) {
		return false
	}
	for i, topics := range f.Topics {
		if !topics.allows(log.Topics[i]) {
			return false
		}
	}
	return true
}

// mayMatch reports whether a block with this bloom filter can hold a match.
func (f *logFilter) mayMatch(bloom types.Bloom) bool {
	may := len(f.Addresses) == 0 || slices.ContainsFunc(f.Addresses, func(address common.Address) bool { return types.BloomLookup(bloom, address) })
	for _, topics := range f.Topics {
		may = may && (len(topics) == 0 || slices.ContainsFunc(topics, func(topic common.Hash) bool { return types.BloomLookup(bloom, topic) }))
	}
	return may
}

// logMethods are the methods of eth that search logs, and its subscriptions.
type logMethods struct {
	node *node

	mu      sync.Mutex
	filters map[rpc.ID]*polled
}

// polled is a filter whose changes a client asks for.
type polled struct {
	usedAt time.Time
	logs   *logFilter // nil for a filter of blocks or of transactions
	next   uint64     // block
	last   uint64     // block that still belongs to it

	arrivals event.Subscription // of transactions; nil for the others
	full     bool
	pending  []*types.Transaction
}

// GetLogs answers eth_getLogs.
func (m *logMethods) GetLogs(ctx context.Context, filter logFilter) ([]*types.Log, error) {
	if filter.BlockHash != nil {
		header := m.node.chain.GetHeaderByHash(*filter.BlockHash)
		if header == nil {
			return nil, errors.New("unknown block")
		}
		return orEmpty(m.ofBlock(header, &filter)), nil
	}
	first, last, err := m.blockRange(ctx, &filter)
	if err != nil {
		return nil, err
	}
	return m.ofRange(ctx, first, last, &filter)
}

func (m *logMethods) blockRange(ctx context.Context, filter *logFilter) (first, last uint64, err error) {
	if first, err = m.resolve(ctx, filter.FromBlock); err != nil {
		return 0, 0, err
	}
	if last, err = m.resolve(ctx, filter.ToBlock); err != nil {
		return 0, 0, err
	}
	if first > last {
		return 0, 0, invalidParams("invalid block range params")
	}
	if last > m.node.chain.CurrentBlock().Number.Uint64() {
		return 0, 0, invalidParams("block range extends beyond current head block")
	}
	return first, last, nil
}

// resolve returns the number of a block; nil means the latest.
func (m *logMethods) resolve(ctx context.Context, block *rpc.BlockNumber) (uint64, error) {
	number := rpc.LatestBlockNumber
	if block != nil {
		number = *block
	}
	if number == rpc.PendingBlockNumber {
		return 0, invalidParams("pending logs are not supported")
	}
	if number >= 0 {
		return uint64(number), nil
	}
	header, err := m.node.HeaderByNumber(ctx, number)
	if err != nil {
		return 0, err
	}
	return header.Number.Uint64(), nil
}

func (m *logMethods) ofRange(ctx context.Context, first, last uint64, filter *logFilter) ([]*types.Log, error) {
	found := []*types.Log{}
	for number := first; number <= last; number++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if header := m.node.chain.GetHeaderByNumber(number); header != nil {
			found = append(found, m.ofBlock(header, filter)...)
		}
	}
	return found, nil
}

func (m *logMethods) ofBlock(header *types.Header, filter *logFilter) []*types.Log {
	if !filter.mayMatch(header.Bloom) {
		return nil
	}
	var found []*types.Log
	for _, receipt := range m.node.chain.GetReceiptsByHash(header.Hash()) {
		for _, log := range receipt.Logs {
			if filter.matches(log) {
				found = append(found, log)
			}
		}
	}
	return found
}

// NewFilter answers eth_newFilter. It reports logs of later blocks only.
func (m *logMethods) NewFilter(ctx context.Context, filter logFilter) (rpc.ID, error) {
	p := m.fromHead()
	p.logs = &filter
	if filter.FromBlock != nil && *filter.FromBlock >= 0 {
		p.next = max(p.next, uint64(*filter.FromBlock))
	}
	if filter.ToBlock != nil && *filter.ToBlock >= 0 {
		p.last = uint64(*filter.ToBlock)
	}
	if filter.FromBlock != nil && filter.ToBlock != nil && *filter.FromBlock >= 0 && *filter.ToBlock >= 0 && *filter.FromBlock > *filter.ToBlock {
		return "", invalidParams("invalid block range params")
	}
	return m.install(p), nil
}

// NewBlockFilter answers eth_newBlockFilter.
func (m *logMethods) NewBlockFilter() rpc.ID { return m.install(m.fromHead()) }

func (m *logMethods) fromHead() *polled {
	return &polled{next: m.node.chain.CurrentBlock().Number.Uint64() + 1, last: 1<<64 - 1}
}

// NewPendingTransactionFilter answers eth_newPendingTransactionFilter.
func (m *logMethods) NewPendingTransactionFilter(full *bool) rpc.ID {
	arrivals := make(chan core.NewTxsEvent, 128)
	p := &polled{arrivals: m.node.pool.SubscribeTransactions(arrivals, true), full: full != nil && *full}
	go func() {
		for {
			select {
			case arrived := <-arrivals:
				m.mu.Lock()
				p.pending = append(p.pending, arrived.Txs...)
				m.mu.Unlock()
			case <-p.arrivals.Err():
				return
			}
		}
	}()
	return m.install(p)
}

// install adds a filter and drops those that were not polled for a while.
func (m *logMethods) install(p *polled) rpc.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.filters == nil {
		m.filters = map[rpc.ID]*polled{}
	}
	for id, other := range m.filters {
		if time.Since(other.usedAt) > filterLife {
			m.drop(id)
		}
	}
	id := rpc.NewID()
	p.usedAt = time.Now()
	m.filters[id] = p
	return id
}

func (m *logMethods) drop(id rpc.ID) {
	if arrivals := m.filters[id].arrivals; arrivals != nil {
		arrivals.Unsubscribe()
	}
	delete(m.filters, id)
}

// UninstallFilter answers eth_uninstallFilter.
func (m *logMethods) UninstallFilter(id rpc.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.filters[id]
	if found {
		m.drop(id)
	}
	return found
}

// GetFilterLogs answers eth_getFilterLogs: every log that a filter of logs matches.
func (m *logMethods) GetFilterLogs(ctx context.Context, id rpc.ID) ([]*types.Log, error) {
	m.mu.Lock()
	p, found := m.filters[id]
	m.mu.Unlock()
	if !found || p.logs == nil {
		return nil, errNoFilter
	}
	return m.GetLogs(ctx, *p.logs)
}

// GetFilterChanges answers eth_getFilterChanges: what is new since the last poll.
func (m *logMethods) GetFilterChanges(ctx context.Context, id rpc.ID) (any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, found := m.filters[id]
	if !found {
		return nil, errNoFilter
	}
	p.usedAt = time.Now()
	if p.arrivals != nil {
		return m.arrived(p), nil
	}
	first, last := p.next, min(p.last, m.node.chain.CurrentBlock().Number.Uint64())
	p.next = max(p.next, last+1)
	if p.logs != nil {
		return m.ofRange(ctx, first, last, p.logs)
	}
	hashes := []common.Hash{}
	for number := first; number <= last; number++ {
		hashes = append(hashes, m.node.chain.GetCanonicalHash(number))
	}
	return hashes, nil
}

func (m *logMethods) arrived(p *polled) []any {
	list := make([]any, len(p.pending))
	for i, tx := range p.pending {
		list[i] = m.pendingObject(tx, p.full)
	}
	p.pending = nil
	return list
}

func (m *logMethods) pendingObject(tx *types.Transaction, full bool) any {
	if full {
		return transactionObject(tx, m.node.ChainConfig())
	}
	return tx.Hash()
}

// NewHeads is the subscription newHeads.
func (m *logMethods) NewHeads(ctx context.Context) (*rpc.Subscription, error) {
	return subscribe(ctx, m.node.chain.SubscribeChainEvent, func(event core.ChainEvent) []any { return []any{event.Header} })
}

// Logs is the subscription logs.
func (m *logMethods) Logs(ctx context.Context, filter logFilter) (*rpc.Subscription, error) {
	return subscribe(ctx, m.node.chain.SubscribeLogsEvent, func(logs []*types.Log) []any {
		var matching []any
		for _, log := range logs {
			if filter.matches(log) {
				matching = append(matching, log)
			}
		}
		return matching
	})
}

// NewPendingTransactions is the subscription newPendingTransactions.
func (m *logMethods) NewPendingTransactions(ctx context.Context, full *bool) (*rpc.Subscription, error) {
	arrivals := func(events chan<- core.NewTxsEvent) event.Subscription {
		return m.node.pool.SubscribeTransactions(events, true)
	}
	return subscribe(ctx, arrivals, func(arrived core.NewTxsEvent) []any {
		list := make([]any, len(arrived.Txs))
		for i, tx := range arrived.Txs {
			list[i] = m.pendingObject(tx, full != nil && *full)
		}
		return list
	})
}

// subscribe sends the notifications of every event to the client until the client disconnects or
// the chain stops.
func subscribe[E any](ctx context.Context, source func(chan<- E) event.Subscription, notes func(E) []any) (*rpc.Subscription, error) {
	notifier, supported := rpc.NotifierFromContext(ctx)
	if !supported {
		return nil, rpc.ErrNotificationsUnsupported
	}
	subscription, events := notifier.CreateSubscription(), make(chan E, 128)
	feed := source(events)
	go func() {
		defer feed.Unsubscribe()
		for {
			select {
			case event := <-events:
				for _, note := range notes(event) {
					_ = notifier.Notify(subscription.ID, note) // a client that has left ends the subscription
				}
			case <-subscription.Err():
				return
			case <-feed.Err():
				return
			}
		}
	}()
	return subscription, nil
}
