//go:build unix

package funding_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

const password = "correct horse, battery: staple "

// newKeystore returns a keystore file as geth writes it, with the service key of the vectors and a
// cheap key derivation.
func newKeystore(t testing.TB) map[string]any {
	t.Helper()
	secret, err := crypto.ToECDSA(secretBytes(t))
	if err != nil {
		t.Fatal(err)
	}
	content, err := keystore.EncryptKey(&keystore.Key{
		Id: uuid.UUID{}, Address: crypto.PubkeyToAddress(secret.PublicKey), PrivateKey: secret,
	}, password, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func secretBytes(t testing.TB) []byte {
	t.Helper()
	secret := loadVectors(t).Keys.Service.PrivateKey
	return secret[:]
}

func write(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, reference string) (funding.Signer, error) {
	t.Helper()
	key, err := funding.ParseKeyRef(reference)
	if err != nil {
		t.Fatal(err)
	}
	return key.Open(t.Context(), 84532, nil)
}

func TestKeystoreOpens(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	file := newKeystore(t)
	withoutAddress := newKeystore(t)
	delete(withoutAddress, "address")
	prefixed := newKeystore(t)
	prefixed["address"] = v.Keys.Service.Address.String()
	cases := map[string]struct {
		file       map[string]any
		password   string
		mode       os.FileMode
		named, via bool
	}{
		"as geth writes it":       {file: file, password: password, mode: 0o600},
		"password with newline":   {file: file, password: password + "\n", mode: 0o600},
		"password with CRLF":      {file: file, password: password + "\r\n", mode: 0o600},
		"read-only":               {file: file, password: password, mode: 0o400},
		"no address in it":        {file: withoutAddress, password: password, mode: 0o600},
		"prefixed mixed address":  {file: prefixed, password: password, mode: 0o600},
		"password file elsewhere": {file: file, password: password, mode: 0o600, named: true},
		"through a link":          {file: file, password: password, mode: 0o600, via: true},
	}
	for name, good := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "key.json")
			write(t, path, asJSON(t, good.file), good.mode)
			reference, passwordPath := "keystore:"+path, path+".password"
			if good.named {
				passwordPath = filepath.Join(t.TempDir(), "secret")
				reference += ",password-file=" + passwordPath
			}
			write(t, passwordPath, good.password, good.mode)
			if good.via {
				link := filepath.Join(t.TempDir(), "link")
				if err := os.Symlink(path, link); err != nil {
					t.Fatal(err)
				}
				reference = "keystore:" + link + ",password-file=" + passwordPath
			}
			signer, err := open(t, reference)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "address", signer.Address(), v.Keys.Service.Address)
			signature, err := signer.Sign(t.Context(), funding.SignRequest{Digest: v.Close.Digest})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "signature", signature.String(), v.Close.Signature.String())
		})
	}
}

// A file that another program made with the other key derivation: the test vector of the Web3
// Secret Storage definition.
func TestKeystoreOpensPBKDF2(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key.json")
	write(t, path, `{"crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":"6087dab2f9fdbbfaddc31a909735c1e6"},
		"ciphertext":"5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46","kdf":"pbkdf2",
		"kdfparams":{"c":262144,"dklen":32,"prf":"hmac-sha256","salt":"ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"},
		"mac":"517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2"},
		"id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}`, 0o600)
	write(t, path+".password", "testpassword", 0o600)
	signer, err := open(t, "keystore:"+path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "address", signer.Address(), sortie.MustAddress("0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b"))
}

// damage returns an altered keystore file.
func damage(t testing.TB, alter func(file, cryptography, kdf map[string]any)) string {
	t.Helper()
	file := newKeystore(t)
	cryptography := file["crypto"].(map[string]any)
	alter(file, cryptography, cryptography["kdfparams"].(map[string]any))
	return asJSON(t, file)
}

func setKDF(name string, value any) func(_, _, kdf map[string]any) {
	return func(_, _, kdf map[string]any) { kdf[name] = value }
}

