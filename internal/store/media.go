package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/sortie-labs/sortie"
)

// Served is the part of a submission that a media link needs.
type Served struct {
	Status        sortie.SubmissionStatus
	DraftID       string
	ServedHash    sortie.Hash // zero: none yet
	ServedType    string
	ServedSize    int64
	ThumbnailHash sortie.Hash // zero: none
}

// ServedMedia reads what is served for a submission, or fails with [ErrNotFound]. Every request for
// media calls it, so that a link ends with its submission's acceptance. On SQLite, which has no
// other writers, the result is cached until the next commit.
func (db *DB) ServedMedia(ctx context.Context, submissionID string) (Served, error) {
	return read(ctx, db, func(r reader) (Served, error) {
		commits, all := db.engine.generation() // before the row is read, so that a concurrent commit invalidates it
		if all {
			if served, found := db.served.get(submissionID, commits); found {
				return served, nil
			}
		}
		served, err := r.servedMedia(submissionID)
		if all && err == nil {
			db.served.put(submissionID, served, commits)
		}
		return served, err
	})
}

// servedCache holds the rows that were read since the last commit: playing a video requests
// hundreds of its parts. It is not an LRU cache, because every commit empties it, and lookups share
// a read lock.
type servedCache struct {
	mutex   sync.RWMutex
	commits int64 // number of commits when the rows were read
	rows    map[string]Served
}

const maxServedRows = 4096 // a megabyte

func (m *servedCache) get(submissionID string, commits int64) (served Served, found bool) {
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	if m.commits == commits {
		served, found = m.rows[submissionID]
	}
	return served, found
}

func (m *servedCache) put(submissionID string, served Served, commits int64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if commits < m.commits {
		return // read before a later commit
	}
	if commits > m.commits || len(m.rows) >= maxServedRows || m.rows == nil {
		m.commits, m.rows = commits, make(map[string]Served)
	}
	m.rows[submissionID] = served
}

func (r reader) servedMedia(submissionID string) (served Served, err error) {
	var servedHash, servedType, thumbnailHash sql.NullString
	var servedSize sql.NullInt64
	err = r.one(selectServedMedia, []any{submissionID}, func(row scanner) error {
		return row.Scan((*string)(&served.Status), &served.DraftID, &servedHash, &servedType, &servedSize, &thumbnailHash)
	})
	if err == nil {
		err = errors.Join(parseOptionalHash(&served.ServedHash, servedHash), parseOptionalHash(&served.ThumbnailHash, thumbnailHash))
	}
	if err != nil {
		return Served{}, fmt.Errorf("read media of a submission: %w", err)
	}
	served.ServedType, served.ServedSize = servedType.String, servedSize.Int64
	return served, nil
}

// UsedObjects reports for each object whether a submission needs it: the uploaded file until it was
// checked and decided about; the served file and its thumbnail while the submission is or may be
// accepted.
func (db *DB) UsedObjects(ctx context.Context, hashes []sortie.Hash) ([]bool, error) {
	used := make(map[string]bool)
	texts := make([]string, len(hashes))
	for i, hash := range hashes {
		texts[i] = hash.String()
	}
	return read(ctx, db, func(r reader) ([]bool, error) {
		err := lookups(texts, func(args []any) error {
			return r.each(selectUsedObjects, args, func(row scanner) error {
				var hash string
				err := row.Scan(&hash)
				used[hash] = true
				return err
			})
		})
		if err != nil {
			return nil, fmt.Errorf("find the users of objects: %w", err)
		}
		answers := make([]bool, len(texts))
		for i, text := range texts {
			answers[i] = used[text]
		}
		return answers, nil
	})
}

var selectServedMedia = preparedRead(`SELECT status, draft_id, served_hash, served_type, served_size, thumbnail_hash FROM submissions
WHERE submission_id = $1`)

// COALESCE keeps SQLite from using the index of statuses.
var selectUsedObjects = func() string {
	list := placeholders(1, lookupSize)
	const live = `COALESCE(status, '') IN ('pending', 'flagged', 'accepted', 'curation_accepted')`
	return `SELECT uploaded_hash FROM submissions WHERE uploaded_hash IN (` + list + `)
	AND (COALESCE(status, '') = 'pending' OR COALESCE(status, '') = 'flagged' AND media_kind IS NULL AND problem_code IS NULL)
UNION ALL SELECT served_hash FROM submissions WHERE served_hash IN (` + list + `) AND ` + live + `
UNION ALL SELECT thumbnail_hash FROM submissions WHERE thumbnail_hash IN (` + list + `) AND ` + live
}()
