package sortie_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	const address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
	for _, text := range []string{address, strings.ToLower(address), "0x" + strings.ToUpper(address[2:])} {
		parsed, err := sortie.ParseAddress(text)
		if err != nil || parsed.String() != address {
			t.Errorf("ParseAddress(%s): got %v, %v; want %s", text, parsed, err, address)
		}
	}
	for name, text := range map[string]string{
		"wrong checksum": "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "no prefix": address[2:], "upper prefix": "0X" + address[2:],
		"39 digits": address[:41], "41 digits": address + "0", "empty": "", "name": "vitalik.eth", "space": " " + address,
		"other digits": "0x" + strings.Repeat("é", 20), "not hex": "0x" + strings.Repeat("g", 40),
	} {
		if parsed, err := sortie.ParseAddress(text); err == nil {
			t.Errorf("%s: got %v, want an error", name, parsed)
		}
	}
}

func TestRecoverAddressRefusesOtherForms(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	digest, good := v.Authorization.Digest, v.Authorization.Signature
	order, _ := new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)
	alter := func(change func(sortie.Bytes)) sortie.Bytes {
		altered := bytes.Clone(good)
		change(altered)
		return altered
	}
	for name, signature := range map[string]sortie.Bytes{
		"high s twin": alter(func(s sortie.Bytes) {
			new(big.Int).Sub(order, new(big.Int).SetBytes(s[32:64])).FillBytes(s[32:64])
			s[64] ^= 27 ^ 28
		}),
		"v 0": alter(func(s sortie.Bytes) { s[64] -= 27 }), "v 29": alter(func(s sortie.Bytes) { s[64] = 29 }),
		"v 35": alter(func(s sortie.Bytes) { s[64] = 35 }), "r zero": alter(func(s sortie.Bytes) { clear(s[:32]) }),
		"s zero": alter(func(s sortie.Bytes) { clear(s[32:64]) }), "r over the order": alter(func(s sortie.Bytes) { order.FillBytes(s[:32]) }),
		"64 bytes": good[:64], "66 bytes": append(bytes.Clone(good), 0), "nothing": nil,
	} {
		if signer, err := sortie.RecoverAddress(digest, signature); !errors.Is(err, sortie.ErrInvalidSignature) {
			t.Errorf("%s: got signer %v, error %v; want %v", name, signer, err, sortie.ErrInvalidSignature)
		}
	}
}

func TestKeysAreNeverPrinted(t *testing.T) {
	t.Parallel()
	const secret = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
	key := mustKey(t, secret)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("start", "key", key)
	holder := struct{ Key *sortie.Key }{key}
	printed := logged.String() + fmt.Sprintf("%v %+v %#v %s %v", key, key, key, key, holder)
	if strings.Contains(strings.ToLower(printed), secret[:16]) || strings.Contains(printed, "172 9 116 190") {
		t.Errorf("printed the secret: %s", printed)
	}
	for _, text := range []string{secret[:62] + "zz", secret + "00", "", strings.Repeat("0", 64), strings.Repeat("f", 64)} {
		_, err := sortie.ParseKey(text)
		if err == nil || (text != "" && strings.Contains(err.Error(), text)) {
			t.Errorf("ParseKey of %d characters: got %v, want an error without the text", len(text), err)
		}
	}
}

func TestSignRequestNeedsAnAbsoluteURL(t *testing.T) {
	t.Parallel()
	request, err := http.NewRequest(http.MethodGet, "/api/external/missions", nil)
	if err != nil {
		t.Fatal(err)
	}
	key := mustKey(t, loadVectors(t).Keys.Creator.PrivateKey)
	if err := sortie.SignRequest(context.Background(), request, nil, key, time.Unix(1770000000, 0)); err == nil {
		t.Error("signed a relative URL")
	}
}

func FuzzDecodeCalldata(f *testing.F) {
	f.Add([]byte(loadVectors(f).Authorization.Calldata))
	f.Fuzz(func(t *testing.T, data []byte) {
		authorization, signature, err := sortie.DecodeCalldata(data)
		if err == nil && !bytes.Equal(authorization.Calldata(signature), data) {
			t.Fatal("decoded bytes that encode differently")
		}
	})
}
