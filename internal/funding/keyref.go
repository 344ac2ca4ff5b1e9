package funding

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/sortie-labs/sortie"
)

// KeyRef names the place of a key. It holds no secret, so it may be printed and logged.
//
//	keystore:PATH                       a keystore file; its password is in PATH.password
//	keystore:PATH,password-file=FILE    the same with the password in another file
//	command:PATH                        a program that holds the key, see below
//	dev:N                               the N-th key of the development mnemonic, on development chains only
//
// A command is started once for each request, without arguments, without a shell and with a
// minimal environment. It reads one JSON object from its standard input and writes its answer to
// standard output:
//
//	{"version":1,"operation":"address"}
//	    -> the key's address as text
//	{"version":1,"operation":"sign","address":"0x...","digest":"0x...","purpose":"settlement","content":{...}}
//	    -> the signature of the digest as text: 0x and 130 hex digits, r, s, v with low s and v 27 or 28
//
// The content is that of [SignRequest]; a command with a policy must hash it itself and compare,
// and should take its nonces from RFC 6979, so that a quote keeps its bytes over a restart. To
// refuse, it writes one line to standard error and exits with a status other than zero.
type KeyRef struct {
	scheme       keyScheme
	path         string
	passwordPath string // empty: path with ".password" appended
	index        int
}

type keyScheme string

const (
	schemeKeystore keyScheme = "keystore"
	schemeCommand  keyScheme = "command"
	schemeDev      keyScheme = "dev"
)

const passwordOption = ",password-file="

var (
	errKeyRef = errors.New("want keystore:PATH, command:PATH or dev:N")
	errRawKey = errors.New("a raw private key is not accepted, because other users can read arguments and environments; put it into a keystore file (geth account import, cast wallet import) and give keystore:PATH")
)

// ParseKeyRef reads a key reference. Errors do not repeat the text, because it might be a key.
func ParseKeyRef(text string) (KeyRef, error) {
	name, value, found := strings.Cut(text, ":")
	switch {
	case isRawKey(text) || isRawKey(value):
		return KeyRef{}, errRawKey
	case !found || value == "" || strings.ContainsFunc(text, unicode.IsControl):
		return KeyRef{}, errKeyRef
	}
	switch scheme := keyScheme(name); scheme {
	case schemeKeystore:
		path, passwordPath, named := strings.Cut(value, passwordOption)
		if path == "" || (named && passwordPath == "") {
			return KeyRef{}, errors.New("want keystore:PATH or keystore:PATH,password-file=FILE")
		}
		return KeyRef{scheme: scheme, path: path, passwordPath: passwordPath}, nil
	case schemeCommand:
		return KeyRef{scheme: scheme, path: value}, nil
	case schemeDev:
		index, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return KeyRef{}, errors.New("want dev:N with N a number from 0")
		}
		return KeyRef{scheme: scheme, index: int(index)}, nil
	default:
		return KeyRef{}, errKeyRef
	}
}

func isRawKey(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) > 1 && (text[:2] == "0x" || text[:2] == "0X") {
		text = text[2:]
	}
	secret, err := hex.DecodeString(text)
	return err == nil && len(secret) == 32
}

// String returns the reference in the form that [ParseKeyRef] reads; empty for the zero value.
func (k KeyRef) String() string {
	switch {
	case k.scheme == "":
		return ""
	case k.scheme == schemeDev:
		return fmt.Sprintf("%s:%d", k.scheme, k.index)
	case k.passwordPath != "":
		return fmt.Sprintf("%s:%s%s%s", k.scheme, k.path, passwordOption, k.passwordPath)
	default:
		return fmt.Sprintf("%s:%s", k.scheme, k.path)
	}
}

// DevKeys returns the N-th key of the development mnemonic, or an error on a chain that is not for
// development.
type DevKeys func(chainID uint64, n int) ([32]byte, error)

// Open returns the signer that the reference names, for use on one chain. It decrypts a keystore,
// asks a command for its address, or takes a development key from devKeys. Every error is one line
// that says what to do.
func (k KeyRef) Open(ctx context.Context, chainID uint64, devKeys DevKeys) (Signer, error) {
	switch k.scheme {
	case schemeKeystore:
		passwordPath := k.passwordPath
		if passwordPath == "" {
			passwordPath = k.path + ".password"
		}
		return openKeystore(k.path, passwordPath)
	case schemeCommand:
		return openCommand(ctx, k.path, defaultCommandLimits)
	case schemeDev:
		return k.openDev(chainID, devKeys)
	default:
		return nil, errKeyRef
	}
}

func (k KeyRef) openDev(chainID uint64, devKeys DevKeys) (Signer, error) {
	if !sortie.IsDevelopmentChain(chainID) {
		return nil, fmt.Errorf("%s: the development keys are public, so they work on chain ids 1337 and 31337 only and this is chain %d; use keystore:PATH or command:PATH", k, chainID)
	}
	if devKeys == nil {
		return nil, fmt.Errorf("%s: this program has no development keys; use keystore:PATH or command:PATH", k)
	}
	secret, err := devKeys(chainID, k.index)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	return NewKeySigner(secret)
}
