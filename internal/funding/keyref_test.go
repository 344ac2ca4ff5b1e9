package funding_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie/internal/funding"
)

func TestParseKeyRefKeepsTheText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"keystore:key.json", "keystore:/etc/sortie/key with space.json", "keystore:a,password-file=b", "keystore:C:/keys/a",
		"command:./sign", "command:/usr/local/bin/sign-with-kms", "dev:0", "dev:2147483647",
	} {
		key, err := funding.ParseKeyRef(text)
		if err != nil {
			t.Errorf("ParseKeyRef(%s): got %v, want no error", text, err)
			continue
		}
		equal(t, "text", key.String(), text)
	}
	equal(t, "zero value", funding.KeyRef{}.String(), "")
}

func TestParseKeyRefRefuses(t *testing.T) {
	t.Parallel()
	secret := loadVectors(t).Keys.Service.PrivateKey.String()
	const (
		unknown  = "want keystore:PATH, command:PATH or dev:N"
		rawKey   = "a raw private key is not accepted, because other users can read arguments and environments; put it into a keystore file (geth account import, cast wallet import) and give keystore:PATH"
		keystore = "want keystore:PATH or keystore:PATH,password-file=FILE"
		dev      = "want dev:N with N a number from 0"
	)
	cases := map[string]string{
		"":                                   unknown,
		"key.json":                           unknown,
		"keystore":                           unknown,
		"keystore:":                          unknown,
		"command:":                           unknown,
		"dev:":                               unknown,
		"Keystore:a":                         unknown,
		"file:a":                             unknown,
		"env:KEY":                            unknown,
		"test test test junk":                unknown,
		"keystore:a\nb":                      unknown,
		"keystore:,password-file=b":          keystore,
		"keystore:a,password-file=":          keystore,
		"dev:-1":                             dev,
		"dev:+1":                             dev,
		"dev:1.0":                            dev,
		"dev:x":                              dev,
		"dev:2147483648":                     dev,
		secret:                               rawKey,
		secret[2:]:                           rawKey,
		strings.ToUpper(secret):              rawKey,
		" " + secret + "\n":                  rawKey,
		"key:" + secret:                      rawKey,
		"keystore:" + secret:                 rawKey,
		"dev:" + secret[2:]:                  rawKey,
		"command:" + secret:                  rawKey,
		secret + ",password-file=x":          unknown,
		"raw:" + secret + ",password-file=x": unknown,
		"mnemonic:" + strings.Repeat("junk ", 12): unknown,
	}
	for text, want := range cases {
		_, err := funding.ParseKeyRef(text)
		failsWith(t, err, want)
	}
}

func TestDevKeysAreForDevelopmentChains(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	key, err := funding.ParseKeyRef("dev:1")
	if err != nil {
		t.Fatal(err)
	}
	devKeys := func(chainID uint64, n int) ([32]byte, error) {
		if n != 1 {
			return [32]byte{}, errors.New("no such key")
		}
		return v.Keys.Service.PrivateKey, nil
	}
	for _, chainID := range []uint64{1337, 31337} {
		signer, err := key.Open(t.Context(), chainID, devKeys)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "address", signer.Address(), v.Keys.Service.Address)
	}
	for _, chainID := range []uint64{0, 1, 84532} {
		_, err := key.Open(t.Context(), chainID, func(uint64, int) ([32]byte, error) {
			t.Error("devKeys was called; want no call on this chain")
			return [32]byte{}, nil
		})
		failsWith(t, err, "dev:1: the development keys are public, so they work on chain ids 1337 and 31337 only and this is chain "+
			strconv.FormatUint(chainID, 10)+"; use keystore:PATH or command:PATH")
	}
	_, err = key.Open(t.Context(), 31337, nil)
	failsWith(t, err, "dev:1: this program has no development keys; use keystore:PATH or command:PATH")
	second, err := funding.ParseKeyRef("dev:2")
	if err != nil {
		t.Fatal(err)
	}
	_, err = second.Open(t.Context(), 31337, devKeys)
	failsWith(t, err, "dev:2: no such key")
	_, err = funding.KeyRef{}.Open(t.Context(), 31337, devKeys)
	failsWith(t, err, "want keystore:PATH, command:PATH or dev:N")
}
