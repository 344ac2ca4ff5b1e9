package wallet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// BenchmarkVerify measures a plain key's request against its limit, the bare recovery of the same
// signature, turn by turn so that both see the same machine, and compares the medians. x-bare is
// the ratio.
func BenchmarkVerify(b *testing.B) {
	for name, m := range map[string]message{"list": signedList(), "create": signedCreate()} {
		b.Run(name, func(b *testing.B) {
			verifier := newVerifier(b, wallet.Config{})
			request, body := m.received(b), []byte(m.body)
			digest := m.request(publicURL).Digest()
			signature, err := sortie.ParseBytes(m.header(sortie.HeaderSignature))
			if err != nil {
				b.Fatal(err)
			}
			signature[64] -= 27
			var bare, whole []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				if _, err := crypto.Ecrecover(digest[:], signature); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				if _, err := verifier.Verify(b.Context(), request, body, nil); err != nil {
					b.Fatal(err)
				}
				bare, whole = append(bare, middle.Sub(start)), append(whole, time.Since(middle))
			}
			b.ReportMetric(median(whole)/median(bare), "x-bare")
			b.ReportMetric(median(whole), "ns/verify")
			b.ReportMetric(median(bare), "ns/recover")
		})
	}
}

func median(durations []time.Duration) float64 {
	slices.Sort(durations)
	return float64(durations[len(durations)/2].Nanoseconds())
}

// BenchmarkContractCheck measures a contract wallet's first request on an EVM in this process, and
// the same one remembered.
func BenchmarkContractCheck(b *testing.B) {
	c := openChain()
	request := claiming(c.mine).signedBy(owner).received(b)
	b.Run("asked", func(b *testing.B) {
		for b.Loop() {
			if _, err := newVerifier(b, wallet.Config{Call: c.call}).Verify(b.Context(), request, nil, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("remembered", func(b *testing.B) {
		verifier := newVerifier(b, wallet.Config{Call: c.call})
		for b.Loop() {
			if _, err := verifier.Verify(b.Context(), request, nil, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
