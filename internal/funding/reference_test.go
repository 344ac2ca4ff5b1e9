package funding_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts"
	"github.com/sortie-labs/sortie/internal/funding"
)

// These tests compare the hand-packed digests and calldata of package sortie with go-ethereum's
// general encoders over random structs. The types are written here a second time, from the
// contract's specification, so that a mistake in one place is found by the other.

const randomStructs = 10_000

var referenceTypes = apitypes.Types{
	"EIP712Domain": {
		{Name: "name", Type: "string"}, {Name: "version", Type: "string"},
		{Name: "chainId", Type: "uint256"}, {Name: "verifyingContract", Type: "address"},
	},
	"MissionAuthorization": {
		{Name: "missionId", Type: "string"}, {Name: "token", Type: "address"},
		{Name: "rewardPerSubmission", Type: "uint256"}, {Name: "targetCount", Type: "uint256"},
		{Name: "creator", Type: "address"}, {Name: "nonce", Type: "bytes32"}, {Name: "deadline", Type: "uint256"},
	},
	"Payment": {
		{Name: "slot", Type: "uint24"}, {Name: "recipient", Type: "address"}, {Name: "submissionKey", Type: "bytes32"},
	},
	"Settlement": {{Name: "missionKey", Type: "bytes32"}, {Name: "payments", Type: "Payment[]"}},
	"Close":      {{Name: "missionKey", Type: "bytes32"}, {Name: "paidCount", Type: "uint256"}},
}

func typedDigest(t testing.TB, domain sortie.Domain, primaryType string, message apitypes.TypedDataMessage) sortie.Hash {
	t.Helper()
	digest, _, err := apitypes.TypedDataAndHash(apitypes.TypedData{
		Types:       referenceTypes,
		PrimaryType: primaryType,
		Domain: apitypes.TypedDataDomain{
			Name: "MissionFactory", Version: "1",
			ChainId:           (*math.HexOrDecimal256)(new(big.Int).SetUint64(domain.ChainID)),
			VerifyingContract: domain.Factory.String(),
		},
		Message: message,
	})
	if err != nil {
		t.Fatal(err)
	}
	return sortie.Hash(digest)
}

