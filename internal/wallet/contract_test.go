package wallet_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/wallet"
)

func chainServer(t testing.TB, c *chain) testServer {
	t.Helper()
	return newTestServer(t, wallet.Config{PublicURLs: []string{publicURL}, Call: c.call})
}

// signatureOf returns a key's signature of the list request of a wallet.
func signatureOf(key *sortie.Key, wallet sortie.Address) sortie.Bytes {
	return key.SignDigest(claiming(wallet).request(publicURL).Digest())
}

func carrying(wallet sortie.Address, signature sortie.Bytes) message {
	return claiming(wallet).with(sortie.HeaderSignature, signature.String())
}

// Contract wallets on a real EVM, through the validator.
func TestContractWallets(t *testing.T) {
	t.Parallel()
	c := openChain()
	code := c.ownerWallet(owner.Address())
	notYet := c.undeployed(code)
	deploy := deployCall(t, code)
	yesCode := []byte(c.code["YesWallet"])
	garbage := make([]byte, 65)
	identity := sortie.MustAddress("0x0000000000000000000000000000000000000004")
	transfer := encode(t, "transferFrom(address,address,uint256)", []abi.Type{abiAddress, abiAddress, abiNumber},
		common.Address(owner.Address()), common.Address(stranger.Address()), big.NewInt(1))

	cases := []struct {
		name     string
		wallet   sortie.Address
		message  message
		accepted bool
	}{
		{"deployed, its owner signs", c.mine, carrying(c.mine, signatureOf(owner, c.mine)), true},
		{"deployed, a stranger signs", c.mine, carrying(c.mine, signatureOf(stranger, c.mine)), false},
		{"deployed, garbage", c.mine, carrying(c.mine, garbage), false},
		{"deployed, its owner signs as himself", c.mine, carrying(c.mine, signatureOf(owner, owner.Address())), false},
		{"owner's other wallet, signature for the first", c.mineToo, carrying(c.mineToo, signatureOf(owner, c.mine)), false},
		{"owner's other wallet, signature for it", c.mineToo, carrying(c.mineToo, signatureOf(owner, c.mineToo)), true},
		{"the SHA-256 of nothing is for plain keys", c.mine, signedOverEmptyHash(claiming(c.mine), owner), false},
		{"deployed, in a needless wrapper", c.mine, carrying(c.mine, wrap(t, c.factory, deploy, signatureOf(owner, c.mine))), true},
		{"deployed, garbage in a wrapper", c.mine, carrying(c.mine, wrap(t, c.factory, deploy, garbage)), false},

		{"undeployed, its owner signs", notYet, carrying(notYet, wrap(t, c.factory, deploy, signatureOf(owner, notYet))), true},
		{"undeployed, a stranger signs", notYet, carrying(notYet, wrap(t, c.factory, deploy, signatureOf(stranger, notYet))), false},
		{"undeployed, garbage", notYet, carrying(notYet, wrap(t, c.factory, deploy, garbage)), false},
		{"undeployed, empty inner signature", notYet, carrying(notYet, wrap(t, c.factory, deploy, nil)), false},
		{"undeployed, no wrapper", notYet, carrying(notYet, signatureOf(owner, notYet)), false},
		{"undeployed, other code deployed elsewhere", notYet, carrying(notYet, wrap(t, c.factory, deployCall(t, yesCode), signatureOf(owner, notYet))), false},
		{"undeployed, factory is the token", notYet, carrying(notYet, wrap(t, c.token, transfer, signatureOf(owner, notYet))), false},
		{"undeployed, factory is precompile 4", notYet, carrying(notYet, wrap(t, identity, deploy, signatureOf(owner, notYet))), false},
		{"undeployed, factory has no code", notYet, carrying(notYet, wrap(t, stranger.Address(), deploy, signatureOf(owner, notYet))), false},
		{"wrapper cut short", notYet, carrying(notYet, wrap(t, c.factory, deploy, signatureOf(owner, notYet))[64:]), false},

		{"plain account, factory is precompile 4", creator.Address(), carrying(creator.Address(), wrap(t, identity, deploy, signatureOf(stranger, creator.Address()))), false},
		{"plain account, wrapped own signature", creator.Address(), carrying(creator.Address(), wrap(t, c.factory, deploy, signatureOf(creator, creator.Address()))), false},
		{"the token as wallet", c.token, carrying(c.token, signatureOf(owner, c.token)), false},
		{"a contract without ERC-1271 as wallet", c.factory, carrying(c.factory, signatureOf(owner, c.factory)), false},
		{"a wallet that any caller can open, opened by the wrapper", c.wallets["OpenableWallet"], carrying(c.wallets["OpenableWallet"],
			wrap(t, c.wallets["OpenableWallet"], encode(t, "open()", nil), garbage)), false},
		{"an answer of four bytes", c.wallets["ShortAnswerWallet"], carrying(c.wallets["ShortAnswerWallet"], garbage), false},
		{"an answer of true", c.wallets["TrueWallet"], carrying(c.wallets["TrueWallet"], garbage), false},
		{"an echo", c.wallets["EchoWallet"], carrying(c.wallets["EchoWallet"], garbage), false},

		{"delegated, its key signs", c.ownerKey.Address(), carrying(c.ownerKey.Address(), signatureOf(c.ownerKey, c.ownerKey.Address())), true},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := chainServer(t, c).send(t, test.message.String())
			if test.accepted {
				wantAccepted(t, got, test.wallet)
			} else {
				wantRefused(t, got, sortie.CodeInvalidSignature)
			}
		})
	}
}

