package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/contracts/bind/servicetoken"
	"github.com/sortie-labs/sortie/internal/setting"
)

// Decimals are those of the reward tokens. All amounts use them; a token with other decimals is
// refused.
func Decimals(token sortie.Token) int {
	if token == sortie.TokenUSDC {
		return 6
	}
	return 18
}

// Deployment names the contracts that a service works with, and the accounts of its keys.
type Deployment struct {
	ChainID      uint64
	Factory      sortie.Address
	USDC         sortie.Address
	ServiceToken sortie.Address
	Authorizer   sortie.Address // zero: not checked
	Settler      sortie.Address // zero: not checked
}

// ErrUnreachable says that a node did not answer, so that nothing is known.
var ErrUnreachable = errors.New("the node cannot be reached")

// Reader has the methods of a chain that checks need. *ethclient.Client implements it.
type Reader interface {
	ChainID(ctx context.Context) (*big.Int, error)
	CodeAt(ctx context.Context, account common.Address, blockNumber *big.Int) ([]byte, error)
	CallContract(ctx context.Context, call ethereum.CallMsg, blockNumber *big.Int) ([]byte, error)
}

// Check compares the deployment with the chain: its id, the contracts' code, the factory's tokens
// and their decimals, and the roles of the keys. The error is one line that names the wrong value;
// it wraps [ErrUnreachable] if the node did not answer.
func (d Deployment) Check(ctx context.Context, node Reader) error {
	chainID, err := node.ChainID(ctx)
	if err != nil {
		return unreachable(node, err)
	}
	if !chainID.IsUint64() || chainID.Uint64() != d.ChainID {
		return &setting.Error{Name: setting.ChainID, Value: fmt.Sprint(d.ChainID), Err: fmt.Errorf("the node is on chain %s: correct the id or use another node", chainID)}
	}
	if err := d.checkFactory(ctx, node); err != nil {
		return err
	}
	if err := CheckToken(ctx, node, setting.USDC, d.USDC, Decimals(sortie.TokenUSDC)); err != nil {
		return err
	}
	return CheckToken(ctx, node, setting.ServiceToken, d.ServiceToken, Decimals(sortie.TokenService))
}

var factory = missionfactory.NewMissionFactory()

func (d Deployment) checkFactory(ctx context.Context, node Reader) error {
	if err := checkCode(ctx, node, setting.Factory, d.Factory); err != nil {
		return err
	}
	domain, err := ask(ctx, node, d.Factory, factory.PackEip712Domain(), factory.UnpackEip712Domain)
	if errors.Is(err, ErrUnreachable) {
		return err
	}
	if err != nil || domain.Name != "MissionFactory" || domain.Version != "1" {
		return d.factoryError(errors.New("the contract there is no MissionFactory of version 1; take the address that `sortie contracts deploy` printed"))
	}
	for _, token := range []struct {
		name   setting.Name
		want   sortie.Address
		data   []byte
		unpack func([]byte) (common.Address, error)
	}{
		{setting.USDC, d.USDC, factory.PackUsdc(), factory.UnpackUsdc},
		{setting.ServiceToken, d.ServiceToken, factory.PackServiceToken(), factory.UnpackServiceToken},
	} {
		got, err := ask(ctx, node, d.Factory, token.data, token.unpack)
		if err != nil {
			return d.factoryError(fmt.Errorf("ask for its %s: %w", token.name, err))
		}
		if sortie.Address(got) != token.want {
			return &setting.Error{Name: token.name, Value: token.want.String(), Err: fmt.Errorf("the factory pays with %s: correct the address", sortie.Address(got))}
		}
	}
	if err := d.checkRole(ctx, node, setting.Authorizer, d.Authorizer, factory.PackAUTHORIZERROLE()); err != nil {
		return err
	}
	return d.checkRole(ctx, node, setting.Settler, d.Settler, factory.PackSETTLERROLE())
}

func (d Deployment) factoryError(err error) error {
	return &setting.Error{Name: setting.Factory, Value: d.Factory.String(), Err: err}
}

func (d Deployment) checkRole(ctx context.Context, node Reader, name setting.Name, account sortie.Address, roleCall []byte) error {
	if account.IsZero() {
		return nil
	}
	role, err := ask(ctx, node, d.Factory, roleCall, factory.UnpackAUTHORIZERROLE)
	if err != nil {
		return d.factoryError(fmt.Errorf("ask for its roles: %w", err))
	}
	holds, err := ask(ctx, node, d.Factory, factory.PackHasRole(role, common.Address(account)), factory.UnpackHasRole)
	if err != nil {
		return d.factoryError(fmt.Errorf("ask for its roles: %w", err))
	}
	if !holds {
		return &setting.Error{Name: name, Value: account.String(), Err: errors.New("it does not have that role in the factory: grant it, or use the key that has it")}
	}
	return nil
}

// CheckToken refuses an address without code and a token with other decimals. Name is the setting
// of the address.
func CheckToken(ctx context.Context, node Reader, name setting.Name, token sortie.Address, decimals int) error {
	if err := checkCode(ctx, node, name, token); err != nil {
		return err
	}
	erc20 := servicetoken.NewServiceToken()
	got, err := ask(ctx, node, token, erc20.PackDecimals(), erc20.UnpackDecimals)
	switch {
	case errors.Is(err, ErrUnreachable):
		return err
	case err != nil:
		return &setting.Error{Name: name, Value: token.String(), Err: errors.New("this contract is no token, it does not answer decimals()")}
	case int(got) != decimals:
		return &setting.Error{Name: name, Value: token.String(), Err: fmt.Errorf("the token has %d decimals, want %d: is it another token?", got, decimals)}
	}
	return nil
}

func checkCode(ctx context.Context, node Reader, name setting.Name, address sortie.Address) error {
	code, err := node.CodeAt(ctx, common.Address(address), nil)
	if err != nil {
		return unreachable(node, err)
	}
	if len(code) == 0 {
		return &setting.Error{Name: name, Value: address.String(), Err: errors.New("there is no contract at this address on this chain; check the address and the chain")}
	}
	return nil
}

// ask calls a view of a contract and decodes its answer.
func ask[T any](ctx context.Context, node Reader, to sortie.Address, data []byte, unpack func([]byte) (T, error)) (value T, err error) {
	address := common.Address(to)
	answer, err := node.CallContract(ctx, ethereum.CallMsg{To: &address, Data: data}, nil)
	if err != nil {
		if IsAnswer(err) {
			return value, err
		}
		return value, unreachable(node, err)
	}
	return unpack(answer)
}

func unreachable(node Reader, err error) error {
	if named, ok := node.(*Node); ok {
		err = named.Redact(err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}
