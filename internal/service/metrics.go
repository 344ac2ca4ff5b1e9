package service

import (
	"context"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/params"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/follower"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// newRegistry registers all metrics of the process.
func (s *Service) newRegistry(verifier *wallet.Verifier) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &chainFigures{s.chain}, mediaFigures{s.media}, payoutFigures{s.chain})
	counter := func(name, help string, labels prometheus.Labels, read func() float64) {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, read))
	}
	gauge := func(name, help string, read func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	for result, read := range map[string]func(wallet.Stats) uint64{
		"plain_key":   func(s wallet.Stats) uint64 { return s.Plain },
		"contract":    func(s wallet.Stats) uint64 { return s.Contract },
		"refused":     func(s wallet.Stats) uint64 { return s.Refused },
		"limited":     func(s wallet.Stats) uint64 { return s.Limited },
		"unavailable": func(s wallet.Stats) uint64 { return s.Unavailable },
	} {
		counter("sortie_signature_checks_total", "Signatures of requests, by result of the check.",
			prometheus.Labels{"result": result}, func() float64 { return float64(read(verifier.Stats())) })
	}
	counter("sortie_signature_calls_total", "Calls to contract wallets that were sent to a node.", nil,
		func() float64 { return float64(verifier.Stats().Calls) })
	db := s.store
	counter("sortie_database_writes_total", "Committed transactions.", nil, func() float64 { return float64(db.Stats().Writes) })
	counter("sortie_database_commits_total", "Commits; fewer than writes if several writes share a commit.", nil, func() float64 { return float64(db.Stats().Commits) })
	counter("sortie_database_failures_total", "Commits that failed.", nil, func() float64 { return float64(db.Stats().Failures) })
	counter("sortie_database_overloads_total", "Writes refused because too many were waiting.", nil, func() float64 { return float64(db.Stats().Overloads) })
	gauge("sortie_database_waiting", "Writes that wait in the queue.", func() float64 { return float64(db.Stats().Waiting) })
	gauge("sortie_database_connections_in_use", "Connections that run a statement.", func() float64 { return float64(db.Stats().ReadersInUse) })
	counter("sortie_jobs_total", "Attempts of jobs by this process.", prometheus.Labels{"result": "done"}, func() float64 { return float64(s.queue.Stats().Done) })
	counter("sortie_jobs_total", "Attempts of jobs by this process.", prometheus.Labels{"result": "failed"}, func() float64 { return float64(s.queue.Stats().Failed) })
	counter("sortie_drafts_removed_total", "Drafts removed by this process because they were never funded.", nil, func() float64 { return float64(s.media.removedDrafts.Load()) })
	gauge("sortie_database_unconfirmed_commits", "Commits that wait for a synchronous standby after their callers gave up.", func() float64 { return float64(db.Stats().Unconfirmed) })
	gauge("sortie_clock_in_doubt", "1 while blocks or requests show that this machine's clock is more than a minute off.", func() float64 { return boolean(s.app.Clock().InDoubt) })
	gauge("sortie_clock_ahead_seconds", "Seconds by which this machine's clock is ahead of new blocks or signed requests; 0 while unknown.", func() float64 { return s.app.Clock().Offset.Seconds() })
	return registry
}

// chainFigures collects the metrics about the chain at each scrape. Every process exports those
// from the database; only the process that follows or sends exports the others.
type chainFigures struct{ *chainWork }

func figure(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sortie_"+name, help, labels, nil)
}

var (
	chainHead  = figure("chain_head", "Newest block of the followed node.")
	chainTip   = figure("chain_tip", "Newest block whose events are applied.")
	chainFinal = figure("chain_final", "Newest final block.")
	chainAge   = figure("chain_tip_age_seconds", "Age of the newest block whose events are applied.")
	incidents  = figure("incidents", "Open incidents, which an operator must clear.", "kind", "halting")
	halted     = figure("halted", "1 while an incident halts publication, payouts and sends.")
	intents    = figure("sender_intents", "Open transactions of the service.", "status")
	oldest     = figure("sender_oldest_seconds", "Age of the oldest open transaction; 0 without one.")

	booksChecked    = figure("books_checked_timestamp_seconds", "Time when the last comparison of all books with the chain ended; 0 before the first.")
	booksAgree      = figure("books_agree", "1 if the last comparison of the books with the chain was complete and found no difference.")
	booksMismatches = figure("books_mismatches", "Differences that the last comparison of the books with the chain found.")

	following     = figure("chain_following", "1 in the process that follows the chain.")
	chainAlarms   = figure("chain_alarms", "Current alarms about the nodes.", "kind")
	chainReorgs   = figure("chain_reorgs_total", "Reorganizations of followed blocks.")
	chainRaised   = figure("chain_alarms_total", "Alarms about the nodes since the start; bad_answer counts refused answers of nodes.", "kind")
	sending       = figure("sender_sending", "1 in the process that sends transactions.")
	senderAlarms  = figure("sender_alarms", "Current alarms of the sender, in the process that sends.", "kind")
	senderBalance = figure("sender_balance", "Balance of the sender in the chain's native coin; NaN while unknown.")
	senderDays    = figure("sender_days_left", "Days until the sender's balance is spent at the rate of the last three days; NaN while unknown.")
	senderFormer  = figure("sender_former_intents", "Transactions of former senders that are not final or not taken over yet.")
	senderAtCap   = figure("sender_fee_at_cap", "1 while the sender's highest fee is below the network's.")
	senderSends   = figure("sender_transactions_total", "Transactions signed and sent, including those sent again at a higher fee.")
	senderBumps   = figure("sender_bumps_total", "Transactions sent again at a higher fee.")
	senderRepeats = figure("sender_broadcasts_total", "Broadcasts of transactions to nodes.")
)

