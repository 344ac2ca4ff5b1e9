package store

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

var engines = []struct {
	name   string
	newURL func(testing.TB) string
}{
	{"sqlite", sqliteURL},
	{"postgres", func(t testing.TB) string { return pgtest.Database(t) }},
}

// BenchmarkCreate compares creates through Tx with the same statements in separate transactions.
// PostgreSQL shares commits itself; its tests run without fsync, so its figures do not include the
// disk.
func BenchmarkCreate(b *testing.B) {
	for _, engine := range engines {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", engine.name, callers), func(b *testing.B) {
				db := open(b, engine.newURL(b), Options{})
				benchmarkCreate(b, callers, db.Tx)
				stats := db.Stats()
				b.ReportMetric(float64(stats.Writes)/float64(stats.Commits), "writes/commit")
			})
		}
	}
	b.Run("sqlite/callers=64/transaction each", func(b *testing.B) {
		db := open(b, sqliteURL(b), Options{})
		engine := sqliteOf(db)
		benchmarkCreate(b, 64, func(ctx context.Context, fn func(*Tx) error) error {
			sqlTx, err := engine.writer.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if err := fn(&Tx{Now: db.clock(), reader: reader{ctx, engine.session.begun(sqlTx)}}); err != nil {
				return err
			}
			return sqlTx.Commit()
		})
	})
}

func benchmarkCreate(b *testing.B, callers int, transact func(context.Context, func(*Tx) error) error) {
	var next atomic.Int64
	body := drawDraft(alice, "")
	b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
	if callers == 1 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	b.ReportAllocs()
	b.ResetTimer()
	defer reportCPU(b, processCPU())
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			number := strconv.FormatInt(next.Add(1), 10)
			draft := body
			draft.ID, draft.MissionID, draft.IdempotencyKey = "draft_"+number, "mission-"+number, number
			if err := transact(context.Background(), func(tx *Tx) error {
				_, _, err := tx.CreateDraft(draft, manyDrafts, created)
				return err
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// reportCPU adds the processor time of this process, which depends less on other load than wall
// time.
func reportCPU(b *testing.B, before time.Duration) {
	b.ReportMetric(float64((processCPU()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkRead reads one draft, and pages of 100, from wallets with few and with many drafts. A
// page must cost the same.
func BenchmarkRead(b *testing.B) {
	for _, engine := range engines {
		for _, drafts := range []int{1_000, 100_000} {
			b.Run(fmt.Sprintf("%s/drafts=%d", engine.name, drafts), func(b *testing.B) {
				db := open(b, engine.newURL(b), Options{})
				seed(b, db, drafts)
				benchmarkReads(b, db, int64(drafts))
			})
		}
	}
}

func benchmarkReads(b *testing.B, db *DB, drafts int64) {
	ctx, cancel := context.WithCancel(context.Background()) // as a request's
	defer cancel()
	b.Run("status", func(b *testing.B) {
		b.ReportAllocs()
		defer reportCPU(b, processCPU())
		for b.Loop() {
			if _, err := db.DraftByID(ctx, alice, "draft_77"); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, page := range []struct {
		name   string
		filter DraftFilter
		want   int
	}{
		{"first page", DraftFilter{Limit: 100}, 100},
		{"deep page", DraftFilter{Limit: 100, BeforeSeq: 200}, 100},
		{"rare filter", DraftFilter{Limit: 100, Status: sortie.ListPublished}, 10},
	} {
		b.Run(page.name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b, processCPU())
			for b.Loop() {
				if got, err := db.ListDrafts(ctx, alice, page.filter); err != nil || len(got) != page.want {
					b.Fatalf("list drafts: got %d, error %v; want a full page", len(got), err)
				}
			}
		})
	}
}

// seed fills a wallet; ten of its drafts, wherever, are published.
func seed(b *testing.B, db *DB, drafts int) {
	b.Helper()
	body := drawDraft(alice, "")
	for from := 0; from < drafts; from += 1000 {
		if err := db.Tx(context.Background(), func(tx *Tx) error {
			for i := from; i < from+1000; i++ {
				draft, number := body, strconv.Itoa(i)
				draft.ID, draft.MissionID, draft.IdempotencyKey = "draft_"+number, "mission-"+number, number
				if _, _, err := tx.CreateDraft(draft, manyDrafts, created); err != nil {
					return err
				}
				if i%(drafts/10) == 0 {
					if _, err := tx.exec("UPDATE drafts SET list_status = 'published' WHERE draft_id = $1", draft.ID); err != nil {
						return err
					}
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}
