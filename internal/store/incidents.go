package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/sortie-labs/sortie/internal/onchain"
)

// Incident is a problem that an operator must check and clear. A halting one stops publication,
// payouts and transactions.
type Incident struct {
	ID        string // empty for a new one: a random id is used
	Kind      string
	Halting   bool
	Detail    string
	OpenedAt  time.Time
	ClearedAt time.Time // zero while it is open
	ClearedBy string
}

// maxIncidents bounds the open incidents that are read, so that a client that causes them cannot
// exhaust the memory.
const maxIncidents = 256

// OpenIncident stores an incident, opened now, unless one of the same kind and detail is open.
// Opened reports whether a row changed: an open incident that did not halt does so if the new one
// would.
func (tx *Tx) OpenIncident(incident Incident) (opened bool, err error) {
	if incident.ID == "" {
		incident.ID = "incident_" + strings.ToLower(rand.Text())
	}
	fingerprint := sha256.Sum256([]byte(incident.Kind + "\x00" + incident.Detail))
	changed, err := tx.exec(insertIncident, incident.ID, incident.Kind, incident.Halting, incident.Detail,
		hex.EncodeToString(fingerprint[:]), tx.Now.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("open incident %s: %w", incident.Kind, err)
	}
	return changed > 0, nil
}

// ClearIncident stores that an operator cleared an incident. It fails with [ErrNotFound] for an
// unknown incident and [ErrConflict] for one that is already cleared.
func (tx *Tx) ClearIncident(id, by string) error {
	changed, err := tx.exec(clearIncident, id, tx.Now.UnixMicro(), by)
	if err == nil && changed == 0 {
		if _, err = tx.incident(id); err == nil {
			err = ErrConflict
		}
	}
	if err != nil {
		return fmt.Errorf("clear incident %s: %w", id, err)
	}
	return nil
}

// ClearIncidents clears the open incidents of a kind and returns their ids.
func (tx *Tx) ClearIncidents(kind, by string) (ids []string, err error) {
	err = tx.each(clearIncidentsOfKind, []any{kind, tx.Now.UnixMicro(), by}, func(row scanner) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("clear incidents %s: %w", kind, err)
	}
	return ids, nil
}

// FollowerStuck reports whether an incident of the kind [onchain.IncidentFollowerStuck] is open.
func (db *DB) FollowerStuck(ctx context.Context) (bool, error) {
	return db.exists(ctx, "look for the incident "+onchain.IncidentFollowerStuck, selectFollowerStuck)
}

// IncidentOpen reports whether an incident of a kind is open.
func (db *DB) IncidentOpen(ctx context.Context, kind string) (bool, error) {
	return db.exists(ctx, "look for the incident "+kind, selectOpenIncidentOf, kind)
}

// Incident reads one incident, open or cleared, or fails with [ErrNotFound].
func (tx *Tx) Incident(id string) (Incident, error) {
	incident, err := tx.incident(id)
	if err != nil {
		return Incident{}, fmt.Errorf("read incident %s: %w", id, err)
	}
	return incident, nil
}

func (r reader) incident(id string) (incident Incident, err error) {
	err = r.one(selectIncident, []any{id}, func(row scanner) error {
		incident, err = scanIncident(row)
		return err
	})
	return incident, err
}

// OpenIncidents reads the first 256 open incidents, halting ones first and then the oldest.
func (db *DB) OpenIncidents(ctx context.Context) ([]Incident, error) {
	return read(ctx, db, func(r reader) (incidents []Incident, err error) {
		err = r.each(selectOpenIncidents, []any{maxIncidents}, func(row scanner) error {
			incident, err := scanIncident(row)
			incidents = append(incidents, incident)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read incidents: %w", err)
		}
		return incidents, nil
	})
}

// Halted reports whether a halting incident is open.
func (db *DB) Halted(ctx context.Context) (bool, error) {
	return read(ctx, db, func(r reader) (bool, error) { return r.Halted() })
}

// Halted is [DB.Halted] inside the transaction.
func (r reader) Halted() (bool, error) {
	return r.exists("look for halting incidents", selectHalted)
}

const (
	insertIncident = `INSERT INTO incidents (id, kind, halting, detail, fingerprint, opened_at, cleared_by)
VALUES ($1, $2, $3, $4, $5, $6, '')
ON CONFLICT (fingerprint) WHERE cleared_at IS NULL DO UPDATE SET halting = TRUE WHERE excluded.halting AND NOT incidents.halting`
	clearIncident = `UPDATE incidents SET cleared_at = $2, cleared_by = $3 WHERE id = $1 AND cleared_at IS NULL`

	incidentColumns = `id, kind, halting, detail, opened_at, cleared_at, cleared_by`
	selectIncident  = `SELECT ` + incidentColumns + ` FROM incidents WHERE id = $1`

	selectOpenIncidents = `SELECT ` + incidentColumns + ` FROM incidents WHERE cleared_at IS NULL
ORDER BY halting DESC, opened_at, id LIMIT $1 + 0`
	clearIncidentsOfKind = `UPDATE incidents SET cleared_at = $2, cleared_by = $3 WHERE kind = $1 AND cleared_at IS NULL RETURNING id`
)

var (
	selectFollowerStuck  = preparedRead(`SELECT 1 FROM incidents WHERE cleared_at IS NULL AND kind = '` + onchain.IncidentFollowerStuck + `' LIMIT 1`)
	selectOpenIncidentOf = preparedRead(`SELECT 1 FROM incidents WHERE cleared_at IS NULL AND kind = $1 LIMIT 1`)
	selectHalted         = preparedRead(`SELECT 1 FROM incidents WHERE cleared_at IS NULL AND halting LIMIT 1`)
)

func scanIncident(row scanner) (incident Incident, err error) {
	var openedAt int64
	var clearedAt sql.NullInt64
	err = row.Scan(&incident.ID, &incident.Kind, &incident.Halting, &incident.Detail, &openedAt, &clearedAt, &incident.ClearedBy)
	incident.OpenedAt = time.UnixMicro(openedAt).UTC()
	if clearedAt.Valid {
		incident.ClearedAt = time.UnixMicro(clearedAt.Int64).UTC()
	}
	return incident, err
}
