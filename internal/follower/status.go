package follower

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// The kinds of an [Alarm].
const (
	AlarmUnreachable   = "unreachable"    // a node, or without a subject every node, does not answer
	AlarmNodeError     = "node_error"     // a node returns an error
	AlarmBadAnswer     = "bad_answer"     // a node's answer is impossible, and was refused
	AlarmWrongChain    = "wrong_chain"    // a node is on another chain
	AlarmClock         = "clock_ahead"    // the time of a block is in the future
	AlarmBehind        = "behind"         // no node has the followed blocks
	AlarmStalled       = "stalled"        // no new block for long
	AlarmReplaced      = "chain_replaced" // a node's chain has none of the followed blocks
	AlarmDisagree      = "nodes_disagree" // nodes contradict each other: what depends on it waits
	AlarmQuorumMissing = "quorum_missing" // too few nodes answer: what depends on it waits
	AlarmNoFinality    = "no_finality"    // the node names no final block: nothing locks
	AlarmFinality      = "bad_finality"   // the node's final block is impossible, and was ignored
	AlarmLedger        = "ledger"         // the ledger refused what was read
)

// AlarmKinds lists the kinds, for metrics that start at 0.
var AlarmKinds = []string{
	AlarmUnreachable, AlarmNodeError, AlarmBadAnswer, AlarmWrongChain, AlarmClock, AlarmBehind, AlarmStalled, AlarmReplaced,
	AlarmDisagree, AlarmQuorumMissing, AlarmNoFinality, AlarmFinality, AlarmLedger,
}

// alarmLife is how long an alarm about a node lasts that is no longer asked.
const alarmLife = 5 * time.Minute

// Alarm is a current problem with the chain or its nodes. It ends with its cause.
type Alarm struct {
	Kind    string
	Subject string // a node's name, or a topic of several nodes; empty: the chain
	Detail  string // free text
	Since   time.Time
	Last    time.Time // when it was last raised
	Count   int       // how often it was raised
}

// Status is the state of a follower.
type Status struct {
	Node         string    // the node that answered last
	Head         uint64    // newest block of that node
	Tip          uint64    // newest block whose events are applied
	TipTime      time.Time // of the tip
	Final        uint64
	Lag          uint64 // blocks of the node that are not applied yet
	Interval     time.Duration
	LastAnswer   time.Time // zero: no node has answered
	LastProgress time.Time // when a new block was applied; zero: never
	Blocks       uint64    // applied by this process, like the counters below
	Events       uint64
	Reorgs       uint64
	DeepestReorg uint64 // blocks
	Confirmed    uint64 // confirmed fundings and refunds
	Alarms       []Alarm
	AlarmCounts  map[string]uint64 // how often each kind was raised, including ended alarms
}

// Values of [Status.State].
const (
	StateOK           = "ok"
	StateUnavailable  = "unavailable"
	StateBehind       = "behind"
	StateDisagreement = "disagreement"
)

// State is the status in one word. Disagreement of nodes and impossible answers take precedence.
func (s Status) State() string {
	rank := map[string]int{StateOK: 0, StateBehind: 1, StateUnavailable: 2, StateDisagreement: 3}
	worst := StateOK
	for _, alarm := range s.Alarms {
		state := StateDisagreement
		switch alarm.Kind {
		case AlarmUnreachable, AlarmNodeError, AlarmLedger, AlarmQuorumMissing:
			state = StateUnavailable
		case AlarmBehind, AlarmStalled:
			state = StateBehind
		case AlarmNoFinality:
			state = StateOK // a chain may be too young for it
		}
		if rank[state] > rank[worst] {
			worst = state
		}
	}
	return worst
}

// monitor holds the status and the alarms of a follower.
type monitor struct {
	now func() time.Time
	log *slog.Logger

	mutex  sync.Mutex
	status Status
	alarms map[alarmKey]*Alarm
	counts map[string]uint64
}

type alarmKey struct{ kind, subject string }

func newMonitor(now func() time.Time, log *slog.Logger) *monitor {
	return &monitor{now: now, log: log, alarms: make(map[alarmKey]*Alarm), counts: make(map[string]uint64)}
}

// raise adds or repeats an alarm. It is logged once, until it ends.
func (m *monitor) raise(kind, subject, detail string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.expire()
	now := m.now()
	m.counts[kind]++
	key := alarmKey{kind, subject}
	alarm, known := m.alarms[key]
	if !known {
		alarm = &Alarm{Kind: kind, Subject: subject, Since: now}
		m.alarms[key] = alarm
		m.log.Warn("chain alarm", "kind", kind, "subject", subject, "detail", chain.OneLine(detail))
	}
	alarm.Detail, alarm.Last = chain.OneLine(detail), now
	alarm.Count++
}

// clear ends alarms of these kinds about a subject.
func (m *monitor) clear(subject string, kinds ...string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, kind := range kinds {
		key := alarmKey{kind, subject}
		if alarm, known := m.alarms[key]; known {
			m.log.Info("chain alarm ended", "kind", kind, "subject", subject, "count", alarm.Count)
			delete(m.alarms, key)
		}
	}
}

// Topics about which several nodes are asked.
const (
	aboutFinality = "finality"
	aboutFundings = "fundings"
	aboutMissions = "missions"
)

// settle raises the alarms for doubts about a topic, and ends those that no longer apply.
func (m *monitor) settle(subject string, doubts error) {
	for kind, class := range map[string]error{
		AlarmDisagree: chain.ErrNodesDisagree, AlarmQuorumMissing: chain.ErrQuorumMissing, AlarmBadAnswer: chain.ErrBadAnswer,
	} {
		if errors.Is(doubts, class) {
			m.raise(kind, subject, doubts.Error())
		} else {
			m.clear(subject, kind)
		}
	}
}

// expire removes alarms about nodes that are no longer asked. Those about the whole chain are ended
// explicitly.
func (m *monitor) expire() {
	now := m.now()
	maps.DeleteFunc(m.alarms, func(key alarmKey, alarm *Alarm) bool { return key.subject != "" && now.Sub(alarm.Last) > alarmLife })
}

func (m *monitor) update(change func(*Status)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	change(&m.status)
}

func (m *monitor) moved(position onchain.Position, head uint64) {
	m.update(func(s *Status) {
		s.Tip, s.TipTime, s.Final, s.Head = position.Tip.Number, position.Tip.Time, position.Final, max(head, position.Tip.Number)
		s.Lag = s.Head - s.Tip
	})
}

func (m *monitor) snapshot() Status {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.expire()
	status := m.status
	status.AlarmCounts = maps.Clone(m.counts)
	for _, alarm := range m.alarms {
		status.Alarms = append(status.Alarms, *alarm)
	}
	slices.SortFunc(status.Alarms, func(a, b Alarm) int {
		if order := strings.Compare(a.Kind, b.Kind); order != 0 {
			return order
		}
		return strings.Compare(a.Subject, b.Subject)
	})
	return status
}
