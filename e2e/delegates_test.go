package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
)

// yesDelegate is creation code of a contract that accepts every ERC-1271 signature.
var yesDelegate = hexutil.MustDecode("0x6d631626ba7e60e01b5f5260205ff35f52600e6012f3")

// A delegate that accepts every signature does not give access to the delegating account.
func TestADelegateDoesNotOpenAnAccount(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8"))
	owner := secretOf(t, chain, "contributor2")
	account := sortie.Address(crypto.PubkeyToAddress(owner.PublicKey))
	delegate := chain.create("deployer", yesDelegate)
	chain.sendDelegating("contributor1", owner, delegate, nil)
	chain.mine(1)
	code, err := chain.eth.CodeAt(t.Context(), common.Address(account), nil)
	if want := types.AddressToDelegation(common.Address(delegate)); err != nil || !bytes.Equal(code, want) {
		t.Fatalf("the account's code is %x, %v, want %x", code, err, want)
	}
	draft := f.as(t, keyOf(t, owner)).draft() // the account's own key works, delegated or not

	strangers := map[string][]byte{
		"one byte":                      {0x01},
		"one byte in a 6492 wrapper":    erc6492(delegate, []byte{0x01}),
		"garbage in a 6492 wrapper":     erc6492(account, make([]byte, 65)),
		"a stranger's key, 65 bytes":    append(make([]byte, 64), 27),
		"a wrapper that cannot be read": append([]byte{0x01}, erc6492Suffix...),
	}
	list := func(t *testing.T, signature []byte) (sortie.DraftList, error) {
		t.Helper()
		return f.as(t, fixedSignature{account, signature}).creator.Drafts(t.Context(), sortie.ListQuery{})
	}
	for name, signature := range strangers {
		t.Run(name, func(t *testing.T) {
			_, err := list(t, signature)
			var refused *sortie.Error
			if !errors.As(err, &refused) || refused.Code != sortie.CodeInvalidSignature || refused.Code.HTTPStatus() != http.StatusUnauthorized {
				t.Fatalf("got %v, want 401 %s", err, sortie.CodeInvalidSignature)
			}
			if want := "EIP-7702"; !strings.Contains(refused.Message, want) {
				t.Errorf("got the message %q, want it to name %s", refused.Message, want)
			}
		})
	}
	t.Run("allowed by the operator", func(t *testing.T) {
		f.environment = append(f.environment, "SORTIE_ALLOW_DELEGATED_ACCOUNTS=true")
		f.restart()
		got, err := list(t, []byte{0x01})
		if err != nil || len(got.Drafts) != 1 || got.Drafts[0].DraftID != draft.draftID {
			t.Errorf("got %+v, %v, want the draft %s", got, err, draft.draftID)
		}
	})
}

// fixedSignature claims to be an account and sends the same signature for everything.
type fixedSignature struct {
	address   sortie.Address
	signature []byte
}

func (s fixedSignature) Address() sortie.Address { return s.address }

func (s fixedSignature) SignMessage(context.Context, []byte) ([]byte, error) { return s.signature, nil }

var erc6492Suffix = []byte(strings.Repeat("\x64\x92", 16))

// erc6492 wraps a signature with a call of a factory that has no arguments.
func erc6492(factory sortie.Address, signature []byte) []byte {
	word := func(number byte) []byte { return append(make([]byte, 31), number) }
	packed := append(make([]byte, 12), factory[:]...)
	packed = append(packed, word(0x60)...)
	packed = append(packed, word(0x80)...)
	packed = append(packed, word(0)...)
	packed = append(packed, word(byte(len(signature)))...)
	packed = append(packed, signature...)
	packed = append(packed, make([]byte, (32-len(signature)%32)%32)...)
	return append(packed, erc6492Suffix...)
}
