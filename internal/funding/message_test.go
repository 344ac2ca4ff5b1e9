package funding_test

import (
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

func TestSignMessageIsThePortableSignature(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	portable, err := sortie.NewKey(v.Keys.Service.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	asked := &recordingSigner{Signer: v.signer(t)}
	message := []byte("Service external API request v1\nmethod:GET")
	got, err := funding.SignMessage(t.Context(), asked, message)
	if err != nil {
		t.Fatal(err)
	}
	want, err := portable.SignMessage(t.Context(), message)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "signature", got.String(), sortie.Bytes(want).String())
	equal(t, "purpose", asked.last().Purpose, funding.PurposeMessage)
	equal(t, "content", asJSON(t, asked.last().Content), `{"message":"Service external API request v1\nmethod:GET"}`)
}
