package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

// holdable makes an intent wait without an alarm while an operator has halted payouts.
func holdable(prepare sender.Prepare) sender.Prepare {
	return func(ctx context.Context, intent store.Intent) (sortie.Address, []byte, error) {
		to, data, err := prepare(ctx, intent)
		var halted *app.PayoutsHaltedError
		if errors.As(err, &halted) {
			err = fmt.Errorf("%w: %w", sender.ErrHeld, err)
		}
		return to, data, err
	}
}

const (
	problemsInterval = time.Second
	problemsRepeat   = 30 * time.Second // stored problems expire later than this
)

// publicProblems has the texts that contributors and creators see for alarms of the sender that
// delay payouts.
var publicProblems = map[string]string{
	sender.AlarmBalanceLow:  "The account that pays the service's transaction fees has too little; the operator was notified.",
	sender.AlarmAtCap:       "The network requires a higher fee than the service pays; the service waits for a lower fee.",
	sender.AlarmSignerFails: "The service cannot sign transactions now; the operator was notified.",
	sender.AlarmStuck:       "Transactions of the service are not mined; the operator was notified.",
}

// sendAndReport sends transactions, and stores the problems of the sender for the other processes.
func (w *chainWork) sendAndReport(ctx context.Context, lease store.Lease) error {
	reporting, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { w.reportProblems(reporting) })
	defer done.Wait()
	defer stop()
	return w.sender.Run(ctx, lease)
}

// reportProblems stores the problems of the sender when they change, and repeats it while there are
// any.
func (w *chainWork) reportProblems(ctx context.Context) {
	ticker := time.NewTicker(problemsInterval)
	defer ticker.Stop()
	var stored []app.SenderTrouble
	var at time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var now []app.SenderTrouble
		for _, alarm := range w.sender.Status().Alarms {
			if text := publicProblems[alarm.Kind]; text != "" {
				now = append(now, app.SenderTrouble{Detail: alarm.Detail, Public: text})
			}
		}
		if slices.Equal(now, stored) && (len(now) == 0 || time.Since(at) < problemsRepeat) {
			continue
		}
		if err := w.ledger.NoteSenderTroubles(ctx, now); err == nil {
			stored, at = now, time.Now()
		}
	}
}

// payoutHealth returns the health of payouts.
func (w *chainWork) payoutHealth(ctx context.Context) string {
	if halted, err := w.ledger.PayoutsHalted(ctx); err == nil && halted {
		return "halted"
	}
	if w.sender == nil {
		return "off" // this process has no keys
	}
	return "ok"
}

// payoutFigures collects the metrics about payouts. Every process exports the open payouts, from
// the database; events are counted by the process that caused them.
type payoutFigures struct{ *chainWork }

var (
	payoutsOpen     = figure("payouts", "Payouts that are not paid or deferred, counted up to 10000.", "status")
	payoutsOldest   = figure("payout_oldest_seconds", "Age of the oldest payout that is queued or sent; 0 without one.")
	payoutsHalted   = figure("payouts_halted", "1 while an operator has halted payouts.")
	payoutsTotal    = figure("payouts_total", "Events of payouts in this process: sent, paid, deferred, set_aside or retried.", "event")
	settlementTotal = figure("settlements_total", "Events of settlements in this process: started, ended, undone or shrunk.", "event")
	closingsTotal   = figure("closings_total", "Missions that this process started to close because every accepted submission is paid.")
)

// payoutEvents maps steps to the series of the counters.
var payoutEvents = map[app.PayoutStep]struct {
	figure *prometheus.Desc
	event  string
}{
	app.SettlementStarted: {settlementTotal, "started"}, app.SettlementEnded: {settlementTotal, "ended"},
	app.SettlementUndone: {settlementTotal, "undone"}, app.SettlementShrunk: {settlementTotal, "shrunk"},
	app.PayoutSent: {payoutsTotal, "sent"}, app.PayoutPaid: {payoutsTotal, "paid"}, app.PayoutDeferred: {payoutsTotal, "deferred"},
	app.PayoutSetAside: {payoutsTotal, "set_aside"}, app.PayoutRetried: {payoutsTotal, "retried"},
}

// Describe sends nothing: values that cannot be read are omitted.
func (payoutFigures) Describe(chan<- *prometheus.Desc) {}

func (p payoutFigures) Collect(figures chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	gauge := func(name *prometheus.Desc, value float64, labels ...string) {
		figures <- prometheus.MustNewConstMetric(name, prometheus.GaugeValue, value, labels...)
	}
	if load, err := p.store.PayoutLoad(ctx); err == nil {
		gauge(payoutsOpen, float64(load.Queued), string(sortie.PayoutQueued))
		gauge(payoutsOpen, float64(load.Sent), string(sortie.PayoutSent))
		gauge(payoutsOpen, float64(load.Failed), string(sortie.PayoutFailed))
		age := 0.0
		if !load.Oldest.IsZero() {
			age = time.Since(load.Oldest).Seconds()
		}
		gauge(payoutsOldest, age)
	}
	if halted, err := p.ledger.PayoutsHalted(ctx); err == nil {
		gauge(payoutsHalted, boolean(halted))
	}
	steps := p.app.Stats().PayoutSteps
	for step, series := range payoutEvents {
		figures <- prometheus.MustNewConstMetric(series.figure, prometheus.CounterValue, float64(steps[step]), series.event)
	}
	figures <- prometheus.MustNewConstMetric(closingsTotal, prometheus.CounterValue, float64(steps[app.ClosingStarted]))
}
