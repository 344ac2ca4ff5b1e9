package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/sortie-labs/sortie"
)

// AuditEntry records an operator's action. Entries are never changed or removed.
type AuditEntry struct {
	Seq     int64 // later entries have greater ones
	At      time.Time
	Actor   string
	Action  string
	Subject string
	Detail  json.RawMessage // nil: {}
	Request sortie.Hash     // of the signed request; zero: none. Not returned by reads
}

// AddAudit adds an entry with the time of the transaction and the next number. It fails with
// [ErrConflict] if the request already has an entry.
func (tx *Tx) AddAudit(entry AuditEntry) error {
	detail := "{}"
	if len(entry.Detail) > 0 {
		detail = string(entry.Detail)
	}
	var request sql.NullString
	if entry.Request != (sortie.Hash{}) {
		request = sql.NullString{String: entry.Request.String(), Valid: true}
	}
	added, err := tx.exec(insertAudit, tx.Now.UnixMicro(), entry.Actor, entry.Action, entry.Subject, detail, request)
	if err == nil && added == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("add audit entry %s: %w", entry.Action, err)
	}
	return nil
}

// Audited reports whether a signed request has an entry.
func (tx *Tx) Audited(request sortie.Hash) (found bool, err error) {
	err = tx.one(selectAudited, []any{request.String()}, func(row scanner) error { return row.Scan(&found) })
	if err != nil {
		return false, fmt.Errorf("read audit of a request: %w", err)
	}
	return found, nil
}

// Audit reads up to limit entries before the one numbered beforeSeq, newest first. 0: from the
// newest.
func (db *DB) Audit(ctx context.Context, beforeSeq int64, limit int) ([]AuditEntry, error) {
	if beforeSeq == 0 {
		beforeSeq = math.MaxInt64
	}
	return read(ctx, db, func(r reader) (entries []AuditEntry, err error) {
		err = r.each(selectAudit, []any{beforeSeq, limit}, func(row scanner) error {
			var entry AuditEntry
			var at int64
			var detail []byte
			err := row.Scan(&entry.Seq, &at, &entry.Actor, &entry.Action, &entry.Subject, &detail)
			entry.At, entry.Detail = time.UnixMicro(at).UTC(), detail
			entries = append(entries, entry)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read audit: %w", err)
		}
		return entries, nil
	})
}

const (
	selectAudited = `SELECT EXISTS (SELECT 1 FROM audit WHERE request = $1)`
	selectAudit   = `SELECT seq, at, actor, action, subject, detail FROM audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2 + 0`
)

var (
	insertAudit = preparedWrite(`INSERT INTO audit (at, actor, action, subject, detail, request) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING`)
)
