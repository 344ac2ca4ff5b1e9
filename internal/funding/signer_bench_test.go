package funding

import "testing"

// A checked signature costs signing and recovering.

func BenchmarkSign(b *testing.B) {
	signer, err := NewKeySigner([32]byte{31: 1})
	if err != nil {
		b.Fatal(err)
	}
	unchecked, request := signer.(checked).signer, SignRequest{Digest: [32]byte{1}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := unchecked.Sign(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecover(b *testing.B) {
	signer, err := NewKeySigner([32]byte{31: 1})
	if err != nil {
		b.Fatal(err)
	}
	request := SignRequest{Digest: [32]byte{1}}
	signature, err := signer.Sign(b.Context(), request)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := checkSignature(request.Digest, signature, signer.Address()); err != nil {
			b.Fatal(err)
		}
	}
}
