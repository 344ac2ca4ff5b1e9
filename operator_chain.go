package sortie

// ChainOverview is what the service knows about the chain it follows.
type ChainOverview struct {
	OK            bool             `json:"ok"`
	ChainID       uint64           `json:"chainId"`
	Factories     []Address        `json:"factories"`
	Position      *ChainPosition   `json:"position"` // nil before the first block was followed
	Halted        bool             `json:"halted"`   // publication, payouts and sends stand still until a person clears the incident
	Incidents     []Incident       `json:"incidents"`
	Sender        SenderBacklog    `json:"sender"`
	PayoutHalt    *PayoutHalt      `json:"payoutHalt"`    // nil while no operator has halted payouts
	LastReconcile *ReconcileReport `json:"lastReconcile"` // nil before the first
	Follower      *FollowerStatus  `json:"follower"`      // nil where the answering process is not the one that follows
	Sending       *SenderStatus    `json:"sending"`       // nil where the answering process is not the one that sends
	Warnings      []string         `json:"warnings"`      // about the configuration of the answering process
	GeneratedAt   string           `json:"generatedAt"`
}

// SenderStatus is how the process does that sends transactions.
type SenderStatus struct {
	Account    Address       `json:"account"`
	BalanceWei *string       `json:"balanceWei"` // nil before it was read
	DaysLeft   *float64      `json:"daysLeft"`   // for which the balance lasts at the present pace; nil while no pace is known
	Alarms     []SenderAlarm `json:"alarms"`
}

// SenderAlarm is something that keeps transactions from getting through, or soon will. It ends by
// itself.
type SenderAlarm struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// ChainPosition is how far the chain has been followed.
type ChainPosition struct {
	Start   uint64 `json:"start"` // nothing before it can concern the service
	Tip     uint64 `json:"tip"`   // the newest block whose events are applied
	TipHash Hash   `json:"tipHash"`
	TipTime string `json:"tipTime"`
	Head    uint64 `json:"head"` // the newest block of the node that is followed
	Final   uint64 `json:"final"`
}

// Incident is something that a person must look at. A halting one stops publication, payouts and
// sends until it is cleared.
type Incident struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Halting  bool   `json:"halting"`
	Detail   string `json:"detail"`
	OpenedAt string `json:"openedAt"`
}

// IncidentCleared is the answer to clearing an incident.
type IncidentCleared struct {
	OK     bool   `json:"ok"`
	ID     string `json:"id"`
	Halted bool   `json:"halted"` // another incident still halts the service
}

// SenderBacklog counts the transactions that the service has yet to see mined.
type SenderBacklog struct {
	Queued   int     `json:"queued"`
	Sent     int     `json:"sent"`
	OldestAt *string `json:"oldestAt"` // nil when there is none
}

// ReconcileReport is the outcome of one comparison of the contract's state with the database.
type ReconcileReport struct {
	FinishedAt string   `json:"finishedAt"`
	Checked    int      `json:"checked"`
	Repaired   int      `json:"repaired"`
	Alarms     []string `json:"alarms"`
}

// ReconcileRequested is the answer to a request for a comparison, which happens later: see
// [ChainOverview].
type ReconcileRequested struct {
	OK bool `json:"ok"`
}

// FollowerStatus is what the process that follows the chain sees.
type FollowerStatus struct {
	Node         string       `json:"node"` // which of the nodes is followed, without secrets
	Lag          uint64       `json:"lag"`  // blocks between tip and head
	Reorgs       uint64       `json:"reorgs"`
	LastProgress *string      `json:"lastProgress"` // nil before the first
	Alarms       []ChainAlarm `json:"alarms"`
}

// ChainAlarm is something about the nodes that is out of order now. It ends by itself when it is in
// order again.
type ChainAlarm struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	Since  string `json:"since"`
	Count  uint64 `json:"count"`
}
