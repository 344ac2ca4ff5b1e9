package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// NodeHead is a node's newest block, its base fee, and the tip that the node suggests; nil: none.
type NodeHead struct {
	Block        onchain.Block
	BaseFee, Tip *big.Int
}

func (n *Node) Head(ctx context.Context) (NodeHead, error) {
	replies, err := n.Batch(ctx, []Call{HeaderCall(TagLatest), {"eth_maxPriorityFeePerGas", "[]"}})
	if err != nil {
		return NodeHead{}, err
	}
	head, err := replies[0].AnyHeader()
	if err != nil {
		return NodeHead{}, fmt.Errorf("%s: newest block: %w", n.name, err)
	}
	p := NodeHead{Block: head.Block}
	err = eachMember(replies[0].result, func(name, value []byte) (err error) {
		if string(name) == "baseFeePerGas" {
			p.BaseFee, err = wei(value)
		}
		return err
	})
	if err == nil && p.BaseFee == nil {
		err = errors.New("it has no base fee: the chain's rules are older than the contracts need (Cancun)")
	}
	if err != nil {
		return NodeHead{}, fmt.Errorf("%s: newest block: %w", n.name, err)
	}
	if suggested, err := replies[1].Value(); err == nil { // some nodes do not suggest tips
		p.Tip, _ = wei(suggested)
	}
	return p, nil
}

// AccountAt reads the nonce and the balance of an account after a block.
func (n *Node) AccountAt(ctx context.Context, account common.Address, block sortie.Hash) (nonce uint64, balance *big.Int, err error) {
	arguments := fmt.Sprintf(`["%s",{"blockHash":"%s"}]`, account, block)
	replies, err := n.Batch(ctx, []Call{{"eth_getTransactionCount", arguments}, {"eth_getBalance", arguments}})
	if err != nil {
		return 0, nil, err
	}
	text, err := replies[0].Value()
	if err == nil {
		nonce, err = quantity(text)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%s: nonce of %s: %w", n.name, account, err)
	}
	text, err = replies[1].Value()
	if err == nil {
		balance, err = wei(text)
	}
	if err != nil {
		return nonce, nil, fmt.Errorf("%s: balance of %s: %w", n.name, account, err)
	}
	return nonce, balance, nil
}

// SendRaw sends a signed transaction to the node.
func (n *Node) SendRaw(ctx context.Context, transaction []byte) error {
	replies, err := n.Batch(ctx, []Call{{"eth_sendRawTransaction", `["` + hexutil.Encode(transaction) + `"]`}})
	if err == nil {
		_, err = replies[0].Value()
	}
	return err
}
