package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
)

// onChainSigner is a contract account that approves digests on chain instead of signing them, as a
// Safe does with SignMessageLib.
type onChainSigner struct {
	address sortie.Address
	digest  sortie.Hash // of the last request
}

func (s *onChainSigner) Address() sortie.Address { return s.address }

func (s *onChainSigner) SignMessage(_ context.Context, message []byte) ([]byte, error) {
	s.digest = sortie.MessageDigest(message)
	return []byte{}, nil
}

// A request with an empty signature is accepted as soon as the account's contract has approved its
// digest on chain, and not before.
func TestRequestApprovedOnChainNeedsNoSignature(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8"))
	owner := common.LeftPadBytes(common.FromHex(chain.wallet("creator").String()), 32)
	account := &onChainSigner{address: chain.create("deployer", append(codeOf(t, "ApprovingAccount"), owner...))}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.service.url+"/api/external/missions", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sortie.SignRequest(t.Context(), request, nil, account, time.Now().Add(4*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := request.Header.Get(sortie.HeaderSignature); got != "0x" {
		t.Fatalf("signature header: got %q, want 0x", got)
	}
	send := func(request *http.Request) (status int, code sortie.Code) {
		t.Helper()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode, errorCode(t, response.Body)
	}
	if status, code := send(request); status != http.StatusUnauthorized || code != sortie.CodeInvalidSignature {
		t.Errorf("before the approval: got %d %s, want 401 invalid_signature", status, code)
	}
	chain.transact("creator", account.address, append(crypto.Keccak256([]byte("approve(bytes32)"))[:4], account.digest[:]...))
	chain.mine(1)
	if status, code := send(request); status != http.StatusOK {
		t.Errorf("after the approval: got %d %s, want 200: a refusal before the approval must not be remembered", status, code)
	}

	other := request.Clone(t.Context())
	other.URL.RawQuery = "limit=1"
	if status, code := send(other); status != http.StatusUnauthorized || code != sortie.CodeInvalidSignature {
		t.Errorf("a request that was not approved: got %d %s, want 401 invalid_signature", status, code)
	}
	plain := request.Clone(t.Context())
	plain.Header.Set(sortie.HeaderWallet, chain.wallet("creator").String())
	if status, code := send(plain); status != http.StatusUnauthorized || code != sortie.CodeInvalidSignature {
		t.Errorf("an empty signature for a plain key: got %d %s, want 401 invalid_signature", status, code)
	}
	client, err := sortie.NewClient(f.service.url, account, sortie.WithAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	var coded *sortie.Error
	if _, err := client.Drafts(t.Context(), sortie.ListQuery{Limit: 1}); !errors.As(err, &coded) || coded.Code != sortie.CodeInvalidSignature {
		t.Errorf("the SDK with an unapproved request: got %v, want invalid_signature", err)
	}
}

// errorCode reads the code of an error answer; of any other answer it is empty.
func errorCode(t *testing.T, body io.Reader) sortie.Code {
	t.Helper()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("read the answer: %v after %d bytes", err, len(text))
	}
	var answer struct {
		Error struct {
			Code sortie.Code `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(text, &answer) // a page of a proxy has no code
	return answer.Error.Code
}