func TestKeystoreRefusesDamagedFiles(t *testing.T) {
	t.Parallel()
	const (
		notVersion3  = "not a Web3 Secret Storage file of version 3; make one with geth or cast"
		damagedKDF   = "its key derivation parameters are damaged; restore it from a backup"
		expensiveKDF = "its key derivation costs more than 512 MiB or a minute; make a new file with geth or cast"
		badCipher    = "its cipher is not aes-128-ctr with an IV of 16 bytes; restore it from a backup"
	)
	cases := map[string]struct{ content, want string }{
		"empty":       {"", "empty; check the path or write it again"},
		"white space": {" \n", "empty; check the path or write it again"},
		"large":       {strings.Repeat(" ", 64<<10) + "{}", "larger than 65536 bytes, so it is something else; check the path"},
		"raw key":     {loadVectors(t).Keys.Service.PrivateKey.String(), "not JSON; want a Web3 Secret Storage file of version 3, as geth or cast write it"},
		"cut":         {`{"version":3,`, "not JSON; want a Web3 Secret Storage file of version 3, as geth or cast write it"},
		"array":       {`[]`, notVersion3},
		"no version":  {`{}`, notVersion3},
		"version 1":   {damage(t, func(file, _, _ map[string]any) { file["version"] = "1" }), notVersion3},
		"version 4":   {damage(t, func(file, _, _ map[string]any) { file["version"] = 4 }), notVersion3},
		"bad address": {damage(t, func(file, _, _ map[string]any) { file["address"] = "70997970" }), "its address is not 40 hex digits; restore it from a backup"},
		"other address": {
			damage(t, func(file, _, _ map[string]any) { file["address"] = "f39fd6e51aad88f6f4ce6ab8827279cfffb92266" }),
			"it names address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 but its key is that of 0x70997970C51812dc3A010C7d01b50e0d17dc79C8; restore it from a backup",
		},
		"short IV": {damage(t, func(_, cryptography, _ map[string]any) { cryptography["cipherparams"] = map[string]any{"iv": "00"} }), badCipher},
		"cipher":   {damage(t, func(_, cryptography, _ map[string]any) { cryptography["cipher"] = "aes-128-cbc" }), badCipher},
		"odd MAC": {
			damage(t, func(_, cryptography, _ map[string]any) { cryptography["mac"] = "x" }),
			"damaged (encoding/hex: invalid byte: U+0078 'x'); restore it from a backup",
		},
		"KDF": {
			damage(t, func(_, cryptography, _ map[string]any) { cryptography["kdf"] = "argon2" }),
			"its key derivation is neither scrypt nor pbkdf2; make a new file with geth or cast",
		},
		"no salt":         {damage(t, func(_, _, kdf map[string]any) { delete(kdf, "salt") }), damagedKDF},
		"salt a number":   {damage(t, setKDF("salt", 1)), damagedKDF},
		"short key":       {damage(t, setKDF("dklen", 8)), damagedKDF},
		"n of 0":          {damage(t, setKDF("n", 0)), damagedKDF},
		"n a text":        {damage(t, setKDF("n", "8")), damagedKDF},
		"n no power of 2": {damage(t, setKDF("n", 3)), damagedKDF},
		"n a fraction":    {damage(t, setKDF("n", 2.5)), damagedKDF},
		"r missing":       {damage(t, setKDF("r", nil)), damagedKDF},
		"64 GiB":          {damage(t, setKDF("n", 1<<26)), expensiveKDF},
		"1 GiB":           {damage(t, func(_, _, kdf map[string]any) { kdf["n"], kdf["r"] = 1<<18, 32 }), expensiveKDF},
		"16 times":        {damage(t, func(_, _, kdf map[string]any) { kdf["n"], kdf["p"] = 1<<18, 16 }), expensiveKDF},
		"huge p":          {damage(t, setKDF("p", 1<<30)), expensiveKDF},
		"huge r":          {damage(t, setKDF("r", 1<<39)), expensiveKDF},
		"PRF":             {damage(t, func(_, c, kdf map[string]any) { c["kdf"], kdf["c"], kdf["prf"] = "pbkdf2", 1, "md5" }), damagedKDF},
		"endless rounds":  {damage(t, func(_, c, kdf map[string]any) { c["kdf"], kdf["c"], kdf["prf"] = "pbkdf2", 1<<39, "hmac-sha256" }), expensiveKDF},
	}
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "key.json")
			write(t, path, bad.content, 0o600)
			write(t, path+".password", password, 0o600)
			_, err := open(t, "keystore:"+path)
			failsWith(t, err, "keystore "+path+": "+bad.want)
		})
	}
}

