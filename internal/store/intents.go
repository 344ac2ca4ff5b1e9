package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

// IntentStatus is the status of an intent.
type IntentStatus string

// The intent statuses. The first three are active.
const (
	IntentQueued IntentStatus = "queued"
	IntentSent   IntentStatus = "sent"  // a transaction was stored and may have been sent
	IntentMined  IntentStatus = "mined" // in a block that is not final
	IntentDone   IntentStatus = "done"  // in a final block, or done by another transaction
	IntentVoid   IntentStatus = "void"  // no longer wanted
)

// Intent is one action that the service wants done on chain, in one transaction.
type Intent struct {
	ID                   int64
	ChainID              uint64
	Sender               sortie.Address
	Kind, Subject        string
	Status               IntentStatus
	Nonce                *uint64 // nil before the first attempt
	CreatedAt, UpdatedAt time.Time
	MinedBlock           uint64
	MinedTransaction     sortie.Hash
	Problem              string // what prevents it, for an operator
	Attempts             []Attempt
}

// Attempt is a signed transaction for an intent.
type Attempt struct {
	Number         int            // 1, 2, 3, ... for each intent
	Sender         sortie.Address // the signer; an intent may be given to another sender
	Hash           sortie.Hash
	Raw            []byte
	Nonce          uint64
	FeeCap, TipCap *big.Int
	SentAt         time.Time
}

// MaxIntents is the maximum number of intents that are read at once.
const MaxIntents = 256

// AddIntent stores an intent. If an intent for the same kind and subject is active, it returns that
// one without its attempts, and created is false.
func (tx *Tx) AddIntent(kind, subject string, chainID uint64, sender sortie.Address) (intent Intent, created bool, err error) {
	intent = Intent{ChainID: chainID, Sender: sender, Kind: kind, Subject: subject, Status: IntentQueued, CreatedAt: tx.Now, UpdatedAt: tx.Now}
	for range maxAttempts { // the active one may end between the two statements
		err = tx.one(insertIntent, []any{int64(chainID), hexAddress(sender), kind, subject, tx.Now.UnixMicro()},
			func(row scanner) error { return row.Scan(&intent.ID) })
		if err == nil {
			return intent, true, nil
		}
		if !errors.Is(err, ErrNotFound) {
			break
		}
		active, err := tx.intents(selectActiveIntent, kind, subject)
		if err != nil {
			return Intent{}, false, fmt.Errorf("add intent %s %s: %w", kind, subject, err)
		}
		if len(active) > 0 {
			return active[0], false, nil
		}
	}
	return Intent{}, false, fmt.Errorf("add intent %s %s: %w", kind, subject, err)
}

