package service

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// mediaFigures are the metrics about submissions in this process.
type mediaFigures struct{ *mediaWork }

var (
	outcomes      = figure("submissions_total", "Submissions by what became of them through this process.", "outcome")
	limitsCrossed = figure("operator_limit_crossed_total", "Acceptances by operators above their hourly limit, through this process.")
	heldByCap     = figure("payouts_held_by_cap", "1 while payouts of a token wait for room below the hourly cap, as far as this process looked last.", "token")
	checksRunning = figure("checks_running", "Submissions that this process looks at now.")
	mediaWorking  = figure("media_working", "1 while files can be kept and read.")
	toRenew       = figure("receipts_to_renew", "Unpaid receipts of other settlers than the present one that were not signed again, as far as this process looked last.")
	dueAge        = figure("due_age_seconds", "Time since this process last did everything that was due; it tries each second.")
)

// Describe sends nothing: the metrics depend on the roles of the process.
func (mediaFigures) Describe(chan<- *prometheus.Desc) {}

func (m mediaFigures) Collect(figures chan<- prometheus.Metric) {
	gauge := func(name *prometheus.Desc, value float64) {
		figures <- prometheus.MustNewConstMetric(name, prometheus.GaugeValue, value)
	}
	for outcome, count := range m.app.Stats().Submissions {
		figures <- prometheus.MustNewConstMetric(outcomes, prometheus.CounterValue, float64(count), string(outcome))
	}
	figures <- prometheus.MustNewConstMetric(limitsCrossed, prometheus.CounterValue, float64(m.app.Stats().LimitsCrossed))
	for token, held := range m.ledger.HeldByCap() {
		figures <- prometheus.MustNewConstMetric(heldByCap, prometheus.GaugeValue, boolean(held), string(token))
	}
	if m.objects != nil {
		gauge(mediaWorking, boolean(m.health() == "ok"))
	}
	if m.works {
		left, known := m.ledger.ReceiptsToRenew()
		if known {
			gauge(toRenew, float64(left))
		} else {
			gauge(toRenew, math.NaN()) // 0 would mean that the old key can be revoked
		}
		gauge(checksRunning, float64(m.checking.Load()))
		gauge(dueAge, time.Since(time.Unix(m.lastDue.Load(), 0)).Seconds())
	}
}
