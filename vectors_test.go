package sortie_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// vectors is spec/vectors.json: the bytes that every implementation must match.
type vectors struct {
	Keys struct {
		Creator, Service struct {
			Address    sortie.Address
			PrivateKey string
		}
	}
	Requests []struct {
		Name, Method, URL, IdempotencyKey, Body, BodySHA256, Wallet, Timestamp, Text string

		Digest    sortie.Hash
		Signature sortie.Bytes
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
		ExpiresAt           string
		MissionKey, Digest  sortie.Hash
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
	Amounts []struct {
		Input     string
		Token     sortie.Token
		BaseUnits string
		Error     string
	}
}

func loadVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("spec/vectors.json")
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

func (v vectors) authorization() sortie.MissionAuthorization {
	m := v.Authorization.Message
	reward, _ := new(big.Int).SetString(m.RewardPerSubmission, 10)
	return sortie.MissionAuthorization{
		MissionID: m.MissionID, Token: m.Token, RewardPerSubmission: reward, TargetCount: m.TargetCount,
		Creator: m.Creator, Nonce: m.Nonce, Deadline: m.Deadline,
	}
}

func mustKey(t testing.TB, text string) *sortie.Key {
	t.Helper()
	key, err := sortie.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func TestVectorRequests(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	key := mustKey(t, v.Keys.Creator.PrivateKey)
	equal(t, "address", key.Address(), v.Keys.Creator.Address)
	if len(v.Requests) == 0 {
		t.Fatal("no request vectors")
	}
	for _, want := range v.Requests {
		t.Run(want.Name, func(t *testing.T) {
			t.Parallel()
			request := sortie.Request{
				Method: want.Method, URL: want.URL, IdempotencyKey: want.IdempotencyKey,
				BodySHA256: sortie.BodySHA256([]byte(want.Body)), Wallet: want.Wallet, Timestamp: want.Timestamp,
			}
			equal(t, "body hash", request.BodySHA256, want.BodySHA256)
			equal(t, "text", request.Text(), want.Text)
			equal(t, "digest", request.Digest(), want.Digest)
			equal(t, "signature", key.SignDigest(request.Digest()).String(), want.Signature.String())
			signer, err := sortie.RecoverAddress(want.Digest, want.Signature)
			if err != nil || signer != v.Keys.Creator.Address {
				t.Errorf("RecoverAddress: got %v, %v; want %v", signer, err, v.Keys.Creator.Address)
			}
		})
	}
}

func TestSignRequestMatchesTheVectors(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	key := mustKey(t, v.Keys.Creator.PrivateKey)
	for _, want := range v.Requests {
		if len(want.Timestamp) != 10 {
			continue // the client signs seconds
		}
		request, err := http.NewRequest(want.Method, want.URL, strings.NewReader(want.Body))
		if err != nil {
			t.Fatal(err)
		}
		if want.IdempotencyKey != "" {
			request.Header.Set(sortie.HeaderIdempotencyKey, want.IdempotencyKey)
		}
		if err := sortie.SignRequest(context.Background(), request, []byte(want.Body), key, time.Unix(1770000000, 0)); err != nil {
			t.Fatal(err)
		}
		equal(t, want.Name+": signature", request.Header.Get(sortie.HeaderSignature), want.Signature.String())
		equal(t, want.Name+": wallet", request.Header.Get(sortie.HeaderWallet), want.Wallet)
		equal(t, want.Name+": timestamp", request.Header.Get(sortie.HeaderTimestamp), want.Timestamp)
	}
}

func TestVectorAuthorization(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	key := mustKey(t, v.Keys.Service.PrivateKey)
	authorization := v.authorization()
	want := v.Authorization
	equal(t, "mission key", sortie.MissionKey(authorization.MissionID), want.MissionKey)
	digest := authorization.Digest(v.domain().Separator())
	equal(t, "digest", digest, want.Digest)
	signature := key.SignDigest(digest)
	equal(t, "signature", signature.String(), want.Signature.String())
	equal(t, "calldata", authorization.Calldata(signature).String(), want.Calldata.String())
	quote := sortie.NewQuote(v.domain(), authorization, key.Address(), signature)
	equal(t, "expiresAt", quote.Authorization.ExpiresAt, want.ExpiresAt)
	equal(t, "budget", quote.TotalBudgetBaseUnits, "10000000")
}

func TestVectorSettlementAndClose(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	key := mustKey(t, v.Keys.Service.PrivateKey)
	separator := v.domain().Separator()
	equal(t, "settlement digest", v.Settlement.Settlement.Digest(separator), v.Settlement.Digest)
	equal(t, "settlement signature", key.SignDigest(v.Settlement.Digest).String(), v.Settlement.Signature.String())
	equal(t, "close digest", v.Close.Message.Digest(separator), v.Close.Digest)
	equal(t, "close signature", key.SignDigest(v.Close.Digest).String(), v.Close.Signature.String())
}

func TestVectorAmounts(t *testing.T) {
	t.Parallel()
	decimals := map[sortie.Token]int{sortie.TokenUSDC: 6, sortie.TokenService: 18}
	failures := map[string]error{"too_many_decimals": sortie.ErrTooManyDecimals, "invalid": sortie.ErrInvalidAmount}
	for _, want := range loadVectors(t).Amounts {
		units, err := sortie.ParseUnits(want.Input, decimals[want.Token])
		if want.Error != "" {
			if expected := failures[want.Error]; expected == nil || !errors.Is(err, expected) {
				t.Errorf("%s %s: got %v, %v; want %s", want.Input, want.Token, units, err, want.Error)
			}
			continue
		}
		if err != nil || units.String() != want.BaseUnits {
			t.Errorf("%s %s: got %v, %v; want %s", want.Input, want.Token, units, err, want.BaseUnits)
		}
	}
}
