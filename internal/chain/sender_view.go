package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

const (
	receiptBatch = 100
	// tolerableLag is by how many blocks a node may be behind another and still be preferred to it by the order of the
	// configuration.
	tolerableLag = 2
)

// defaultTip is offered where no node suggests one.
var defaultTip = big.NewInt(params.GWei)

// view is the chain as one node has it. The nonce and the balance are those at the head, not at whatever the node has by the
// time it is asked: a balanced endpoint may answer from another machine, which knows a different newest block.
type view struct {
	node    *Node
	head    headBlock
	market  market
	nonce   uint64 // of the next transaction: all below are used
	balance *big.Int
}

// headBlock is what the sender reads of a block. The hash is the node's word: chains that extend the header hash it their way.
type headBlock struct {
	Number  hexutil.Uint64 `json:"number"`
	Hash    common.Hash    `json:"hash"`
	BaseFee *hexutil.Big   `json:"baseFeePerGas"`
}

// look takes the view of the first node that can tell what became of the transactions under way, those that are behind asked
// last. A node that has not even reached the final block is not asked: to it, nonces that are used up seem free.
func (s *Sender) look(ctx context.Context, r *round) error {
	candidates, tip, failures := s.candidates(ctx)
	final := s.config.Final()
	for _, candidate := range candidates {
		node, head := candidate.node, candidate.value.head
		if uint64(head.Number) < final {
			failures = append(failures, fmt.Errorf("%s: it is at block %d, and block %d is final", node.Name(), head.Number, final))
			continue
		}
		var err error
		if r.view, err = node.viewOf(ctx, s.address, head); err == nil {
			r.view.market = market{base: head.BaseFee.ToInt(), tip: tip}
			err = s.findOutcomes(ctx, r)
		}
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return fmt.Errorf("look at the chain: %w", errors.Join(append([]error{ErrUnreachable}, failures...)...))
}

// headAndTip is a node's newest block and the tip it suggests, nil when it suggests none.
type headAndTip struct {
	head headBlock
	tip  *big.Int
}

// candidates are the nodes that answer, in the order of the configuration, but those that are behind the newest come last. Of
// the tips they suggest the lowest counts: a node alone can make us slow, but not poor.
func (s *Sender) candidates(ctx context.Context) (candidates []vote[headAndTip], tip *big.Int, failures []error) {
	var newest hexutil.Uint64
	for _, answer := range poll(ctx, s.config.Nodes, func(ctx context.Context, node *Node) (headAndTip, error) { return node.headAndTip(ctx) }) {
		if answer.err != nil {
			failures = append(failures, answer.err)
			continue
		}
		candidates = append(candidates, answer)
		newest = max(newest, answer.value.head.Number)
		if suggested := answer.value.tip; suggested != nil && (tip == nil || suggested.Cmp(tip) < 0) {
			tip = suggested
		}
	}
	if tip == nil {
		tip = defaultTip
	}
	slices.SortStableFunc(candidates, func(a, b vote[headAndTip]) int {
		aBehind, bBehind := a.value.head.Number+tolerableLag < newest, b.value.head.Number+tolerableLag < newest
		switch {
		case aBehind == bBehind:
			return 0
		case aBehind:
			return 1
		}
		return -1
	})
	return candidates, tip, failures
}

func (n *Node) headAndTip(ctx context.Context) (headAndTip, error) {
	var head headBlock
	var tip hexutil.Big
	batch := []rpc.BatchElem{
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &head},
		{Method: "eth_maxPriorityFeePerGas", Result: &tip},
	}
	if err := n.Client.Client().BatchCallContext(ctx, batch); err != nil {
		return headAndTip{}, n.redact(err)
	}
	switch {
	case batch[0].Error != nil:
		return headAndTip{}, n.redact(batch[0].Error)
	case head.Hash == common.Hash{}:
		return headAndTip{}, n.redact(errors.New("it has no newest block"))
	case head.BaseFee == nil:
		return headAndTip{}, n.redact(errors.New("its blocks have no base fee: its rules are older than the contracts need (Cancun)"))
	case batch[1].Error != nil:
		return headAndTip{head, nil}, nil // some nodes do not suggest tips
	}
	return headAndTip{head, tip.ToInt()}, nil
}

func (n *Node) viewOf(ctx context.Context, account common.Address, head headBlock) (view, error) {
	nonce, err := n.NonceAtHash(ctx, account, head.Hash)
	if err != nil {
		return view{}, n.redact(fmt.Errorf("read the nonce of %s: %w", account, err))
	}
	balance, err := n.BalanceAtHash(ctx, account, head.Hash)
	if err != nil {
		return view{}, n.redact(fmt.Errorf("read the balance of %s: %w", account, err))
	}
	return view{node: n, head: head, nonce: nonce, balance: balance}, nil
}

// minedReceipt is what the sender reads of a receipt.
type minedReceipt struct {
	Transaction common.Hash    `json:"transactionHash"`
	BlockHash   common.Hash    `json:"blockHash"`
	Block       hexutil.Uint64 `json:"blockNumber"`
	Status      hexutil.Uint64 `json:"status"`
}

func (r minedReceipt) succeeded() bool { return r.Status == 1 }

// receiptsOf gives the receipts there are, by transaction. One that names another transaction is an error.
func (n *Node) receiptsOf(ctx context.Context, transactions []common.Hash) (map[common.Hash]minedReceipt, error) {
	found := make(map[common.Hash]minedReceipt)
	for len(transactions) > 0 {
		part := transactions[:min(len(transactions), receiptBatch)]
		transactions = transactions[len(part):]
		answers := make([]*minedReceipt, len(part))
		batch := make([]rpc.BatchElem, len(part))
		for i, hash := range part {
			batch[i] = rpc.BatchElem{Method: "eth_getTransactionReceipt", Args: []any{hash}, Result: &answers[i]}
		}
		if err := n.Client.Client().BatchCallContext(ctx, batch); err != nil {
			return nil, n.redact(fmt.Errorf("read receipts: %w", err))
		}
		for i, answer := range answers {
			switch {
			case batch[i].Error != nil:
				return nil, n.redact(fmt.Errorf("read the receipt of %s: %w", part[i], batch[i].Error))
			case answer == nil:
				continue
			case answer.Transaction != part[i] || answer.BlockHash == common.Hash{}:
				return nil, n.redact(fmt.Errorf("read the receipt of %s: the answer is that of %s", part[i], answer.Transaction))
			}
			found[part[i]] = *answer
		}
	}
	return found, nil
}

// hashOf is the hash of the node's block of that number; zero when it has none.
func (n *Node) hashOf(ctx context.Context, number uint64) (common.Hash, error) {
	var block *headBlock
	if err := n.Client.Client().CallContext(ctx, &block, "eth_getBlockByNumber", hexutil.Uint64(number), false); err != nil {
		return common.Hash{}, n.redact(fmt.Errorf("read block %d: %w", number, err))
	}
	if block == nil {
		return common.Hash{}, nil
	}
	return block.Hash, nil
}
