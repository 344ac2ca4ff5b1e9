package funding_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

// goldenSignatures is the hash of a thousand signatures. It holds for every build: with cgo,
// without, and for the portable signer of package sortie.
const goldenSignatures = "0xe47f5e83fb8846183d6e01a861cc1b2ff23288e443eb567f8abb9dfddb6b5450"

func TestGoldenSignatures(t *testing.T) {
	t.Parallel()
	sum := crypto.NewKeccakState()
	for i := range uint64(1000) {
		secret, digest := goldenInput(i)
		signature, err := mustSigner(t, secret).Sign(t.Context(), funding.SignRequest{Digest: digest})
		if err != nil {
			t.Fatal(err)
		}
		portable, err := sortie.NewKey(secret)
		if err != nil {
			t.Fatal(err)
		}
		if other := portable.SignDigest(digest); other.String() != signature.String() {
			t.Fatalf("signature %d: got %s, want %s as from the portable signer", i, signature, other)
		}
		_, _ = sum.Write(signature)
	}
	equal(t, "hash of the signatures", sortie.Hash(sum.Sum(nil)).String(), goldenSignatures)
}

// goldenInput returns a fixed pseudo-random key and digest. The first few are the ends of their
// ranges. A digest is below the order of the curve's group: above it the implementations differ in
// whether they reduce it before they derive the nonce. Both signatures are valid, and one hash in
// 2^128 is that high.
func goldenInput(i uint64) (secret [32]byte, digest sortie.Hash) {
	var seed [8]byte
	binary.BigEndian.PutUint64(seed[:], i)
	secret = crypto.Keccak256Hash([]byte("secret"), seed[:])
	digest = sortie.Hash(crypto.Keccak256Hash([]byte("digest"), seed[:]))
	order := crypto.S256().Params().N
	switch i {
	case 0:
		secret = [32]byte{31: 1}
	case 1:
		order.FillBytes(secret[:])
		secret[31]--
	case 2:
		digest = sortie.Hash{}
	case 3:
		order.FillBytes(digest[:])
		digest[31]--
	}
	return secret, digest
}

// The same test again in a build without cgo, where another implementation signs.
func TestGoldenSignaturesWithoutCgo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the package a second time")
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^(TestGoldenSignatures|TestVectors)$", "-v", ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go test without cgo: got %v, want success:\n%s", err, output)
	}
	for _, name := range []string{"TestGoldenSignatures", "TestVectors"} {
		if !bytes.Contains(output, []byte("--- PASS: "+name+" ")) {
			t.Errorf("%s did not run:\n%s", name, output)
		}
	}
}
