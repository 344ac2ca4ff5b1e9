package funding

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/keystore"

	"github.com/sortie-labs/sortie"
)

const (
	maxKeystoreSize = 64 << 10
	maxPasswordSize = 4 << 10
)

// openKeystore decrypts a Web3 Secret Storage file of version 3, as geth, foundry and most wallets
// write it.
func openKeystore(path, passwordPath string) (Signer, error) {
	content, err := secretFile{
		what: "keystore", path: path, limit: maxKeystoreSize,
		ifMissing: "check the path in the key reference",
	}.read()
	if err != nil {
		return nil, err
	}
	encrypted, err := parseKeystore(content)
	if err != nil {
		return nil, fmt.Errorf("keystore %s: %w", path, err)
	}
	password, err := readPassword(passwordPath)
	if err != nil {
		return nil, err
	}
	secret, err := keystore.DecryptDataV3(encrypted.Crypto, string(password))
	clear(password)
	defer clear(secret)
	switch {
	case errors.Is(err, keystore.ErrDecrypt):
		return nil, fmt.Errorf("keystore %s: the password in %s does not open it; correct it there", path, passwordPath)
	case err != nil:
		return nil, fmt.Errorf("keystore %s: damaged (%w); restore it from a backup", path, err)
	case len(secret) != 32:
		return nil, fmt.Errorf("keystore %s: it holds %d bytes and a key has 32; use another file", path, len(secret))
	}
	signer, err := NewKeySigner([32]byte(secret))
	if err != nil {
		return nil, fmt.Errorf("keystore %s: %w", path, err)
	}
	if named := encrypted.named; named != nil && *named != signer.Address() {
		return nil, fmt.Errorf("keystore %s: it names address %s but its key is that of %s; restore it from a backup", path, named, signer.Address())
	}
	return signer, nil
}

func readPassword(path string) ([]byte, error) {
	password, err := secretFile{
		what: "keystore password file", path: path, limit: maxPasswordSize,
		ifMissing: "write the password into it with mode 600, or name another file: keystore:PATH,password-file=FILE",
	}.read()
	if err != nil {
		return nil, err
	}
	password = bytes.TrimSuffix(password, []byte("\n"))
	return bytes.TrimSuffix(password, []byte("\r")), nil
}

type keystoreFile struct {
	Version int
	Address string
	Crypto  keystore.CryptoJSON

	named *sortie.Address // the address, parsed; nil if the file has none
}

// parseKeystore reads the file's structure and checks every value on which the decryption would
// panic or use unbounded memory.
func parseKeystore(content []byte) (keystoreFile, error) {
	var file keystoreFile
	if !json.Valid(content) {
		return file, errors.New("not JSON; want a Web3 Secret Storage file of version 3, as geth or cast write it")
	}
	if err := json.Unmarshal(content, &file); err != nil || file.Version != 3 {
		return file, errors.New("not a Web3 Secret Storage file of version 3; make one with geth or cast")
	}
	if text := strings.TrimPrefix(file.Address, "0x"); text != "" {
		named, err := hex.DecodeString(text)
		if err != nil || len(named) != len(sortie.Address{}) {
			return file, errors.New("its address is not 40 hex digits; restore it from a backup")
		}
		file.named = (*sortie.Address)(named)
	}
	if iv, err := hex.DecodeString(file.Crypto.CipherParams.IV); err != nil || len(iv) != 16 || file.Crypto.Cipher != "aes-128-ctr" {
		return file, errors.New("its cipher is not aes-128-ctr with an IV of 16 bytes; restore it from a backup")
	}
	return file, checkKDF(file.Crypto.KDF, file.Crypto.KDFParams)
}

func checkKDF(name string, parameters map[string]any) error {
	number := func(name string) int64 {
		value, ok := parameters[name].(float64)
		if !ok || value < 1 || value > 1<<40 || value != math.Trunc(value) {
			return 0
		}
		return int64(value)
	}
	salt, _ := parameters["salt"].(string)
	if salt == "" || number("dklen") != 32 {
		return errDamagedKDF
	}
	switch name {
	case "scrypt":
		return checkScrypt(number("n"), number("r"), number("p"))
	case "pbkdf2":
		return checkPBKDF2(number("c"), parameters["prf"])
	default:
		return errors.New("its key derivation is neither scrypt nor pbkdf2; make a new file with geth or cast")
	}
}

var (
	errDamagedKDF   = errors.New("its key derivation parameters are damaged; restore it from a backup")
	errExpensiveKDF = errors.New("its key derivation costs more than 512 MiB or a minute; make a new file with geth or cast")
)

// checkScrypt allows 512 MiB of memory, twice what geth's standard setting takes, and eight times
// its work.
func checkScrypt(n, r, p int64) error {
	const most = 1 << 22 // blocks of 128 bytes
	switch {
	case n < 2 || r < 1 || p < 1 || n&(n-1) != 0:
		return errDamagedKDF
	case n > most || r > most/n || p > 4*most/(n*r):
		return errExpensiveKDF
	}
	return nil
}

func checkPBKDF2(rounds int64, function any) error {
	switch {
	case rounds < 1 || function != "hmac-sha256":
		return errDamagedKDF
	case rounds > 10_000_000:
		return errExpensiveKDF
	}
	return nil
}
