package devnet

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/binary"
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// hardened marks the steps of a BIP-32 path that need the private key.
const hardened = 1 << 31

// accountPath is m/44'/60'/0'/0, under which every Ethereum wallet numbers its accounts.
var accountPath = []uint32{44 | hardened, 60 | hardened, 0 | hardened, 0}

// hdKey is a node of a BIP-32 tree of private keys.
type hdKey struct {
	secret secp256k1.ModNScalar
	chain  [32]byte
}

// masterKey returns the root of the tree of a BIP-39 mnemonic without a passphrase. It does not
// check the mnemonic's checksum: the only mnemonic used here is a constant.
func masterKey(mnemonic string) (hdKey, error) {
	seed, err := pbkdf2.Key(sha512.New, mnemonic, []byte("mnemonic"), 2048, 64)
	if err != nil {
		return hdKey{}, fmt.Errorf("stretch mnemonic: %w", err)
	}
	return hdKey{}.derive([]byte("Bitcoin seed"), seed)
}

// path returns the key at the end of a path.
func (k hdKey) path(steps ...uint32) (hdKey, error) {
	for _, step := range steps {
		child, err := k.child(step)
		if err != nil {
			return hdKey{}, err
		}
		k = child
	}
	return k, nil
}

func (k hdKey) child(index uint32) (hdKey, error) {
	var data []byte
	if index >= hardened {
		secret := k.secret.Bytes()
		data = append([]byte{0}, secret[:]...)
	} else {
		data = secp256k1.NewPrivateKey(&k.secret).PubKey().SerializeCompressed()
	}
	return k.derive(k.chain[:], binary.BigEndian.AppendUint32(data, index))
}

// derive adds the left half of HMAC-SHA512(key, data) to the secret and takes the right half as the
// new chain code.
func (k hdKey) derive(key, data []byte) (hdKey, error) {
	mac := hmac.New(sha512.New, key)
	mac.Write(data)
	sum := mac.Sum(nil)

	var tweak secp256k1.ModNScalar
	overflow := tweak.SetByteSlice(sum[:32])
	derived := hdKey{chain: [32]byte(sum[32:])}
	derived.secret.Add2(&k.secret, &tweak)
	if overflow || derived.secret.IsZero() {
		return hdKey{}, fmt.Errorf("derive key: the hash is outside the curve's order") // one chance in 2^127
	}
	return derived, nil
}
