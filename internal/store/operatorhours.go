package store

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/sortie-labs/sortie"
)

// OperatorHour is what an operator accepted of one token within the last hour.
type OperatorHour struct {
	operator sortie.Address
	token    sortie.Token
	minutes  []acceptedMinute // none older than an hour
}

// acceptedMinute is what an operator accepted in one minute.
type acceptedMinute struct {
	Minute    int64    `json:"minute"` // since 1970
	BaseUnits *big.Int `json:"baseUnits"`
}

const windowMinutes = 60

// HoldOperatorHour reads what an operator accepted of a token within the last hour. Other transactions that ask for the same wait
// until this one ends, so that together they cannot accept more than each of them saw.
func (tx *Tx) HoldOperatorHour(operator sortie.Address, token sortie.Token) (OperatorHour, error) {
	hour := OperatorHour{operator: operator, token: token}
	var minutes []acceptedMinute
	err := tx.session.one(tx.ctx, holdOperatorHour, []any{hexAddress(operator), string(token)}, func(row scanner) error {
		var text []byte
		if err := row.Scan(&text); err != nil {
			return err
		}
		return json.Unmarshal(text, &minutes)
	})
	if err != nil {
		return OperatorHour{}, fmt.Errorf("read what operator %s accepted: %w", operator, err)
	}
	oldest := tx.Now.Unix()/60 - windowMinutes
	for _, minute := range minutes {
		if minute.Minute > oldest {
			hour.minutes = append(hour.minutes, minute)
		}
	}
	return hour, nil
}

// Sum is how much was accepted, in base units.
func (h OperatorHour) Sum() *big.Int {
	sum := new(big.Int)
	for _, minute := range h.minutes {
		sum.Add(sum, minute.BaseUnits)
	}
	return sum
}

// AddAccepted adds an acceptance to an hour that this transaction holds.
func (tx *Tx) AddAccepted(hour OperatorHour, baseUnits *big.Int) error {
	minute, minutes := tx.Now.Unix()/60, hour.minutes
	if last := len(minutes) - 1; last >= 0 && minutes[last].Minute >= minute {
		minutes[last].BaseUnits = new(big.Int).Add(minutes[last].BaseUnits, baseUnits)
	} else {
		minutes = append(minutes, acceptedMinute{minute, baseUnits})
	}
	text, err := json.Marshal(minutes)
	if err == nil {
		_, err = tx.session.exec(tx.ctx, updateOperatorHour, hexAddress(hour.operator), string(hour.token), string(text))
	}
	if err != nil {
		return fmt.Errorf("count an acceptance of operator %s: %w", hour.operator, err)
	}
	return nil
}

const (
	holdOperatorHour = `INSERT INTO operator_hours (operator, token, minutes) VALUES ($1, $2, '[]')
ON CONFLICT (operator, token) DO UPDATE SET minutes = operator_hours.minutes RETURNING minutes`
	updateOperatorHour = `UPDATE operator_hours SET minutes = $3 WHERE operator = $1 AND token = $2`
)
