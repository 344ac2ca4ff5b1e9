package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

// askAtOnce is how many transactions or blocks are asked for in one request.
const askAtOnce = 100

// tolerableLag is by how many blocks a node may be behind another and still be preferred to it by
// the order of the configuration.
const tolerableLag = 2

// defaultTip is offered where no node suggests one.
var defaultTip = big.NewInt(params.GWei)

// view is the chain as one node has it. The nonce and the balance are those at the head, not at
// whatever the node has by the time it is asked: a balanced endpoint may answer from another
// machine, which knows a different newest block.
type view struct {
	node    *Node
	head    store.Block
	market  market
	nonce   uint64 // of the next transaction: all below are used
	balance *big.Int
}

// look takes the view of the first node that can tell what became of the transactions under way,
// those that are behind asked last. A node that has not even reached the final block is not asked:
// to it, nonces that are used up seem free.
func (s *Sender) look(ctx context.Context, r *round) error {
	candidates, tip, failures := s.candidates(ctx)
	for _, candidate := range candidates {
		node, head := candidate.node, candidate.value.head
		if head.Number < r.final {
			failures = append(failures, fmt.Errorf("%s: it is at block %d, and block %d is final", node.Name(), head.Number, r.final))
			continue
		}
		r.view = view{node: node, head: head, market: market{candidate.value.baseFee, tip}}
		err := r.view.readAccount(ctx, s.address)
		if err == nil {
			err = s.findOutcomes(ctx, r)
		}
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return fmt.Errorf("look at the chain: %w", errors.Join(append([]error{ErrUnreachable}, failures...)...))
}

// pulse is a node's newest block, its base fee, and the tip that the node suggests, nil when it
// suggests none.
type pulse struct {
	head         store.Block
	baseFee, tip *big.Int
}

// candidates are the nodes that answer, in the order of the configuration, but those that are
// behind the newest come last. Of the tips they suggest the lowest counts: a node alone can make us
// slow, but not poor.
func (s *Sender) candidates(ctx context.Context) (candidates []vote[pulse], tip *big.Int, failures []error) {
	var newest uint64
	for _, answer := range poll(ctx, s.config.Nodes, func(ctx context.Context, node *Node) (pulse, error) { return node.pulse(ctx) }) {
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
	behind := func(candidate vote[pulse]) int {
		if candidate.value.head.Number+tolerableLag < newest {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(candidates, func(a, b vote[pulse]) int { return behind(a) - behind(b) })
	return candidates, tip, failures
}

func (n *Node) pulse(ctx context.Context) (pulse, error) {
	replies, err := n.batch(ctx, []call{headerCall(tagLatest), {"eth_maxPriorityFeePerGas", "[]"}})
	if err != nil {
		return pulse{}, err
	}
	head, err := replies[0].anyHeader()
	if err != nil {
		return pulse{}, fmt.Errorf("%s: newest block: %w", n.name, err)
	}
	p := pulse{head: head.Block}
	err = eachMember(replies[0].result, func(name, value []byte) (err error) {
		if string(name) == "baseFeePerGas" {
			p.baseFee, err = wei(value)
		}
		return err
	})
	if err == nil && p.baseFee == nil {
		err = errors.New("it has no base fee: the chain's rules are older than the contracts need (Cancun)")
	}
	if err != nil {
		return pulse{}, fmt.Errorf("%s: newest block: %w", n.name, err)
	}
	if suggested, err := replies[1].value(); err == nil { // some nodes do not suggest tips
		p.tip, _ = wei(suggested)
	}
	return p, nil
}

// readAccount reads the account as it is at the head.
func (v *view) readAccount(ctx context.Context, account common.Address) error {
	arguments := fmt.Sprintf(`["%s",{"blockHash":"%s"}]`, account, v.head.Hash)
	replies, err := v.node.batch(ctx, []call{{"eth_getTransactionCount", arguments}, {"eth_getBalance", arguments}})
	if err != nil {
		return err
	}
	nonce, err := replies[0].value()
	if err == nil {
		v.nonce, err = quantity(nonce)
	}
	if err != nil {
		return fmt.Errorf("%s: nonce of %s: %w", v.node.name, account, err)
	}
	balance, err := replies[1].value()
	if err == nil {
		v.balance, err = wei(balance)
	}
	if err != nil {
		return fmt.Errorf("%s: balance of %s: %w", v.node.name, account, err)
	}
	return nil
}

// wei reads an amount, which may be larger than any other number.
func wei(value []byte) (*big.Int, error) {
	amount, valid := new(big.Int).SetString(string(unquote(value)), 0)
	if !valid || amount.Sign() < 0 || amount.BitLen() > 256 {
		return nil, badAnswer("%.40q where an amount should be", value)
	}
	return amount, nil
}

// mining says in which block a transaction is, and whether it had its effect.
type mining struct {
	transaction sortie.Hash
	blockHash   sortie.Hash
	block       uint64
	succeeded   bool
	cost        uint64 // in gwei, as one node says; 0: not known
}

// withoutCost is what nodes must agree on: what a transaction cost decides nothing.
func (m mining) withoutCost() mining {
	m.cost = 0
	return m
}

// minings tells which of the transactions are in blocks of the node's chain. Some endpoints
// remember receipts of blocks that were taken back; those do not count.
func (n *Node) minings(ctx context.Context, transactions []sortie.Hash) (map[sortie.Hash]mining, error) {
	found := make(map[sortie.Hash]mining)
	blocks := make(map[uint64]bool)
	for part := range slices.Chunk(transactions, askAtOnce) {
		calls := make([]call, len(part))
		for i, transaction := range part {
			calls[i] = receiptCall(transaction)
		}
		replies, err := n.batchWithin(ctx, calls, maxReceiptBytes)
		if err != nil {
			return nil, err
		}
		for i, transaction := range part {
			receipt, err := replies[i].receipt()
			if errors.Is(err, errAbsent) {
				continue
			}
			if err == nil && receipt.transaction != transaction {
				err = badAnswer("it is that of %s", receipt.transaction)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: receipt of %s: %w", n.name, transaction, err)
			}
			found[transaction] = mining{transaction, receipt.blockHash, receipt.block, receipt.succeeded, receipt.cost()}
			blocks[receipt.block] = true
		}
	}
	hashes, err := n.hashes(ctx, slices.Collect(maps.Keys(blocks)))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(_ sortie.Hash, m mining) bool { return hashes[m.block] != m.blockHash })
	return found, nil
}

// hashes gives the hashes of the node's blocks of these numbers, of those that it has.
func (n *Node) hashes(ctx context.Context, numbers []uint64) (map[uint64]sortie.Hash, error) {
	hashes := make(map[uint64]sortie.Hash, len(numbers))
	for part := range slices.Chunk(numbers, askAtOnce) {
		calls := make([]call, len(part))
		for i, number := range part {
			calls[i] = headerCall(hexNumber(number))
		}
		replies, err := n.batch(ctx, calls)
		if err != nil {
			return nil, err
		}
		for i, number := range part {
			block, err := replies[i].header(number)
			if errors.Is(err, errAbsent) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.name, err)
			}
			hashes[number] = block.Hash
		}
	}
	return hashes, nil
}
