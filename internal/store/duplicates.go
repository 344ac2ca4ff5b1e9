package store

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sortie-labs/sortie"
)

// nearDistance is the maximum number of different bits in the perceptual hashes of two similar
// pictures.
const nearDistance = 6

// A perceptual hash is indexed by its words. If two hashes differ in at most 7 bits, one of the
// four words differs in at most one, whichever bits they are, so it is enough to ask for the words
// of a hash and for those a single bit away.
const (
	wordBits   = 16
	wordCount  = 64 / wordBits
	wordProbes = wordCount * (1 + wordBits)
)

// maxLookalikeRows is the number of indexed words that are read at once: those of a thousand
// similar pictures, or of some millions of different ones.
const maxLookalikeRows = 4096

// Duplicates finds the earliest other submission with the same uploaded or served file, and the
// earliest one with a similar picture; empty if there is none. If more than a thousand are similar,
// it finds any of them. Rejected and withdrawn submissions of the same contributor do not count.
//
// Call it after the submission's file and media are committed: of two copies that arrive at the
// same time, at least one then finds the other.
func (db *DB) Duplicates(ctx context.Context, submission Submission) (exact, near string, err error) {
	_, err = read(ctx, db, func(r reader) (struct{}, error) {
		if exact, err = r.exactDuplicate(&submission); err != nil {
			return struct{}{}, fmt.Errorf("find duplicates of %s: %w", submission.ID, err)
		}
		if near, err = r.nearDuplicate(&submission); err != nil {
			return struct{}{}, fmt.Errorf("find near duplicates of %s: %w", submission.ID, err)
		}
		return struct{}{}, nil
	})
	return exact, near, err
}

func (r reader) exactDuplicate(of *Submission) (id string, err error) {
	if of.UploadedHash == (sortie.Hash{}) {
		return "", nil
	}
	find := func(statement string, hash sortie.Hash) error {
		return r.each(statement, []any{hash.String(), of.ID, hexAddress(of.Contributor)}, func(row scanner) error { return row.Scan(&id) })
	}
	if err = find(selectExactDuplicate, of.UploadedHash); err != nil || id != "" || of.Media == nil {
		return id, err
	}
	return id, find(selectServedDuplicate, of.Media.ServedHash) // only invisible parts of the file differ
}

func (r reader) nearDuplicate(of *Submission) (id string, err error) {
	if of.Media == nil || of.Media.Perceptual == nil {
		return "", nil
	}
	candidates, all, err := r.lookalikes(*of.Media.Perceptual)
	if err != nil {
		return "", err
	}
	if !all {
		return r.anyLookalike(of)
	}
	return r.earliest(of, candidates)
}

// earliest returns the earliest of the candidates that counts.
func (r reader) earliest(of *Submission, candidates []string) (id string, err error) {
	var first int64
	err = lookups(candidates, func(args []any) error {
		return r.each(selectEarliest, append(args, of.ID, hexAddress(of.Contributor)), func(row scanner) error {
			var candidate string
			var seq int64
			err := row.Scan(&candidate, &seq)
			if id == "" || seq < first {
				id, first = candidate, seq
			}
			return err
		})
	})
	return id, err
}

// lookalikes finds the submissions with a similar hash. It stops at maxLookalikeRows rows, and
// reports whether it read all.
func (r reader) lookalikes(perceptual uint64) (ids []string, all bool, err error) {
	rows := 0
	err = r.each(selectLookalikes, append(probes(perceptual), maxLookalikeRows), func(row scanner) error {
		var candidate int64
		var id string
		rows++
		err := row.Scan(&candidate, &id)
		if near(candidate, perceptual) {
			ids = append(ids, id)
		}
		return err
	})
	slices.Sort(ids)
	return slices.Compact(ids), rows < maxLookalikeRows, err // several words may find the same hash
}

// anyLookalike searches the words of a hash until it finds a similar submission that counts. There
// may be many that do not count: a contributor who sends a picture often must not hide its owner.
func (r reader) anyLookalike(of *Submission) (id string, err error) {
	for _, word := range probes(*of.Media.Perceptual) {
		perceptual, last := int64(math.MinInt64), ""
		for rows := maxLookalikeRows; rows == maxLookalikeRows; {
			rows = 0
			var candidates []string
			err = r.each(selectLookalikesOfWord, []any{word, perceptual, last, maxLookalikeRows}, func(row scanner) error {
				rows++
				err := row.Scan(&perceptual, &last)
				if near(perceptual, *of.Media.Perceptual) {
					candidates = append(candidates, last)
				}
				return err
			})
			if err == nil {
				id, err = r.earliest(of, candidates)
			}
			if err != nil || id != "" {
				return id, err
			}
		}
	}
	return "", nil
}

func near(candidate int64, perceptual uint64) bool {
	return bits.OnesCount64(uint64(candidate)^perceptual) <= nearDistance
}

// probes returns the words to search for.
func probes(perceptual uint64) []any {
	args := make([]any, 0, wordProbes)
	for number := range wordCount {
		word := perceptualWord(perceptual, number)
		args = append(args, word)
		for bit := range wordBits {
			args = append(args, word^1<<bit)
		}
	}
	return args
}

// perceptualWord returns a word of a hash, prefixed with its number.
func perceptualWord(perceptual uint64, number int) int64 {
	return int64(number)<<wordBits | int64(uint16(perceptual>>(number*wordBits)))
}

func (tx *Tx) indexPerceptual(submissionID string, perceptual uint64) error {
	args := []any{submissionID, int64(perceptual)}
	for number := range wordCount {
		args = append(args, perceptualWord(perceptual, number))
	}
	if _, err := tx.exec(insertPerceptual, args...); err != nil {
		return fmt.Errorf("index the picture of submission %s: %w", submissionID, err)
	}
	return nil
}

var selectExactDuplicate = preparedRead(`SELECT submission_id FROM submissions
WHERE uploaded_hash = $1 AND submission_id <> $2 AND NOT (contributor = $3 AND status IN ('rejected', 'withdrawn'))
ORDER BY seq LIMIT 1`)

var selectServedDuplicate = preparedRead(`SELECT submission_id FROM submissions
WHERE served_hash = $1 AND submission_id <> $2 AND NOT (contributor = $3 AND status IN ('rejected', 'withdrawn'))
ORDER BY seq LIMIT 1`)

var insertPerceptual = preparedWrite(`INSERT INTO perceptual_words (submission_id, perceptual, word)
VALUES ($1, $2, $3), ($1, $2, $4), ($1, $2, $5), ($1, $2, $6)`)

var selectLookalikesOfWord = preparedRead(`SELECT perceptual, submission_id FROM perceptual_words
WHERE word = $1 AND (perceptual, submission_id) > ($2, $3) ORDER BY perceptual, submission_id LIMIT $4 + 0`)

var (
	selectLookalikes = preparedRead(`SELECT perceptual, submission_id FROM perceptual_words WHERE word IN (` + placeholders(1, wordProbes) + `)
LIMIT $69 + 0`)
	selectEarliest = preparedRead(`SELECT submission_id, seq FROM submissions WHERE submission_id IN (` + placeholders(1, lookupSize) + `)
	AND submission_id <> $65 AND NOT (contributor = $66 AND status IN ('rejected', 'withdrawn'))
ORDER BY seq LIMIT 1`)
)
