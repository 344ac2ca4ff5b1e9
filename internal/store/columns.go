package store

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/sortie-labs/sortie"
)

// Conversions of values to and from columns and their JSON.

func appendAddress(dst []byte, address sortie.Address) []byte {
	return hex.AppendEncode(append(dst, "0x"...), address[:])
}

func appendHash(dst []byte, hash sortie.Hash) []byte {
	return hex.AppendEncode(append(dst, "0x"...), hash[:])
}

// appendInteger appends a number. Most numbers are small.
func appendInteger(dst []byte, value *big.Int) []byte {
	if value.IsUint64() {
		return strconv.AppendUint(dst, value.Uint64(), 10)
	}
	return value.Append(dst, 10)
}

// appendText appends a JSON string. Most texts need no escapes.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // cannot fail for a string
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

func nullableHash(hash sortie.Hash) sql.NullString {
	return sql.NullString{String: hash.String(), Valid: hash != sortie.Hash{}}
}

// joined is a row with more columns than the function that scans it knows.
type joined struct {
	row  scanner
	more []any // destinations of the additional columns
}

func (j joined) Scan(dest ...any) error { return j.row.Scan(append(dest, j.more...)...) }

func parseInteger(text string) (*big.Int, error) {
	value, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, fmt.Errorf("%q is not an integer", text)
	}
	return value, nil
}

func microTime(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func optionalTime(micros sql.NullInt64) *time.Time {
	if !micros.Valid {
		return nil
	}
	at := microTime(micros.Int64)
	return &at
}

func nullableTime(at *time.Time) sql.NullInt64 {
	if at == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: at.UnixMicro(), Valid: true}
}
