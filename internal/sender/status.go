package sender

import (
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/store"
)

// The kinds of an [Alarm].
const (
	AlarmHalted        = "halted"          // an incident must be cleared before anything is sent
	AlarmStuck         = "stuck"           // something has not been mined for long
	AlarmAtCap         = "at_cap"          // the limit of the gas price is too low now
	AlarmBalanceLow    = "balance_low"     // the account cannot pay for its transactions
	AlarmGasLow        = "gas_low"         // the balance is below the minimum
	AlarmGasAboveLimit = "gas_above_limit" // a node estimates more gas than the limit
	AlarmUnprepared    = "unprepared"      // an intent cannot be prepared
	AlarmSignerFails   = "signer_fails"    // the signer returned no usable signature
	AlarmReverted      = "reverted"        // a transaction was mined and had no effect
	AlarmReplaced      = "replaced"        // another program uses the key
	AlarmNonceGap      = "nonce_gap"       // an unused nonce below a used one is in the way
	AlarmDisagreement  = "nodes_disagree"  // nodes contradict each other
	AlarmNoQuorum      = "quorum_missing"  // too few nodes answer
)

// AlarmKinds lists the kinds, for metrics that start at 0.
var AlarmKinds = []string{
	AlarmHalted, AlarmStuck, AlarmAtCap, AlarmBalanceLow, AlarmGasLow, AlarmGasAboveLimit, AlarmUnprepared, AlarmSignerFails,
	AlarmReverted, AlarmReplaced, AlarmNonceGap, AlarmDisagreement, AlarmNoQuorum,
}

// Alarm is a problem that an operator should know. It ends with its cause.
type Alarm struct{ Kind, Detail string }

// Status is the state of a sender, for health and metrics.
type Status struct {
	Queued, Sent, Mined int       // intents that wait for a transaction, for a block, and for finality
	Oldest              time.Time // creation of the oldest intent that is not mined; zero: there is none
	NextNonce           uint64    // on the chain, at the last step
	Stuck, AtCap        bool
	Alarms              []Alarm
	LastError           string    // of the last step; empty: none
	LastLook            time.Time // zero: this process does not send
	Sends               int64     // transactions sent for the first time
	Bumps               int64     // of them, those that replaced one at a lower price
	Broadcasts          int64     // how often transactions were sent to the nodes
	Balance             *big.Int  // in wei; nil: not read yet
	DaysLeft            *float64  // at the recent rate; nil: not known
}

// Active is the number of intents that are not over.
func (s Status) Active() int { return s.Queued + s.Sent + s.Mined }

// Pending is the number of intents that are not mined.
func (s Status) Pending() int { return s.Queued + s.Sent }

// monitor collects the status of a step and shows it afterwards.
type monitor struct {
	current Status // of the current step

	mutex sync.Mutex
	shown Status
}

// Status returns the status after the last step.
func (s *Sender) Status() Status {
	s.status.mutex.Lock()
	defer s.status.mutex.Unlock()
	shown := s.status.shown
	shown.Alarms = slices.Clone(shown.Alarms)
	return shown
}

func (s *monitor) begin() {
	last := s.current
	s.current = Status{NextNonce: last.NextNonce, Sends: last.Sends, Bumps: last.Bumps, Broadcasts: last.Broadcasts}
}

// end shows the status of a step, and logs new alarms.
func (s *monitor) end(r *tick, err error, log *slog.Logger) {
	for _, p := range r.intents {
		switch p.Status {
		case store.IntentQueued:
			s.current.Queued++
			if p.Problem != "" { // it may be delayed, and was not tried now
				s.alarm(AlarmUnprepared, fmt.Sprintf("%s %s: %s", p.Kind, p.Subject, p.Problem))
			}
		case store.IntentSent:
			s.current.Sent++
		case store.IntentMined:
			s.current.Mined++
		}
		if unmined := p.Status == store.IntentQueued || p.Status == store.IntentSent; unmined &&
			(s.current.Oldest.IsZero() || p.CreatedAt.Before(s.current.Oldest)) {
			s.current.Oldest = p.CreatedAt
		}
	}
	if oldest := s.current.Oldest; !oldest.IsZero() && r.now.Sub(oldest) > overdueAfter {
		s.alarm(AlarmStuck, fmt.Sprintf("an intent waits since %s to be carried out", sortie.FormatTime(oldest)))
	}
	if s.current.LastLook = r.now; r.view.node != nil {
		s.current.NextNonce = r.view.nonce
	}
	if err != nil {
		s.current.LastError = chain.OneLine(err.Error())
	}
	for _, alarm := range s.current.Alarms {
		if !hasAlarm(s.shown.Alarms, alarm.Kind) { // only this goroutine writes it
			log.Warn("sender alarm", "kind", alarm.Kind, "detail", alarm.Detail)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.shown = s.current
}

func hasAlarm(alarms []Alarm, kind string) bool {
	return slices.ContainsFunc(alarms, func(a Alarm) bool { return a.Kind == kind })
}

// doubt raises the alarm that too few nodes agree.
func (s *monitor) doubt(err error) {
	kind := AlarmNoQuorum
	if errors.Is(err, chain.ErrNodesDisagree) {
		kind = AlarmDisagreement
	}
	s.alarm(kind, err.Error())
}

// alarm raises at most one alarm of each kind.
func (s *monitor) alarm(kind, detail string) {
	s.current.Stuck = s.current.Stuck || kind == AlarmStuck
	s.current.AtCap = s.current.AtCap || kind == AlarmAtCap
	if !hasAlarm(s.current.Alarms, kind) {
		s.current.Alarms = append(s.current.Alarms, Alarm{kind, chain.OneLine(detail)})
	}
}