// AddAttempt stores a signed transaction for an intent that is queued or sent, before it is sent
// for the first time. The intent is then sent and has the attempt's nonce, which it keeps until
// [Tx.MoveIntent] changes it. Attempts are numbered in order.
//
// It fails with [ErrConflict] when the intent has another status or nonce. It fails the whole
// transaction when another active intent of the sender has the nonce, or the transaction is already
// stored.
func (tx *Tx) AddAttempt(intentID int64, attempt Attempt) error {
	nonce := int64(attempt.Nonce)
	changed, err := tx.exec(sendIntent, intentID, nonce, tx.Now.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err == nil {
		_, err = tx.exec(insertAttempt, intentID, attempt.Hash.String(), attempt.Raw, nonce,
			attempt.FeeCap.String(), attempt.TipCap.String(), tx.Now.UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("add attempt for intent %d: %w", intentID, err)
	}
	return nil
}

// MoveIntent changes an intent's status, nonce, mined block and transaction, and problem to those
// of another. If its status or nonce was changed first, it fails with [ErrConflict] and changes
// nothing. If another active intent has the nonce, or the same kind and subject, the whole
// transaction fails with [ErrConflict].
func (tx *Tx) MoveIntent(was, to Intent) error {
	changed, err := tx.exec(moveIntent, was.ID, string(was.Status), nullableNonce(was.Nonce),
		string(to.Status), nullableNonce(to.Nonce), nullable(to.MinedBlock), nullableHash(to.MinedTransaction), to.Problem,
		tx.Now.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("move intent %d: %w", was.ID, err)
	}
	return nil
}

// HandOver gives an intent that is queued or sent to another sender, which starts with its own
// nonce. The transactions of the former sender are kept. If the intent was changed since it was
// read, it fails with [ErrConflict] and changes nothing.
func (tx *Tx) HandOver(was Intent, to sortie.Address) error {
	changed, err := tx.exec(handOver, was.ID, string(was.Status), nullableNonce(was.Nonce), hexAddress(to), tx.Now.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("hand intent %d over: %w", was.ID, err)
	}
	return nil
}

// OtherSenders counts the active intents on a chain of each sender except one.
func (db *DB) OtherSenders(ctx context.Context, chainID uint64, but sortie.Address) (map[sortie.Address]int, error) {
	return read(ctx, db, func(r reader) (map[sortie.Address]int, error) {
		found := make(map[sortie.Address]int)
		err := r.each(selectOtherSenders, []any{int64(chainID), hexAddress(but)}, func(row scanner) error {
			var text string
			var number int
			var sender sortie.Address
			err := row.Scan(&text, &number)
			if err == nil {
				err = parse(&sender, text, sortie.ParseAddress)
			}
			found[sender] = number
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the other senders: %w", err)
		}
		return found, nil
	})
}

// Intents reads up to 256 intents of a sender in any of the statuses, with their attempts: first
// those with a nonce, in its order, then the others in the order of creation.
func (db *DB) Intents(ctx context.Context, chainID uint64, sender sortie.Address, statuses ...IntentStatus) ([]Intent, error) {
	if len(statuses) == 0 {
		return nil, nil
	}
	query, err := intentsIn(statuses)
	if err != nil {
		return nil, err
	}
	return read(ctx, db, func(r reader) ([]Intent, error) {
		intents, err := r.intents(query, int64(chainID), hexAddress(sender), MaxIntents)
		if err != nil {
			return nil, fmt.Errorf("read intents: %w", err)
		}
		return intents, nil
	})
}

// intentsIn returns the query for intents in some statuses. The statuses are part of the text, not
// parameters, so that PostgreSQL knows how few intents they select.
func intentsIn(statuses []IntentStatus) (string, error) {
	literals := make([]string, len(statuses))
	for i, status := range statuses {
		switch status {
		case IntentQueued, IntentSent, IntentMined, IntentDone, IntentVoid:
			literals[i] = "'" + string(status) + "'"
		default:
			return "", fmt.Errorf("read intents: unknown status %q", status)
		}
	}
	return strings.Replace(selectIntents, "STATUSES", strings.Join(literals, ", "), 1), nil
}

// IntentOf reads the newest intent for a kind and subject, with its attempts, or fails with
// [ErrNotFound].
func (db *DB) IntentOf(ctx context.Context, kind, subject string) (Intent, error) {
	return read(ctx, db, func(r reader) (Intent, error) {
		intents, err := r.intents(selectNewestIntent, kind, subject)
		if err == nil && len(intents) == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return Intent{}, fmt.Errorf("read intent %s %s: %w", kind, subject, err)
		}
		return intents[0], nil
	})
}

// HasIntent reports whether an intent for a kind and subject was ever added.
func (tx *Tx) HasIntent(kind, subject string) (bool, error) {
	return tx.exists(fmt.Sprintf("look for an intent %s %s", kind, subject), selectAnyIntent, kind, subject)
}

// IntentBacklog counts the queued and the sent intents. Oldest is when the first of them was added,
// or zero.
func (db *DB) IntentBacklog(ctx context.Context) (queued, sent int, oldest time.Time, err error) {
	_, err = read(ctx, db, func(r reader) (struct{}, error) {
		return struct{}{}, r.each(selectBacklog, nil, func(row scanner) error {
			var status string
			var number int
			var createdAt int64
			if err := row.Scan(&status, &number, &createdAt); err != nil {
				return err
			}
			if status == string(IntentQueued) {
				queued = number
			} else {
				sent = number
			}
			if first := time.UnixMicro(createdAt).UTC(); oldest.IsZero() || first.Before(oldest) {
				oldest = first
			}
			return nil
		})
	})
	if err != nil {
		return 0, 0, time.Time{}, fmt.Errorf("count intents: %w", err)
	}
	return queued, sent, oldest, nil
}

// intents reads intents. The attempts of an intent are in consecutive rows.
func (r reader) intents(query string, args ...any) ([]Intent, error) {
	var intents []Intent
	err := r.each(query, args, func(row scanner) error {
		intent, attempt, err := scanIntent(row)
		if err != nil {
			return err
		}
		if len(intents) == 0 || intents[len(intents)-1].ID != intent.ID {
			intents = append(intents, intent)
		}
		if attempt != nil {
			last := &intents[len(intents)-1]
			last.Attempts = append(last.Attempts, *attempt)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return intents, nil
}

const (
	insertIntent = `INSERT INTO intents (chain_id, sender, kind, subject, status, created_at, updated_at, problem)
VALUES ($1, $2, $3, $4, 'queued', $5, $5, '')
ON CONFLICT (kind, subject) WHERE status IN ('queued', 'sent', 'mined') DO NOTHING RETURNING id`

	sendIntent = `UPDATE intents SET status = 'sent', nonce = $2, updated_at = $3
WHERE id = $1 AND status IN ('queued', 'sent') AND (nonce IS NULL OR nonce = $2)`
	insertAttempt = `INSERT INTO attempts (intent_id, number, hash, raw, nonce, fee_cap, tip_cap, sent_at, sender)
SELECT CAST($1 AS BIGINT), COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6, $7, (SELECT intents.sender FROM intents WHERE intents.id = $1)
FROM attempts WHERE intent_id = $1`

	moveIntent = `UPDATE intents SET status = $4, nonce = $5, mined_block = $6, mined_transaction = $7, problem = $8, updated_at = $9
WHERE id = $1 AND status = $2 AND nonce IS NOT DISTINCT FROM $3`

	// One statement, so that an intent and its attempts are consistent.
	withAttempts = `SELECT intents.id, chain_id, intents.sender, kind, subject, status, intents.nonce, created_at, updated_at, mined_block,
	mined_transaction, problem, attempts.number, attempts.hash, attempts.raw, attempts.nonce, attempts.fee_cap, attempts.tip_cap,
	attempts.sent_at, attempts.sender
FROM (SELECT * FROM intents `
	andAttempts = `) AS intents LEFT JOIN attempts ON attempts.intent_id = intents.id `

	// Payouts are read before closings: closings of a paused token must not hide the payouts of
	// another.
	selectIntents = withAttempts + `WHERE chain_id = $1 AND sender = $2 AND status IN (STATUSES)
	ORDER BY nonce IS NULL, nonce, kind = 'close', id LIMIT $3 + 0` + andAttempts + `
ORDER BY intents.nonce IS NULL, intents.nonce, intents.id, attempts.number`
	selectNewestIntent = withAttempts + `WHERE kind = $1 AND subject = $2 ORDER BY id DESC LIMIT 1` + andAttempts + `
ORDER BY attempts.number`
	selectActiveIntent = `SELECT id, chain_id, sender, kind, subject, status, nonce, created_at, updated_at, mined_block,
	mined_transaction, problem, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM intents WHERE kind = $1 AND subject = $2 AND status IN ('queued', 'sent', 'mined')`

	selectAnyIntent = `SELECT 1 FROM intents WHERE kind = $1 AND subject = $2 LIMIT 1`

	handOver = `UPDATE intents SET sender = $4, status = 'queued', nonce = NULL, problem = '', updated_at = $5
WHERE id = $1 AND status = $2 AND nonce IS NOT DISTINCT FROM $3 AND status IN ('queued', 'sent')`
	// The sum keeps SQLite from using the index of all intents.
	selectOtherSenders = `SELECT sender, COUNT(*) FROM intents
WHERE chain_id + 0 = $1 AND sender <> $2 AND status IN ('queued', 'sent', 'mined') GROUP BY sender`

	selectBacklog = `SELECT status, COUNT(*), MIN(created_at) FROM intents WHERE status IN ('queued', 'sent') GROUP BY status`
)

// scanIntent reads a row of an intent and one of its attempts, if it has any.
func scanIntent(row scanner) (Intent, *Attempt, error) {
	var (
		intent                       Intent
		sender                       string
		nonce, minedBlock            sql.NullInt64
		minedTransaction             sql.NullString
		createdAt, updatedAt         int64
		number, attemptNonce, sentAt sql.NullInt64
		attemptHash, feeCap, tipCap  sql.NullString
		attemptSender                sql.NullString
		raw                          []byte
	)
	err := row.Scan(&intent.ID, &intent.ChainID, &sender, &intent.Kind, &intent.Subject, (*string)(&intent.Status), &nonce,
		&createdAt, &updatedAt, &minedBlock, &minedTransaction, &intent.Problem,
		&number, &attemptHash, &raw, &attemptNonce, &feeCap, &tipCap, &sentAt, &attemptSender)
	if err != nil {
		return Intent{}, nil, err
	}
	if nonce.Valid {
		value := uint64(nonce.Int64)
		intent.Nonce = &value
	}
	intent.CreatedAt, intent.UpdatedAt = time.UnixMicro(createdAt).UTC(), time.UnixMicro(updatedAt).UTC()
	intent.MinedBlock = uint64(minedBlock.Int64)
	err = parse(&intent.Sender, sender, sortie.ParseAddress)
	if minedTransaction.Valid {
		err = errors.Join(err, parse(&intent.MinedTransaction, minedTransaction.String, sortie.ParseHash))
	}
	if !number.Valid || err != nil {
		return intent, nil, err
	}
	attempt := &Attempt{Number: int(number.Int64), Raw: raw, Nonce: uint64(attemptNonce.Int64), SentAt: time.UnixMicro(sentAt.Int64).UTC()}
	err = errors.Join(parse(&attempt.Hash, attemptHash.String, sortie.ParseHash),
		parse(&attempt.Sender, attemptSender.String, sortie.ParseAddress), parse(&attempt.FeeCap, feeCap.String, parseInteger), parse(&attempt.TipCap, tipCap.String, parseInteger))
	return intent, attempt, err
}

func nullableNonce(nonce *uint64) sql.NullInt64 {
	if nonce == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: int64(*nonce), Valid: true}
}