// Describe sends nothing: the metrics depend on the roles of the process.
func (chainFigures) Describe(chan<- *prometheus.Desc) {}

func (c chainFigures) Collect(figures chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	gauge := func(name *prometheus.Desc, value float64, labels ...string) {
		figures <- prometheus.MustNewConstMetric(name, prometheus.GaugeValue, value, labels...)
	}
	counter := func(name *prometheus.Desc, value float64, labels ...string) {
		figures <- prometheus.MustNewConstMetric(name, prometheus.CounterValue, value, labels...)
	}
	c.collectStored(ctx, gauge)
	for kind, count := range c.alarms() {
		gauge(chainAlarms, float64(count), kind)
	}
	gauge(following, boolean(c.following.Load()))
	raised := zeros[uint64](follower.AlarmKinds)
	if c.following.Load() {
		status := c.follower.Status()
		counter(chainReorgs, float64(status.Reorgs))
		maps.Copy(raised, status.AlarmCounts)
	}
	for kind, count := range raised {
		counter(chainRaised, float64(count), kind)
	}
	c.collectSender(gauge, counter)
}

func (c chainFigures) collectSender(gauge, counter func(*prometheus.Desc, float64, ...string)) {
	var status sender.Status
	isSending := c.sending.Load()
	if isSending {
		status = c.sender.Status()
	}
	alarms := zeros[int](sender.AlarmKinds)
	for _, alarm := range status.Alarms { // one of each kind
		alarms[alarm.Kind] = 1
	}
	for kind, count := range alarms {
		gauge(senderAlarms, float64(count), kind)
	}
	gauge(sending, boolean(isSending))
	gauge(senderAtCap, boolean(status.AtCap))
	balance, days := math.NaN(), math.NaN()
	if status.Balance != nil {
		balance, _ = new(big.Rat).SetFrac(status.Balance, big.NewInt(params.Ether)).Float64()
	}
	if status.DaysLeft != nil {
		days = *status.DaysLeft
	}
	gauge(senderBalance, balance)
	gauge(senderDays, days)
	if isSending {
		counter(senderSends, float64(status.Sends))
		counter(senderBumps, float64(status.Bumps))
		counter(senderRepeats, float64(status.Broadcasts))
	}
}

// outOfUse is the kind of alarm about a node with another chain or other contracts.
const outOfUse = "node_out_of_use"

// zeros returns 0 for each kind: an alert on a series that does not exist misses its first event.
func zeros[N int | uint64](kinds []string) map[string]N {
	counts := make(map[string]N, len(kinds))
	for _, kind := range kinds {
		counts[kind] = 0
	}
	return counts
}

// alarms counts the alarms about the nodes by kind.
func (c chainFigures) alarms() map[string]int {
	counts := zeros[int](append(slices.Clone(follower.AlarmKinds), outOfUse))
	if c.nodes.Problem() != "" {
		counts[outOfUse]++
	}
	if c.following.Load() {
		for _, alarm := range c.follower.Status().Alarms {
			counts[alarm.Kind]++
		}
	}
	return counts
}

// collectStored collects the metrics from the database. It omits values that it cannot read: a
// missing value is noticed, a wrong one is not.
func (c chainFigures) collectStored(ctx context.Context, gauge func(*prometheus.Desc, float64, ...string)) {
	if position, err := c.store.ChainPosition(ctx, c.chainID); err == nil {
		gauge(chainHead, float64(position.Head))
		gauge(chainTip, float64(position.Tip.Number))
		gauge(chainFinal, float64(position.Final))
		gauge(chainAge, time.Since(position.Tip.Time).Seconds())
	}
	if open, err := c.store.OpenIncidents(ctx); err == nil {
		isHalted, counts := false, make(map[[2]string]int)
		for _, kind := range slices.Concat(app.IncidentKinds, follower.IncidentKinds) {
			counts[[2]string{kind, "true"}], counts[[2]string{kind, "false"}] = 0, 0
		}
		for _, incident := range open {
			isHalted = isHalted || incident.Halting
			counts[[2]string{incident.Kind, strconv.FormatBool(incident.Halting)}]++
		}
		for labels, count := range counts {
			gauge(incidents, float64(count), labels[0], labels[1])
		}
		gauge(halted, boolean(isHalted))
	}
	if others, err := c.store.OtherSenders(ctx, c.chainID, c.account); err == nil && c.sender != nil {
		former := 0
		for _, number := range others {
			former += number
		}
		gauge(senderFormer, float64(former))
	}
	if books, err := c.ledger.LastBooks(ctx); err == nil {
		gauge(booksAgree, boolean(books.Agrees))
		gauge(booksMismatches, float64(books.MismatchCount))
		checked := 0.0
		if books.CompletedAt != nil {
			if at, err := time.Parse(time.RFC3339, *books.CompletedAt); err == nil {
				checked = float64(at.UnixMilli()) / 1000
			}
		}
		gauge(booksChecked, checked)
	}
	if queued, sent, since, err := c.store.IntentBacklog(ctx); err == nil {
		gauge(intents, float64(queued), "queued")
		gauge(intents, float64(sent), "sent")
		age := 0.0
		if !since.IsZero() {
			age = time.Since(since).Seconds()
		}
		gauge(oldest, age)
	}
}

func boolean(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
