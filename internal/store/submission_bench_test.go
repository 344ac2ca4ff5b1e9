package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

const benchmarkRows = 100_000

// fillRows inserts rows with plain statements, many in one transaction.
func fillRows(b *testing.B, db *DB, rows int, insert func(tx *Tx, i int) error) {
	b.Helper()
	mustTx(b, db, func(tx *Tx) error {
		for i := range rows {
			if err := insert(tx, i); err != nil {
				return err
			}
		}
		return nil
	})
}

var insertDeliverables = newBulk(`INSERT INTO deliverables (draft_id, accept_seq, submission_id, has_thumbnail, fragment) VALUES `, 4)

// BenchmarkDeliverablePage reads 100 rows at the beginning and at the end of many: the two should
// cost the same.
func BenchmarkDeliverablePage(b *testing.B) {
	for _, engine := range engines {
		db := open(b, engine.newURL(b), Options{})
		slots := publish(b, db, nil)
		fragment := []byte(strings.Repeat("x", 640))
		mustTx(b, db, func(tx *Tx) error {
			numbers := make([]int, benchmarkRows)
			for i := range numbers {
				numbers[i] = i + 1
			}
			return insertRows(tx, insertDeliverables, slots.DraftID, numbers, func(args []any, numbers []int) []any {
				for _, number := range numbers {
					args = append(args, number, fmt.Sprintf("sub_%026d", number), true, fragment)
				}
				return args
			})
		})
		for _, depth := range []int64{0, benchmarkRows - 100} {
			b.Run(fmt.Sprintf("%s/depth=%d", engine.name, depth), func(b *testing.B) {
				b.ReportAllocs()
				size := 0
				for b.Loop() {
					header, err := db.DeliverablesOf(context.Background(), alice, slots.MissionID)
					if err != nil {
						b.Fatal(err)
					}
					err = db.DeliverablePage(context.Background(), header.DraftID, depth, 100, func(_ int64, _ string, _ bool, fragment []byte) { size += len(fragment) })
					if err != nil {
						b.Fatal(err)
					}
				}
				if size != b.N*100*len(fragment) {
					b.Fatalf("deliverables: got %d bytes in %d pages, want some in each", size, b.N)
				}
			})
		}
	}
}

func BenchmarkServedMedia(b *testing.B) {
	for _, engine := range engines {
		b.Run(engine.name, func(b *testing.B) {
			db := open(b, engine.newURL(b), Options{})
			slots := publish(b, db, nil)
			submission := mustMove(b, db, mustUpload(b, db, mustDeclare(b, db, slots, bob, "key")), sortie.SubmissionAccepted)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := db.ServedMedia(context.Background(), submission.ID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLookalikes looks for a picture among many.
func BenchmarkLookalikes(b *testing.B) {
	for _, engine := range engines {
		b.Run(engine.name, func(b *testing.B) {
			db := open(b, engine.newURL(b), Options{})
			fillRows(b, db, 10_000, func(tx *Tx, i int) error { return tx.indexPerceptual(fmt.Sprintf("sub_%026d", i), rand.Uint64()) })
			b.ReportAllocs()
			for b.Loop() {
				_, err := read(context.Background(), db, func(r reader) ([]string, error) {
					ids, _, err := r.lookalikes(rand.Uint64())
					return ids, err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSlotsNear asks in the midst of a city of 5,000 missions.
func BenchmarkSlotsNear(b *testing.B) {
	for _, engine := range engines {
		b.Run(engine.name, func(b *testing.B) {
			db := open(b, engine.newURL(b), Options{})
			now := time.Now()
			fillRows(b, db, 5_000, func(tx *Tx, i int) error {
				draft := drawDraft(alice, key(i))
				if _, _, err := tx.CreateDraft(draft, manyDrafts, created); err != nil {
					return err
				}
				lat, lng := int64(52_520_008+50_000*rand.NormFloat64()), int64(13_404_954+80_000*rand.NormFloat64())
				return tx.PublishSlots(Slots{
					DraftID: draft.ID, MissionID: draft.MissionID, Creator: alice, Target: 1, PerContributor: 1, MediaType: sortie.MediaPhoto,
					Place: &mission.MicroDegrees{Lat: lat, Lng: lng}, OpensAt: now.Add(-time.Hour), EndsAt: now.Add(time.Hour), PublishedAt: now, Summary: []byte("{}"),
				})
			})
			b.ReportAllocs()
			for b.Loop() {
				found, err := db.SlotsNear(context.Background(), NearFilter{Point: mission.MicroDegrees{Lat: 52_520_008, Lng: 13_404_954}, Limit: 20})
				if err != nil || len(found) != 20 {
					b.Fatalf("open missions: got %d, error %v; want a full page", len(found), err)
				}
			}
		})
	}
}
