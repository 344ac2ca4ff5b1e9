package wallet_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/wallet"
)

var (
	walletForm    = regexp.MustCompile(`\A0x[0-9a-fA-F]{40}\z`)
	timestampForm = regexp.MustCompile(`\A([0-9]{10}|[0-9]{13})\z`)
	signatureForm = regexp.MustCompile(`\A0x([0-9a-fA-F]{2})+\z`)
)

// No headers cause a panic. A refusal is a 4xx with one of our codes, and accepted headers have the
// documented form. The second implementation of recovery, in the client's package, confirms every
// accepted signature.
func FuzzVerify(f *testing.F) {
	for _, m := range []message{signedList(), signedCreate(), signedOverEmptyHash(claiming(creator.Address()), creator)} {
		f.Add(m.method, m.target, m.host, m.header(sortie.HeaderWallet), m.header(sortie.HeaderTimestamp),
			m.header(sortie.HeaderSignature), m.header(sortie.HeaderIdempotencyKey), []byte(m.body))
	}
	f.Add("GET", "http://evil.example/", "evil.example", "0X00", "+177000000", "0x"+strings.Repeat("6492", 16), "a\nwallet:0x", []byte(nil))
	verifier := newVerifier(f, wallet.Config{Call: saysNo})
	f.Fuzz(func(t *testing.T, method, target, host, walletText, timestamp, signature, key string, body []byte) {
		r := &http.Request{Method: method, RequestURI: target, Host: host, Header: http.Header{
			sortie.HeaderWallet: {walletText}, sortie.HeaderTimestamp: {timestamp}, sortie.HeaderSignature: {signature},
			sortie.HeaderIdempotencyKey: {key},
		}}
		identity, err := verifier.Verify(t.Context(), r, body, nil)
		var coded *sortie.Error
		if err != nil && (!errors.As(err, &coded) || coded.Code.HTTPStatus()/100 != 4) {
			t.Fatalf("got %v", err)
		}
		if err != nil && coded.Code != sortie.CodeInvalidSignature && coded.Code != sortie.CodeTimestampOutOfRange {
			return
		}
		if !walletForm.MatchString(walletText) || !timestampForm.MatchString(timestamp) || !signatureForm.MatchString(signature) {
			t.Fatalf("taken as well-formed: wallet %q, timestamp %q, signature %q", walletText, timestamp, signature)
		}
		if err != nil {
			if text, sent := coded.Details["signedMessage"].(string); sent && strings.Count(text, "\n") != 6 {
				t.Fatalf("the text has not seven lines: %q", text)
			}
			return
		}
		plain, _ := sortie.ParseBytes(signature)
		if plain[64] < 27 {
			plain[64] += 27
		}
		if signer, err := sortie.RecoverAddress(identity.Digest, plain); err != nil || signer != identity.Wallet || !strings.EqualFold(signer.String(), walletText) {
			t.Fatalf("accepted for %s, recovered %s, %v", identity.Wallet, signer, err)
		}
	})
}
