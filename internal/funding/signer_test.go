package funding_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

// recordingSigner records requests and forwards them.
type recordingSigner struct {
	funding.Signer
	mu       sync.Mutex
	requests []funding.SignRequest
}

func (s *recordingSigner) Sign(ctx context.Context, request funding.SignRequest) (sortie.Bytes, error) {
	s.mu.Lock()
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	return s.Signer.Sign(ctx, request)
}

func (s *recordingSigner) last() funding.SignRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

func (s *recordingSigner) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// spoilingSigner alters the signatures of another signer.
type spoilingSigner struct {
	funding.Signer
	spoil func(sortie.Bytes) (sortie.Bytes, error)
}

func (s spoilingSigner) Sign(ctx context.Context, request funding.SignRequest) (sortie.Bytes, error) {
	signature, err := s.Signer.Sign(ctx, request)
	if err != nil {
		return nil, err
	}
	return s.spoil(signature)
}

func highS(signature sortie.Bytes) sortie.Bytes {
	s := new(big.Int).SetBytes(signature[32:64])
	s.Sub(crypto.S256().Params().N, s).FillBytes(signature[32:64])
	signature[64] = 27 + 28 - signature[64]
	return signature
}

func TestEverySigningFunctionRefusesWrongSignatures(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	right := v.signer(t)
	other := mustSigner(t, [32]byte{31: 7})
	errLocked := errors.New("the device is locked")
	spoiled := func(spoil func(sortie.Bytes) sortie.Bytes) funding.Signer {
		return spoilingSigner{right, func(b sortie.Bytes) (sortie.Bytes, error) { return spoil(b), nil }}
	}
	wrongSigners := map[string]struct {
		signer funding.Signer
		want   string // after "sign PURPOSE as ADDRESS: "
	}{
		"failure":    {spoilingSigner{right, func(sortie.Bytes) (sortie.Bytes, error) { return nil, errLocked }}, "the device is locked"},
		"nothing":    {spoiled(func(sortie.Bytes) sortie.Bytes { return nil }), "the signer gave 0 bytes; want 65: r, s, v"},
		"short":      {spoiled(func(b sortie.Bytes) sortie.Bytes { return b[:64] }), "the signer gave 64 bytes; want 65: r, s, v"},
		"long":       {spoiled(func(b sortie.Bytes) sortie.Bytes { return append(b, 0) }), "the signer gave 66 bytes; want 65: r, s, v"},
		"bare v":     {spoiled(func(b sortie.Bytes) sortie.Bytes { b[64] = 1; return b }), "the signer gave v 1; want 27 or 28"},
		"v 29":       {spoiled(func(b sortie.Bytes) sortie.Bytes { b[64] = 29; return b }), "the signer gave v 29; want 27 or 28"},
		"high s":     {spoiled(highS), "the signer gave a high s, which the contract refuses; it must give order - s and the other v"},
		"zero r":     {spoiled(func(b sortie.Bytes) sortie.Bytes { clear(b[:32]); return b }), "the signer gave bytes that no key can have signed"},
		"zero s":     {spoiled(func(b sortie.Bytes) sortie.Bytes { clear(b[32:64]); return b }), "the signer gave bytes that no key can have signed"},
		"r past end": {spoiled(func(b sortie.Bytes) sortie.Bytes { copy(b, bytes.Repeat([]byte{0xff}, 32)); return b }), "the signer gave bytes that no key can have signed"},
		"wrong key": {
			misnamedSigner{other, right.Address()},
			"the signature is of " + other.Address().String() + ": the signer holds another key or signed something else",
		},
	}
	functions := map[funding.Purpose]func(context.Context, funding.Signer) error{
		funding.PurposeAuthorization: func(ctx context.Context, signer funding.Signer) error {
			issuer, err := funding.NewIssuer(v.domain(), signer, funding.DefaultTTL)
			if err != nil {
				return err
			}
			quote, err := issuer.Quote(ctx, v.terms(), noon)
			if err != nil && quote.Calldata != nil {
				return errors.New("got a quote together with the error")
			}
			return err
		},
		funding.PurposeSettlement: func(ctx context.Context, signer funding.Signer) error {
			return settle(v, signer, func(s *funding.Settler) (sortie.Bytes, error) { return s.SignSettlement(ctx, v.Settlement.Settlement) })
		},
		funding.PurposeClose: func(ctx context.Context, signer funding.Signer) error {
			return settle(v, signer, func(s *funding.Settler) (sortie.Bytes, error) { return s.SignClose(ctx, v.Close.Message) })
		},
		funding.PurposeTransaction: func(ctx context.Context, signer funding.Signer) error {
			_, err := funding.SignTransaction(ctx, signer, 84532, dynamicFeeTransaction())
			return err
		},
	}
	for purpose, sign := range functions {
		for name, wrong := range wrongSigners {
			t.Run(string(purpose)+"/"+name, func(t *testing.T) {
				t.Parallel()
				err := sign(t.Context(), wrong.signer)
				var failure *funding.SignError
				if !errors.As(err, &failure) {
					t.Fatalf("got %v; want a SignError", err)
				}
				equal(t, "error", failure.Error(), fmt.Sprintf("sign %s as %s: %s", purpose, right.Address(), wrong.want))
				if name == "failure" && !errors.Is(err, errLocked) {
					t.Errorf("got error %v, want it to wrap %v", err, errLocked)
				}
			})
		}
	}
}

