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

// pulse is a node's newest block, its base fee, and the tip that the node suggests, nil when it
// suggests none.
type pulse struct {
	head         onchain.Block
	baseFee, tip *big.Int
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

// accountAt reads the nonce and the balance of an account after a block.
func (n *Node) accountAt(ctx context.Context, account common.Address, block sortie.Hash) (nonce uint64, balance *big.Int, err error) {
	arguments := fmt.Sprintf(`["%s",{"blockHash":"%s"}]`, account, block)
	replies, err := n.batch(ctx, []call{{"eth_getTransactionCount", arguments}, {"eth_getBalance", arguments}})
	if err != nil {
		return 0, nil, err
	}
	text, err := replies[0].value()
	if err == nil {
		nonce, err = quantity(text)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%s: nonce of %s: %w", n.name, account, err)
	}
	text, err = replies[1].value()
	if err == nil {
		balance, err = wei(text)
	}
	if err != nil {
		return nonce, nil, fmt.Errorf("%s: balance of %s: %w", n.name, account, err)
	}
	return nonce, balance, nil
}

// sendRaw hands a signed transaction to the node.
func (n *Node) sendRaw(ctx context.Context, transaction []byte) error {
	replies, err := n.batch(ctx, []call{{"eth_sendRawTransaction", `["` + hexutil.Encode(transaction) + `"]`}})
	if err == nil {
		_, err = replies[0].value()
	}
	return err
}