func number(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func authorizationMessage(a sortie.MissionAuthorization) apitypes.TypedDataMessage {
	return apitypes.TypedDataMessage{
		"missionId": a.MissionID, "token": a.Token.String(), "rewardPerSubmission": a.RewardPerSubmission,
		"targetCount": number(a.TargetCount), "creator": a.Creator.String(), "nonce": a.Nonce[:], "deadline": number(a.Deadline),
	}
}

func settlementMessage(s sortie.Settlement) apitypes.TypedDataMessage {
	payments := []any{}
	for _, p := range s.Payments {
		payments = append(payments, apitypes.TypedDataMessage{
			"slot": number(uint64(p.Slot)), "recipient": p.Recipient.String(), "submissionKey": p.SubmissionKey[:],
		})
	}
	return apitypes.TypedDataMessage{"missionKey": s.MissionKey[:], "payments": payments}
}

func closeMessage(c sortie.Close) apitypes.TypedDataMessage {
	return apitypes.TypedDataMessage{"missionKey": c.MissionKey[:], "paidCount": number(c.PaidCount)}
}

// mustABI returns the ABI of the compiled contract.
func mustABI(t testing.TB) abi.ABI {
	t.Helper()
	parsed, err := abi.JSON(bytes.NewReader(contracts.MissionFactory.ABI()))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

type abiAuthorization struct {
	MissionId           string //nolint:revive // the ABI's name
	Token               common.Address
	RewardPerSubmission *big.Int
	TargetCount         *big.Int
	Creator             common.Address
	Nonce               [32]byte
	Deadline            *big.Int
}

type abiPayment struct {
	Slot          *big.Int
	Recipient     common.Address
	SubmissionKey [32]byte
}

func packAuthorization(t testing.TB, contract abi.ABI, a sortie.MissionAuthorization, signature []byte) sortie.Bytes {
	t.Helper()
	data, err := contract.Pack("createAuthorizedFundedMission", abiAuthorization{
		a.MissionID, common.Address(a.Token), a.RewardPerSubmission, number(a.TargetCount), common.Address(a.Creator), a.Nonce, number(a.Deadline),
	}, signature)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func packSettlement(t testing.TB, contract abi.ABI, s sortie.Settlement, signature []byte) sortie.Bytes {
	t.Helper()
	payments := []abiPayment{}
	for _, p := range s.Payments {
		payments = append(payments, abiPayment{number(uint64(p.Slot)), common.Address(p.Recipient), p.SubmissionKey})
	}
	data, err := contract.Pack("settle", s.MissionKey, payments, signature)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func packClose(t testing.TB, contract abi.ABI, c sortie.Close, signature []byte) sortie.Bytes {
	t.Helper()
	data, err := contract.Pack("close", c.MissionKey, number(c.PaidCount), signature)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// random makes valid structs from a fixed seed, so that a failure repeats.
type random struct{ *rand.Rand }

func newRandom(stream uint64) random { return random{rand.New(rand.NewPCG(2026, stream))} }

func (r random) fill(dst []byte) {
	for i := range dst {
		dst[i] = byte(r.Uint32())
	}
}

func (r random) address() (a sortie.Address) {
	r.fill(a[:])
	a[0] |= 1 // not zero
	return a
}

func (r random) hash() (h sortie.Hash) { r.fill(h[:]); h[0] |= 1; return h }

func (r random) signature() []byte { b := make([]byte, sortie.SignatureLength); r.fill(b); return b }

func (r random) domain() sortie.Domain {
	return sortie.Domain{ChainID: 1 + r.Uint64()>>r.IntN(63), Factory: r.address()}
}

// text returns valid UTF-8 of 1 to 64 bytes, mostly but not only characters of a slug.
func (r random) text() string {
	letters := []rune("abcdefghijklmnopqrstuvwxyz0123456789-é漢🙂\x00\"\\<")
	length := 1 + r.IntN(sortie.MaxMissionIDLength)
	var b strings.Builder
	for b.Len() < length {
		letter := string(letters[r.IntN(len(letters))])
		if b.Len()+len(letter) > length {
			letter = "z"
		}
		b.WriteString(letter)
	}
	return b.String()
}

func (r random) authorization() sortie.MissionAuthorization {
	reward := make([]byte, 1+r.IntN(sortie.MaxRewardBits/8))
	r.fill(reward)
	reward[len(reward)-1] |= 1 // not zero
	return sortie.MissionAuthorization{
		MissionID: r.text(), Token: r.address(), RewardPerSubmission: new(big.Int).SetBytes(reward),
		TargetCount: 1 + r.Uint64N(sortie.MaxSlots), Creator: r.address(), Nonce: r.hash(), Deadline: r.Uint64() >> r.IntN(64),
	}
}

func (r random) settlement(payments int) sortie.Settlement {
	s := sortie.Settlement{MissionKey: r.hash()}
	for range payments {
		s.Payments = append(s.Payments, sortie.Payment{Slot: r.Uint32N(1 << 24), Recipient: r.address(), SubmissionKey: r.hash()})
	}
	return s
}

func (r random) close() sortie.Close {
	return sortie.Close{MissionKey: r.hash(), PaidCount: r.Uint64() >> r.IntN(64)}
}

func TestAuthorizationsMatchTheReferenceEncoders(t *testing.T) {
	t.Parallel()
	r, contract := newRandom(1), mustABI(t)
	for i := range randomStructs {
		a, domain, signature := r.authorization(), r.domain(), r.signature()
		if got, want := a.Digest(domain.Separator()), typedDigest(t, domain, "MissionAuthorization", authorizationMessage(a)); got != want {
			t.Fatalf("%d: digest of %+v: got %s, want %s", i, a, got, want)
		}
		if got, want := a.Calldata(signature).String(), packAuthorization(t, contract, a, signature).String(); got != want {
			t.Fatalf("%d: calldata of %+v:\n got %s\nwant %s", i, a, got, want)
		}
	}
}

func TestSettlementsMatchTheReferenceEncoders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: compares many random settlements")
	}
	r, contract := newRandom(2), mustABI(t)
	for i := range randomStructs {
		s, domain, signature := r.settlement(i%21), r.domain(), r.signature()
		if got, want := s.Digest(domain.Separator()), typedDigest(t, domain, "Settlement", settlementMessage(s)); got != want {
			t.Fatalf("%d: digest of %+v: got %s, want %s", i, s, got, want)
		}
		if got, want := s.Calldata(signature).String(), packSettlement(t, contract, s, signature).String(); got != want {
			t.Fatalf("%d: calldata of %+v:\n got %s\nwant %s", i, s, got, want)
		}
	}
}

func TestClosesMatchTheReferenceEncoders(t *testing.T) {
	t.Parallel()
	r, contract := newRandom(3), mustABI(t)
	for i := range randomStructs {
		c, domain, signature := r.close(), r.domain(), r.signature()
		if got, want := c.Digest(domain.Separator()), typedDigest(t, domain, "Close", closeMessage(c)); got != want {
			t.Fatalf("%d: digest of %+v: got %s, want %s", i, c, got, want)
		}
		if got, want := c.Calldata(signature).String(), packClose(t, contract, c, signature).String(); got != want {
			t.Fatalf("%d: calldata of %+v:\n got %s\nwant %s", i, c, got, want)
		}
	}
}

// A signer with a policy hashes the content and compares: the hash must be the digest to sign.
func TestContentHashesToTheDigest(t *testing.T) {
	t.Parallel()
	r := newRandom(4)
	asked := &recordingSigner{Signer: mustSigner(t, r.hash())}
	for range 200 {
		domain := r.domain()
		settler, err := funding.NewSettler(domain, asked)
		if err != nil {
			t.Fatal(err)
		}
		issuer, err := funding.NewIssuer(domain, asked, funding.DefaultTTL)
		if err != nil {
			t.Fatal(err)
		}
		settlement := r.settlement(1 + r.IntN(20))
		for i := range settlement.Payments {
			settlement.Payments[i].Slot = uint32(i)
		}
		_, quoteErr := issuer.Quote(t.Context(), r.authorization(), noon)
		asked.matches(t, funding.PurposeAuthorization, quoteErr)
		_, settleErr := settler.SignSettlement(t.Context(), settlement)
		asked.matches(t, funding.PurposeSettlement, settleErr)
		_, closeErr := settler.SignClose(t.Context(), sortie.Close{MissionKey: r.hash(), PaidCount: r.Uint64N(sortie.MaxSlots)})
		asked.matches(t, funding.PurposeClose, closeErr)
	}
}

func (s *recordingSigner) matches(t *testing.T, purpose funding.Purpose, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	request := s.last()
	equal(t, "purpose", request.Purpose, purpose)
	content, err := json.Marshal(request.Content)
	if err != nil {
		t.Fatal(err)
	}
	var typed apitypes.TypedData
	if err := json.Unmarshal(content, &typed); err != nil {
		t.Fatalf("%v in %s", err, content)
	}
	digest, _, err := apitypes.TypedDataAndHash(typed)
	if err != nil {
		t.Fatalf("%v in %s", err, content)
	}
	equal(t, "digest of "+string(content), sortie.Hash(digest), request.Digest)
}
