package sortie

// ChainOverview is what the service knows about the chain it follows.
type ChainOverview struct {
	OK            bool             `json:"ok"`
	ChainID       uint64           `json:"chainId"`
	Factories     []Address        `json:"factories"`
	Position      *ChainPosition   `json:"position"` // nil before the first block was followed
	Halted        bool             `json:"halted"`   // publication, payouts and sends are stopped until an operator clears the incident
	Incidents     []Incident       `json:"incidents"`
	Sender        SenderBacklog    `json:"sender"`
	PayoutHalt    *PayoutHalt      `json:"payoutHalt"`    // nil while no operator has halted payouts
	LastReconcile *ReconcileReport `json:"lastReconcile"` // nil before the first
	Follower      *FollowerStatus  `json:"follower"`      // nil if the answering process does not follow
	Sending       *SenderStatus    `json:"sending"`       // nil if the answering process does not send
	Warnings      []string         `json:"warnings"`      // about the configuration of the answering process
	GeneratedAt   string           `json:"generatedAt"`
}

// SenderStatus is the state of the sender in the answering process.
type SenderStatus struct {
	Account    Address       `json:"account"`
	BalanceWei *string       `json:"balanceWei"` // nil before it was read
	DaysLeft   *float64      `json:"daysLeft"`   // how long the balance lasts at the current rate; nil while the rate is unknown
	Alarms     []SenderAlarm `json:"alarms"`
}

// SenderAlarm is a problem that delays transactions, or soon will. It ends by itself.
type SenderAlarm struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// ChainPosition is how far the chain has been followed.
type ChainPosition struct {
	Start   uint64 `json:"start"` // the first block that can concern the service
	Tip     uint64 `json:"tip"`   // the newest block whose events are applied
	TipHash Hash   `json:"tipHash"`
	TipTime string `json:"tipTime"`
	Head    uint64 `json:"head"` // the newest block of the node that is followed
	Final   uint64 `json:"final"`
}

// Incident is a problem that an operator must clear. A halting incident stops publication, payouts
// and sends until then.
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

// SenderBacklog counts the intents that are not mined.
type SenderBacklog struct {
	Queued   int     `json:"queued"`
	Sent     int     `json:"sent"`
	OldestAt *string `json:"oldestAt"` // nil if there is none
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

// FollowerStatus is the state of the follower in the answering process.
type FollowerStatus struct {
	Node         string       `json:"node"` // the node that is followed, without secrets
	Lag          uint64       `json:"lag"`  // blocks between tip and head
	Reorgs       uint64       `json:"reorgs"`
	LastProgress *string      `json:"lastProgress"` // nil before the first
	Alarms       []ChainAlarm `json:"alarms"`
}

// ChainAlarm is a problem with the nodes. It ends by itself.
type ChainAlarm struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	Since  string `json:"since"`
	Count  uint64 `json:"count"`
}