// Only the key counts for an account with delegated code, unless the operator allows delegates.
func TestDelegatedAccounts(t *testing.T) {
	t.Parallel()
	c := openChain()
	yes, owned := c.yesKey.Address(), c.ownerKey.Address()
	deploy := deployCall(t, c.ownerWallet(owner.Address()))
	for _, test := range []struct {
		name               string
		message            message
		wallet             sortie.Address
		byDefault, allowed bool
	}{
		{"the delegate accepts everything", carrying(yes, sortie.Bytes{0x01}), yes, false, true},
		{"the delegate accepts everything, in a wrapper", carrying(yes, wrap(t, c.factory, deploy, sortie.Bytes{0x01})), yes, false, true},
		{"the delegate accepts its owner", carrying(owned, signatureOf(owner, owned)), owned, false, true},
		{"the delegate refuses a stranger", carrying(owned, signatureOf(stranger, owned)), owned, false, false},
		{"the account's own key", carrying(owned, signatureOf(c.ownerKey, owned)), owned, true, true},
	} {
		for allow, accepted := range map[bool]bool{false: test.byDefault, true: test.allowed} {
			t.Run(fmt.Sprintf("%s, allowed %t", test.name, allow), func(t *testing.T) {
				t.Parallel()
				server := newTestServer(t, wallet.Config{PublicURLs: []string{publicURL}, Call: c.call, AllowDelegated: allow})
				for _, time := range []string{"asked", "remembered"} {
					got := server.send(t, test.message.String())
					if accepted {
						wantAccepted(t, got, test.wallet)
						continue
					}
					wantRefused(t, got, sortie.CodeInvalidSignature)
					if saysWhy := strings.Contains(got.Error.Message, "EIP-7702"); saysWhy == allow {
						t.Errorf("%s: got the message %q, want it to name EIP-7702: %t", time, got.Error.Message, !allow)
					}
				}
			})
		}
	}
}

// A delegated account's own key needs no node.
func TestADelegatedKeyNeedsNoNode(t *testing.T) {
	t.Parallel()
	c := openChain()
	server := chainServer(t, c)
	wantAccepted(t, server.send(t, claiming(c.yesKey.Address()).signedBy(c.yesKey).String()), c.yesKey.Address())
	if stats := server.verifier.Stats(); stats != (wallet.Stats{Plain: 1}) {
		t.Errorf("counters %+v", stats)
	}
}

// Hostile wallets are refused quickly.
func TestHostileWalletsAreRefusedFast(t *testing.T) {
	t.Parallel()
	c := openChain()
	hostile := map[string]message{}
	for _, name := range []string{"LoopWallet", "ReturnBombWallet", "RevertBombWallet", "SelfDestructWallet"} {
		deployed, code := c.wallets[name], []byte(c.code[name])
		notYet := c.undeployed(code)
		hostile[name] = carrying(deployed, signatureOf(owner, deployed))
		hostile[name+", undeployed"] = carrying(notYet, wrap(t, c.factory, deployCall(t, code), signatureOf(owner, notYet)))
		hostile[name+" as factory"] = carrying(notYet, wrap(t, deployed, deployCall(t, code), signatureOf(owner, notYet)))
	}
	for name, m := range hostile {
		t.Run(name, func(t *testing.T) {
			server := chainServer(t, c)
			start := time.Now()
			wantRefused(t, server.send(t, m.String()), sortie.CodeInvalidSignature)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %s", took)
			}
			if stats := server.verifier.Stats(); stats.Calls != 1 {
				t.Errorf("counters %+v", stats)
			}
		})
	}
}

// A factory that burns most of the gas and a wallet that burns the rest may leave too little even
// for a refusal. The node then gives no result: that is not accepted, and not cached.
func TestGasBurntTwiceIsNeverAYes(t *testing.T) {
	t.Parallel()
	c := openChain()
	code := []byte(c.code["LoopWallet"])
	notYet := c.undeployed(code)
	for _, leave := range []int64{500, 5_000, 50_000, 400_000, 600_000, 1_000_000} {
		t.Run(fmt.Sprint(leave), func(t *testing.T) {
			t.Parallel()
			burn := encode(t, "deployThenBurn(bytes,bytes32,uint256)", []abi.Type{abiBytes, abiWord, abiNumber}, code, [32]byte{}, big.NewInt(leave))
			got := chainServer(t, c).send(t, carrying(notYet, wrap(t, c.factory, burn, make([]byte, 65))).String())
			if got.code() != sortie.CodeInvalidSignature && got.code() != sortie.CodeSignatureVerificationUnavailable {
				t.Errorf("got %d %v", got.status, got.Error)
			}
			if leave >= 600_000 { // enough for 1/64 of it to pay for the answer
				wantRefused(t, got, sortie.CodeInvalidSignature)
			}
		})
	}
}

// The gas of a check is enough for the longest signature.
func TestTheLongestSignatureIsAffordable(t *testing.T) {
	t.Parallel()
	c := openChain()
	yes := c.wallets["YesWallet"]
	longest := make([]byte, wallet.MaxSignatureBytes)
	for i := range longest {
		longest[i] = 0xff
	}
	wantAccepted(t, chainServer(t, c).send(t, carrying(yes, longest).String()), yes)
}
