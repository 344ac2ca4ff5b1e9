package store

import "fmt"

// Setting returns the value kept under a name. Where there is none it keeps the initial one, so that all processes on this
// database, and this one after a restart, work with the same.
func (tx *Tx) Setting(name string, initial []byte) (value []byte, err error) {
	if _, err := tx.session.exec(tx.ctx, insertSetting, name, initial, tx.Now.UnixMicro()); err != nil {
		return nil, fmt.Errorf("keep setting %s: %w", name, err)
	}
	err = tx.session.one(tx.ctx, selectSetting, []any{name}, func(row scanner) error { return row.Scan(&value) })
	if err != nil {
		return nil, fmt.Errorf("read setting %s: %w", name, err)
	}
	return value, nil
}

const (
	insertSetting = `INSERT INTO settings (name, value, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING`
	selectSetting = `SELECT value FROM settings WHERE name = $1`
)