// misnamedSigner reports the address of one key and signs with another.
type misnamedSigner struct {
	funding.Signer
	claims sortie.Address
}

func (s misnamedSigner) Address() sortie.Address { return s.claims }

func settle(v vectors, signer funding.Signer, sign func(*funding.Settler) (sortie.Bytes, error)) error {
	settler, err := funding.NewSettler(v.domain(), signer)
	if err != nil {
		return err
	}
	signature, err := sign(settler)
	if err != nil && signature != nil {
		return errors.New("got a signature together with the error")
	}
	return err
}

// A signature with a single flipped bit must not be returned.
func TestEveryFlippedBitIsRefused(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	for bit := range 8 * sortie.SignatureLength {
		flipped := spoilingSigner{v.signer(t), func(b sortie.Bytes) (sortie.Bytes, error) { b[bit/8] ^= 1 << (bit % 8); return b, nil }}
		issuer, err := funding.NewIssuer(v.domain(), flipped, funding.DefaultTTL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := issuer.Quote(t.Context(), v.terms(), noon); err == nil {
			t.Errorf("quote with bit %d of the signature flipped: got no error, want one", bit)
		}
	}
}

func TestKeySignerKeepsItsSecret(t *testing.T) {
	t.Parallel()
	secret := loadVectors(t).Keys.Service.PrivateKey
	signer := mustSigner(t, secret)
	asJSON, err := json.Marshal(signer)
	if err != nil {
		t.Fatal(err)
	}
	printed := string(asJSON)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		printed += fmt.Sprintf(verb, signer) + fmt.Sprintf(verb, &signer)
	}
	asNumber := new(big.Int).SetBytes(secret[:])
	for _, form := range []string{secret.String()[2:], asNumber.String(), string(secret[:]), fmt.Sprint(secret[:])} {
		if bytes.Contains(bytes.ToLower([]byte(printed)), []byte(form)) {
			t.Errorf("formatted signer: got %s, want no secret in it", printed)
		}
	}
}

func TestNewKeySignerRefusesNumbersOutsideTheCurve(t *testing.T) {
	t.Parallel()
	const want = "private key: the number is outside the curve's order"
	_, err := funding.NewKeySigner([32]byte{})
	failsWith(t, err, want)
	var order [32]byte
	crypto.S256().Params().N.FillBytes(order[:])
	_, err = funding.NewKeySigner(order)
	failsWith(t, err, want)
}
