package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// PayoutHalt is an operator's halt of payouts.
type PayoutHalt struct {
	By     string    `json:"by"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// payoutHaltSetting is the setting that exists while payouts are halted.
const payoutHaltSetting = "payouts-halted"

// HaltPayouts halts payouts for all processes until [Tx.ResumePayouts]. If they are already halted,
// nothing changes. It returns the current halt.
func (tx *Tx) HaltPayouts(halt PayoutHalt) (holds PayoutHalt, halted bool, err error) {
	halt.Since = tx.Now
	encoded, err := json.Marshal(halt)
	if err != nil {
		return PayoutHalt{}, false, fmt.Errorf("halt payouts: %w", err)
	}
	changed, err := tx.exec(insertSetting, payoutHaltSetting, encoded, tx.Now.UnixMicro())
	if err != nil {
		return PayoutHalt{}, false, fmt.Errorf("halt payouts: %w", err)
	}
	found, err := tx.PayoutHalt()
	if err != nil {
		return PayoutHalt{}, false, err
	}
	if found == nil {
		return PayoutHalt{}, false, fmt.Errorf("halt payouts: %w", ErrConflict) // resumed in between
	}
	return *found, changed > 0, nil
}

// ResumePayouts ends the halt of payouts and reports whether there was one.
func (tx *Tx) ResumePayouts() (bool, error) {
	changed, err := tx.exec(deleteSetting, payoutHaltSetting)
	if err != nil {
		return false, fmt.Errorf("resume payouts: %w", err)
	}
	return changed > 0, nil
}

// PayoutHalt reads the halt of payouts; nil if they are not halted.
func (db *DB) PayoutHalt(ctx context.Context) (*PayoutHalt, error) {
	return read(ctx, db, func(r reader) (*PayoutHalt, error) { return r.PayoutHalt() })
}

// PayoutHalt is [DB.PayoutHalt] inside the transaction.
func (r reader) PayoutHalt() (*PayoutHalt, error) {
	var value []byte
	err := r.one(selectSetting, []any{payoutHaltSetting}, func(row scanner) error { return row.Scan(&value) })
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	halt := new(PayoutHalt)
	if err == nil {
		err = json.Unmarshal(value, halt)
	}
	if err != nil {
		return nil, fmt.Errorf("read whether payouts are halted: %w", err)
	}
	return halt, nil
}

const deleteSetting = `DELETE FROM settings WHERE name = $1`
