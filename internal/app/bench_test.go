package app

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

// BenchmarkAdvance applies a block of events. One operation is one event.
func BenchmarkAdvance(b *testing.B) {
	const perBlock = 1000
	for _, engine := range []struct {
		name     string
		database func(testing.TB) string
	}{{"SQLite", sqliteDatabase}, {"PostgreSQL", pgtest.Database}} {
		for name, event := range map[string]func(*testApp, int) onchain.Event{
			"fundings":  func(a *testApp, i int) onchain.Event { return fundingOf(a.create(walletOf(i), fmt.Sprint(i))) },
			"strangers": func(_ *testApp, i int) onchain.Event { return strangerOf(i) },
			"payments": func(_ *testApp, i int) onchain.Event {
				event := strangerOf(i)
				return onchain.Event{Factory: factory, Kind: onchain.EventSubmissionPaid, MissionKey: event.MissionKey, Payment: &onchain.Payment{Amount: event.Funded.Reward}}
			},
		} {
			b.Run(engine.name+"/"+name, func(b *testing.B) {
				a := openTestApp(b, engine.database(b), testAppOptions{})
				for done := 0; done < b.N; done += perBlock {
					b.StopTimer()
					var events []onchain.Event
					for i := range perBlock {
						events = append(events, event(a, done+i))
					}
					step := a.step(a.position.Tip.Number, events)
					b.StartTimer()
					a.advance(step)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

func walletOf(i int) (wallet sortie.Address) {
	wallet[0], wallet[1], wallet[19] = byte(i), byte(i>>8), 1
	return wallet
}

func strangerOf(i int) onchain.Event {
	draft := store.Draft{NewDraft: store.NewDraft{MissionID: fmt.Sprintf("stranger-%08d", i), Factory: factory, Reward: big.NewInt(1)}}
	return fundingOf(draft)
}
