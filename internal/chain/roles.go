package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
)

// HoldsSettlerRole reads whether a key may sign settlements of a factory, by [Quorum], because
// receipts are replaced on this answer.
func (n *Nodes) HoldsSettlerRole(ctx context.Context, factoryAddress, account sortie.Address) (bool, error) {
	holds, err := Quorum(ctx, n, func(ctx context.Context, node *Node) (bool, error) {
		role, err := ask(ctx, node, factoryAddress, factory.PackSETTLERROLE(), factory.UnpackSETTLERROLE)
		if err != nil {
			return false, err
		}
		holds, err := ask(ctx, node, factoryAddress, factory.PackHasRole(role, common.Address(account)), factory.UnpackHasRole)
		if err != nil {
			return false, err
		}
		return holds, n.stillOnChain(ctx, node)
	})
	if err != nil {
		return false, fmt.Errorf("ask factory %s for the settler role of %s: %w", factoryAddress, account, err)
	}
	return holds, nil
}

// UncappedTokens reads which reward tokens have no daily cap, in the order USDC, SERVICE_TOKEN.
func (n *Nodes) UncappedTokens(ctx context.Context) ([]sortie.Token, error) {
	type uncapped struct{ usdc, serviceToken bool }
	answer, err := Quorum(ctx, n, func(ctx context.Context, node *Node) (found uncapped, err error) {
		for token, unlimited := range map[sortie.Address]*bool{n.deployment.USDC: &found.usdc, n.deployment.ServiceToken: &found.serviceToken} {
			caps, err := ask(ctx, node, n.deployment.Factory, factory.PackDailyCaps(common.Address(token)), factory.UnpackDailyCaps)
			if err != nil {
				return uncapped{}, err
			}
			*unlimited = caps.Limit.Cmp(noCap) == 0
		}
		return found, n.stillOnChain(ctx, node)
	})
	if err != nil {
		return nil, fmt.Errorf("ask factory %s for its daily caps: %w", n.deployment.Factory, err)
	}
	var tokens []sortie.Token
	if answer.usdc {
		tokens = append(tokens, sortie.TokenUSDC)
	}
	if answer.serviceToken {
		tokens = append(tokens, sortie.TokenService)
	}
	return tokens, nil
}

// noCap is the contract's limit for a token without a daily cap.
var noCap = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))

var ErrWrongChain = errors.New("the node is of another chain")

// stillOnChain fails for a node that switched to another chain. It must be called after the answer
// that it guards.
func (n *Nodes) stillOnChain(ctx context.Context, node *Node) error {
	chainID, err := node.ChainID(ctx)
	if err != nil {
		return unreachable(node, err)
	}
	if !chainID.IsUint64() || chainID.Uint64() != n.deployment.ChainID {
		return fmt.Errorf("%s: %w: it is on chain %s now, want %d", node.Name(), ErrWrongChain, chainID, n.deployment.ChainID)
	}
	return nil
}
