package funding_test

import (
	"encoding/json"
	"math/big"
	"os"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

// vectors is the funding part of spec/vectors.json: the bytes that every implementation must match.
type vectors struct {
	Keys struct {
		Service struct {
			Address    sortie.Address
			PrivateKey sortie.Hash
		}
	}
	Domain struct {
		ChainID           uint64
		VerifyingContract sortie.Address
	}
	Authorization struct {
		Message struct {
			MissionID           string
			Token               sortie.Address
			RewardPerSubmission string
			TargetCount         uint64
			Creator             sortie.Address
			Nonce               sortie.Hash
			Deadline            uint64
		}
		Digest              sortie.Hash
		Signature, Calldata sortie.Bytes
	}
	Settlement struct {
		sortie.Settlement
		Digest    sortie.Hash
		Signature sortie.Bytes
	}
	Close struct {
		Message   sortie.Close
		Digest    sortie.Hash
		Signature sortie.Bytes
	}
}

func loadVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("../../spec/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v vectors) domain() sortie.Domain {
	return sortie.Domain{ChainID: v.Domain.ChainID, Factory: v.Domain.VerifyingContract}
}

func (v vectors) terms() sortie.MissionAuthorization {
	m := v.Authorization.Message
	reward, _ := new(big.Int).SetString(m.RewardPerSubmission, 10)
	return sortie.MissionAuthorization{
		MissionID: m.MissionID, Token: m.Token, RewardPerSubmission: reward, TargetCount: m.TargetCount,
		Creator: m.Creator, Nonce: m.Nonce, Deadline: m.Deadline,
	}
}

func (v vectors) signer(t testing.TB) funding.Signer {
	t.Helper()
	return mustSigner(t, v.Keys.Service.PrivateKey)
}

func mustSigner(t testing.TB, secret [32]byte) funding.Signer {
	t.Helper()
	signer, err := funding.NewKeySigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// failsWith checks an error's whole text: one line that says what to do is part of the interface.
func failsWith(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %s", want)
	}
	equal(t, "error", err.Error(), want)
}

func TestVectors(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	signer := v.signer(t)
	equal(t, "address", signer.Address(), v.Keys.Service.Address)

	authorized, err := signer.Sign(t.Context(), funding.SignRequest{Digest: v.Authorization.Digest})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "authorization signature", authorized.String(), v.Authorization.Signature.String())
	equal(t, "calldata", v.terms().Calldata(authorized).String(), v.Authorization.Calldata.String())

	settler, err := funding.NewSettler(v.domain(), signer)
	if err != nil {
		t.Fatal(err)
	}
	settled, err := settler.SignSettlement(t.Context(), v.Settlement.Settlement)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "settlement signature", settled.String(), v.Settlement.Signature.String())
	closed, err := settler.SignClose(t.Context(), v.Close.Message)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "close signature", closed.String(), v.Close.Signature.String())
}
