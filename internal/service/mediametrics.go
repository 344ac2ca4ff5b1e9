package service

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// mediaFigures are the metrics about submissions in this process.
type mediaFigures struct{ *mediaWork }

var (
	outcomes      = figure("submissions_total", "Submissions decided by this process, by outcome.", "outcome")
	limitsCrossed = figure("operator_limit_crossed_total", "Acceptances above an operator's hourly limit in this process.")
	heldByCap     = figure("payouts_held_by_cap", "1 while payouts of a token wait because of the hourly cap, at the last check of this process.", "token")
	checksRunning = figure("checks_running", "Submissions that this process is checking.")
	mediaWorking  = figure("media_working", "1 while the media store can be read and written.")
	toRenew       = figure("receipts_to_renew", "Unpaid receipts of former settlers that are not signed again yet, at the last check of this process.")
	dueAge        = figure("due_age_seconds", "Time since this process last completed all work that was due; it tries each second.")
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
