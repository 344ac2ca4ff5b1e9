package wallet

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

// MaxSignatureBytes bounds a signature. The longest in use, a passkey signature in an ERC-6492
// wrapper with the deployment of a multi-owner account, has about 2 KiB. A server that reads less
// than 17 KiB of headers sets a lower bound.
const MaxSignatureBytes = 8 << 10

// credentials are the three wallet headers, well-formed but not yet verified.
type credentials struct {
	wallet        sortie.Address
	walletText    string // as sent; it is part of the signed text
	timestampText string
	signature     []byte
}

// readCredentials parses the headers of a request. It fails with missing_auth_headers or
// invalid_auth_headers.
func readCredentials(header http.Header) (credentials, error) {
	wallets, timestamps, signatures := header[sortie.HeaderWallet], header[sortie.HeaderTimestamp], header[sortie.HeaderSignature]
	if len(wallets) == 0 || len(timestamps) == 0 || len(signatures) == 0 {
		return credentials{}, missingHeaders(header)
	}
	if len(wallets) > 1 || len(timestamps) > 1 || len(signatures) > 1 {
		return credentials{}, invalidHeader("a wallet header appears more than once: send each of the three exactly once")
	}
	wallet, err := parseWallet(wallets[0])
	if err != nil {
		return credentials{}, err
	}
	if !isTimestamp(timestamps[0]) {
		return credentials{}, invalidHeader("%s %.40q: want Unix time, 10 digits of seconds or 13 of milliseconds",
			sortie.HeaderTimestamp, timestamps[0])
	}
	signature, err := parseSignature(signatures[0])
	if err != nil {
		return credentials{}, err
	}
	return credentials{wallet, wallets[0], timestamps[0], signature}, nil
}

func missingHeaders(header http.Header) error {
	var missing []string
	for _, name := range []string{sortie.HeaderWallet, sortie.HeaderTimestamp, sortie.HeaderSignature} {
		if len(header[name]) == 0 {
			missing = append(missing, name)
		}
	}
	return sortie.NewError(sortie.CodeMissingAuthHeaders, "missing %s: every request is signed by a wallet and carries three headers",
		strings.Join(missing, ", ")).Detail("missing", missing)
}

func invalidHeader(format string, args ...any) *sortie.Error {
	return sortie.NewError(sortie.CodeInvalidAuthHeaders, format, args...)
}

func parseWallet(text string) (sortie.Address, error) {
	wallet, err := sortie.ParseAddress(text)
	if err != nil {
		return sortie.Address{}, invalidHeader("%s: %v", sortie.HeaderWallet, err)
	}
	if isReserved(wallet) {
		return sortie.Address{}, invalidHeader("%s: %s is not a wallet: it is the zero address or reserved for built-in contracts",
			sortie.HeaderWallet, text)
	}
	return wallet, nil
}

// isReserved reports whether an address is below 0x10000: the zero address, the precompiles (0x01
// to 0x11, 0x100) and the system contracts of rollups. They have no keys, and the result of a
// precompile could be mistaken for that of a wallet.
func isReserved(address sortie.Address) bool {
	return [18]byte(address[:18]) == [18]byte{}
}

// isTimestamp reports whether the text is 10 or 13 ASCII digits. Such a number fits an int64.
func isTimestamp(text string) bool {
	if len(text) != 10 && len(text) != 13 {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// signedAt returns the timestamp as a time.
func (c credentials) signedAt() (time.Time, bool) {
	claimed, err := strconv.ParseInt(c.timestampText, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	if len(c.timestampText) == 13 {
		return time.UnixMilli(claimed), true
	}
	return time.Unix(claimed, 0), true
}

// checkClock compares the timestamp with the service's clock, in the timestamp's unit: a client
// that sends seconds has dropped the fraction, so the service drops it too. It fails with
// timestamp_out_of_range.
func (c credentials) checkClock(now time.Time) error {
	claimed, err := strconv.ParseInt(c.timestampText, 10, 64)
	if err != nil {
		return invalidHeader("%s: %v", sortie.HeaderTimestamp, err)
	}
	actual, limit := now.Unix(), int64(sortie.MaxClockSkew/time.Second)
	if len(c.timestampText) == 13 {
		actual, limit = now.UnixMilli(), sortie.MaxClockSkew.Milliseconds()
	}
	if skew := claimed - actual; skew < -limit || skew > limit {
		return sortie.NewError(sortie.CodeTimestampOutOfRange,
			"the timestamp is more than %d s away from the service's clock: sign again with the current time, details.serverTime",
			int(sortie.MaxClockSkew.Seconds())).
			Detail("serverTime", now.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return nil
}

func parseSignature(text string) ([]byte, error) {
	if len(text) > len("0x")+2*MaxSignatureBytes {
		return nil, invalidHeader("%s: longer than %d bytes", sortie.HeaderSignature, MaxSignatureBytes)
	}
	signature, err := sortie.ParseBytes(text)
	if err != nil {
		return nil, invalidHeader("%s: %v", sortie.HeaderSignature, err)
	}
	return signature, nil // empty: the wallet's contract has approved the digest on chain
}

// readIdempotencyKey returns the key as sent; it is empty if there is none. It only refuses keys
// that would make the signed text ambiguous, with invalid_idempotency_key.
func readIdempotencyKey(header http.Header) (string, error) {
	keys := header[sortie.HeaderIdempotencyKey]
	switch {
	case len(keys) == 0:
		return "", nil
	case len(keys) > 1:
		return "", sortie.NewError(sortie.CodeInvalidIdempotencyKey, "%s must appear once", sortie.HeaderIdempotencyKey)
	case !isOneLine(keys[0]):
		return "", sortie.NewError(sortie.CodeInvalidIdempotencyKey, "%s has control characters: use printable ASCII", sortie.HeaderIdempotencyKey)
	}
	return keys[0], nil
}

// isOneLine reports whether the text has no control characters. The signed text has seven lines: a
// line end inside a value could make it equal to the text of another request.
func isOneLine(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return false
		}
	}
	return true
}
