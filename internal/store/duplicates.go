package store

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sortie-labs/sortie"
)

// nearDistance is in how many bits the perceptual hashes of two pictures that look the same may
// differ.
const nearDistance = 6

// A perceptual hash is found by its words. Of hashes that differ in at most 7 bits one of the four
// words differs in at most one, whichever bits they are, so it is enough to ask for the words of a
// hash and for those a single bit away.
const (
	wordBits   = 16
	wordCount  = 64 / wordBits
	wordProbes = wordCount * (1 + wordBits)
)

// maxLookalikeRows is how many words of hashes are looked at in one go: those of a thousand
// pictures that look the same, or of some millions that do not.
const maxLookalikeRows = 4096

// Duplicates finds the earliest other submission with the same file, as it came or as it is served,
// and the earliest one with a picture that looks the same; empty where there is none. Of a thousand
// and more that look the same it finds any. Submissions of the same contributor that were rejected
// or withdrawn do not count.
//
// Ask after the submission's own file and media are committed: of two copies that come in at the
// same time each then finds the other, or one finds the other, but never neither.
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
	return id, find(selectServedDuplicate, of.Media.ServedHash) // only what nobody sees of it was changed
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

// earliest finds the earliest of some submissions that counts.
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

// lookalikes finds the submissions whose hash is near. Where there is much to look at it gives up,
// and says that these are not all.
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
	return slices.Compact(ids), rows < maxLookalikeRows, err // a hash may be found by several words
}

// anyLookalike goes through the words of a hash until it has found a submission with a near one
// that counts. Those that do not count may be many: a contributor who sends a picture often must
// not hide whose it is.
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

// probes are the words to ask for.
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

// perceptualWord is a word of a hash with its number in front.
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
