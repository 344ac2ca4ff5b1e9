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

// The kinds of a [SenderAlarm].
const (
	SenderHalted        = "halted"          // an incident must be cleared before anything is sent
	SenderStuck         = "stuck"           // something has not been mined for long
	SenderAtCap         = "at_cap"          // the most that may be paid for gas is too little now
	SenderBalanceLow    = "balance_low"     // the account cannot pay for its transactions
	SenderGasLow        = "gas_low"         // the account has less than it should
	SenderGasAboveLimit = "gas_above_limit" // a node asks for more gas than anything needs
	SenderUnprepared    = "unprepared"      // an intent cannot be made a transaction now
	SenderSignerFails   = "signer_fails"    // the signer gave no usable signature
	SenderReverted      = "reverted"        // a transaction was mined and had no effect
	SenderReplaced      = "replaced"        // somebody else uses the key
	SenderNonceGap      = "nonce_gap"       // a nonce that nobody holds is in the way
	SenderDisagreement  = "nodes_disagree"  // nodes contradict each other
	SenderNoQuorum      = "quorum_missing"  // too few nodes answer
)

// SenderAlarmKinds lists all of them, for metrics that start at 0.
var SenderAlarmKinds = []string{
	SenderHalted, SenderStuck, SenderAtCap, SenderBalanceLow, SenderGasLow, SenderGasAboveLimit, SenderUnprepared, SenderSignerFails,
	SenderReverted, SenderReplaced, SenderNonceGap, SenderDisagreement, SenderNoQuorum,
}

// SenderAlarm is something an operator should know. It is there for as long as it is so.
type SenderAlarm struct{ Kind, Detail string }

// SenderStatus says how a sender does, for health and metrics.
type SenderStatus struct {
	Queued, Sent, Mined int       // intents that wait for a transaction, for a block, and for that to be final
	Oldest              time.Time // when the oldest intent that is not mined was made; zero when there is none
	NextNonce           uint64    // of the chain, when last looked at
	Stuck, AtCap        bool
	Alarms              []SenderAlarm
	LastError           string    // of the last look, empty when it went well
	LastLook            time.Time // zero before the first: this process does not send
	Sends               int64     // transactions sent for the first time
	Bumps               int64     // of them, those that replaced one at a lower price
	Broadcasts          int64     // times that transactions were handed to the nodes
	Balance             *big.Int  // of the account in wei; nil before it was read
	DaysLeft            *float64  // for which the balance lasts at the present pace; nil: no pace is known
}

// Active is the number of intents that are not over.
func (s SenderStatus) Active() int { return s.Queued + s.Sent + s.Mined }

// Pending is the number of intents that are not mined.
func (s SenderStatus) Pending() int { return s.Queued + s.Sent }

// senderStatus gathers a status during a step and shows it afterwards.
type senderStatus struct {
	current SenderStatus // of the step under way

	mutex sync.Mutex
	shown SenderStatus
}

// Status is how the sender does since its last step.
func (s *Sender) Status() SenderStatus {
	s.status.mutex.Lock()
	defer s.status.mutex.Unlock()
	shown := s.status.shown
	shown.Alarms = slices.Clone(shown.Alarms)
	return shown
}

func (s *senderStatus) begin() {
	last := s.current
	s.current = SenderStatus{NextNonce: last.NextNonce, Sends: last.Sends, Bumps: last.Bumps, Broadcasts: last.Broadcasts}
}

// end shows the status of a step, and logs the alarms that are new.
func (s *senderStatus) end(r *round, err error, log *slog.Logger) {
	for _, p := range r.pursuits {
		switch p.Status {
		case store.IntentQueued:
			s.current.Queued++
			if p.Problem != "" { // it may rest, and was not tried now
				s.alarm(SenderUnprepared, fmt.Sprintf("%s %s: %s", p.Kind, p.Subject, p.Problem))
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
		s.alarm(SenderStuck, fmt.Sprintf("an intent waits since %s to be carried out", sortie.FormatTime(oldest)))
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

func hasAlarm(alarms []SenderAlarm, kind string) bool {
	return slices.ContainsFunc(alarms, func(a SenderAlarm) bool { return a.Kind == kind })
}

// doubt notes that too few nodes agree.
func (s *senderStatus) doubt(err error) {
	kind := SenderNoQuorum
	if errors.Is(err, chain.ErrNodesDisagree) {
		kind = SenderDisagreement
	}
	s.alarm(kind, err.Error())
}

// alarm notes one alarm of each kind: many intents may suffer from the same.
func (s *senderStatus) alarm(kind, detail string) {
	s.current.Stuck = s.current.Stuck || kind == SenderStuck
	s.current.AtCap = s.current.AtCap || kind == SenderAtCap
	if !hasAlarm(s.current.Alarms, kind) {
		s.current.Alarms = append(s.current.Alarms, SenderAlarm{kind, chain.OneLine(detail)})
	}
}
