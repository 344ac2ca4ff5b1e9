package chain

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
)

// PayingCall is a call of a contract for which an account pays the gas.
type PayingCall struct {
	To   sortie.Address
	Data sortie.Bytes
}

// Send estimates the call, checks that the signer can pay, sends it, calls sent with its hash, and
// waits until it is mined. Errors do not contain the node's credentials.
func (c PayingCall) Send(ctx context.Context, node *Node, signer TransactionSigner, chainID uint64, sent func(sortie.Hash)) (*types.Receipt, error) {
	receipt, err := c.send(ctx, node, signer, chainID, sent)
	return receipt, node.hideURL(err)
}

func (c PayingCall) send(ctx context.Context, node *Node, signer TransactionSigner, chainID uint64, sent func(sortie.Hash)) (*types.Receipt, error) {
	account, err := OpenAccount(ctx, node, signer, chainID)
	if err != nil {
		return nil, err
	}
	gas, err := account.Estimate(ctx, &c.To, c.Data)
	if err != nil {
		return nil, fmt.Errorf("the transaction would fail, so it was not sent: %w", err)
	}
	if err := account.CanPay(ctx, gas); err != nil {
		return nil, err
	}
	tx, err := account.Send(ctx, gas, &c.To, c.Data)
	if err != nil {
		return nil, err
	}
	sent(sortie.Hash(tx.Hash()))
	return account.Mined(ctx, tx)
}

// hiddenURL is an error whose text does not contain the node's URL.
type hiddenURL struct {
	error
	text string
}

func (e *hiddenURL) Error() string { return e.text }
func (e *hiddenURL) Unwrap() error { return e.error }

// hideURL replaces the node's URL in an error by its name.
func (n *Node) hideURL(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return err
	}
	return &hiddenURL{err, strings.ReplaceAll(err.Error(), failed.URL, n.name)}
}