func TestKeystoreRefusesUnsafeFiles(t *testing.T) {
	t.Parallel()
	content := asJSON(t, newKeystore(t))
	cases := map[string]struct {
		arrange func(t *testing.T, path string)
		want    string // KEY and PASSWORD are replaced by the paths
	}{
		"no keystore": {
			func(t *testing.T, path string) { remove(t, path) },
			"keystore KEY: not found; check the path in the key reference",
		},
		"keystore others read": {
			func(t *testing.T, path string) { write(t, path, content, 0o644) },
			"keystore KEY: mode 0644 gives other users access; run: chmod 600 KEY",
		},
		"keystore the group reads": {
			func(t *testing.T, path string) { write(t, path, content, 0o640) },
			"keystore KEY: mode 0640 gives other users access; run: chmod 600 KEY",
		},
		"link to what others read": {
			func(t *testing.T, path string) {
				remove(t, path)
				write(t, path+".open", content, 0o604)
				if err := os.Symlink(path+".open", path); err != nil {
					t.Fatal(err)
				}
			},
			"keystore KEY: mode 0604 gives other users access; run: chmod 600 KEY",
		},
		"directory": {
			func(t *testing.T, path string) {
				remove(t, path)
				if err := os.Mkdir(path, 0o700); err != nil {
					t.Fatal(err)
				}
			},
			"keystore KEY: not a regular file; check the path",
		},
		"named pipe": {
			func(t *testing.T, path string) {
				remove(t, path)
				if err := syscall.Mkfifo(path, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"keystore KEY: not a regular file; check the path",
		},
		"link to itself": {
			func(t *testing.T, path string) {
				remove(t, path)
				if err := os.Symlink(path, path); err != nil {
					t.Fatal(err)
				}
			},
			"keystore KEY: cannot be opened: too many levels of symbolic links",
		},
		"no password": {
			func(t *testing.T, path string) { remove(t, path+".password") },
			"keystore password file PASSWORD: not found; write the password into it with mode 600, or name another file: keystore:PATH,password-file=FILE",
		},
		"password others read": {
			func(t *testing.T, path string) { write(t, path+".password", password, 0o604) },
			"keystore password file PASSWORD: mode 0604 gives other users access; run: chmod 600 PASSWORD",
		},
		"empty password": {
			func(t *testing.T, path string) { write(t, path+".password", "\n", 0o600) },
			"keystore password file PASSWORD: empty; check the path or write it again",
		},
		"huge password": {
			func(t *testing.T, path string) { write(t, path+".password", strings.Repeat("x", 4097), 0o600) },
			"keystore password file PASSWORD: larger than 4096 bytes, so it is something else; check the path",
		},
		"wrong password": {
			func(t *testing.T, path string) { write(t, path+".password", "guess", 0o600) },
			"keystore KEY: the password in PASSWORD does not open it; correct it there",
		},
		"password with two newlines": {
			func(t *testing.T, path string) { write(t, path+".password", password+"\n\n", 0o600) },
			"keystore KEY: the password in PASSWORD does not open it; correct it there",
		},
	}
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "key.json")
			write(t, path, content, 0o600)
			write(t, path+".password", password, 0o600)
			bad.arrange(t, path)
			_, err := open(t, "keystore:"+path)
			want := strings.NewReplacer("KEY", path, "PASSWORD", path+".password").Replace(bad.want)
			failsWith(t, err, want)
		})
	}
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
