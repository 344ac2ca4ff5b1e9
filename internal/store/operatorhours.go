package store

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/sortie-labs/sortie"
)

// OperatorHour is the amount of one token that an operator accepted within the last hour.
type OperatorHour struct {
	operator sortie.Address
	token    sortie.Token
	accepted amounts
}

// HoldOperatorHour reads what an operator accepted of a token within the last hour. It locks the
// row until the transaction ends, so that concurrent transactions cannot together accept more than
// each of them read.
func (tx *Tx) HoldOperatorHour(operator sortie.Address, token sortie.Token) (OperatorHour, error) {
	hour := OperatorHour{operator: operator, token: token}
	err := tx.one(holdOperatorHour, []any{hexAddress(operator), string(token)}, func(row scanner) error {
		var text []byte
		err := row.Scan(&text)
		if err == nil {
			hour.accepted, err = operatorWindow.read(text, tx.Now)
		}
		return err
	})
	if err != nil {
		return OperatorHour{}, fmt.Errorf("read what operator %s accepted: %w", operator, err)
	}
	return hour, nil
}

// Sum returns the accepted amount in base units.
func (h OperatorHour) Sum() *big.Int { return h.accepted.sum() }

// AddAccepted adds an acceptance to an hour that this transaction has locked.
func (tx *Tx) AddAccepted(hour OperatorHour, baseUnits *big.Int) error {
	text, err := json.Marshal(operatorWindow.add(hour.accepted, tx.Now, baseUnits))
	if err == nil {
		_, err = tx.exec(updateOperatorHour, hexAddress(hour.operator), string(hour.token), string(text))
	}
	if err != nil {
		return fmt.Errorf("count an acceptance of operator %s: %w", hour.operator, err)
	}
	return nil
}

var (
	holdOperatorHour = preparedWrite(`INSERT INTO operator_hours (operator, token, minutes) VALUES ($1, $2, '[]')
ON CONFLICT (operator, token) DO UPDATE SET minutes = operator_hours.minutes RETURNING minutes`)
	updateOperatorHour = preparedWrite(`UPDATE operator_hours SET minutes = $3 WHERE operator = $1 AND token = $2`)
)
