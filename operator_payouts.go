package sortie

// PayoutHalt is an operator's halt of payouts.
type PayoutHalt struct {
	By     string `json:"by"` // an operator's address
	Since  string `json:"since"`
	Reason string `json:"reason"`
}

// ListedPayout is the payment of one slot as operators see it.
type ListedPayout struct {
	SubmissionID    string       `json:"submissionId"`
	MissionID       string       `json:"missionId"`
	DraftID         string       `json:"draftId"`
	Slot            uint32       `json:"slot"`
	Recipient       Address      `json:"recipient"`
	Token           Token        `json:"token"`
	AmountBaseUnits string       `json:"amountBaseUnits"`
	Status          PayoutStatus `json:"status"`
	SettlementID    *int64       `json:"settlementId"`    // the settlement that pays it; nil: none yet
	TransactionHash *Hash        `json:"transactionHash"` // of the payment; nil if unknown
	BlockNumber     *uint64      `json:"blockNumber"`     // of the payment; nil if not in a block
	Problem         string       `json:"problem"`         // if failed: why it was set aside
	QueuedAt        string       `json:"queuedAt"`        // when the acceptance became final
	UpdatedAt       string       `json:"updatedAt"`
}

// PayoutPage is one page of payouts, newest first.
type PayoutPage struct {
	OK      bool           `json:"ok"`
	Payouts []ListedPayout `json:"payouts"`
	Halt    *PayoutHalt    `json:"halt"` // nil while payouts are not halted
	Summary PayoutSummary  `json:"summary"`
}

// PayoutSummary describes a page of payouts.
type PayoutSummary struct {
	ReturnedPayouts int     `json:"returnedPayouts"`
	NextCursor      *string `json:"nextCursor"` // nil on the last page
	GeneratedAt     string  `json:"generatedAt"`
}

// PayoutWaitCode is a stable name of what a payout waits for. New codes may be added.
type PayoutWaitCode string

// The codes of what a payout waits for.
const (
	WaitsForIncident  PayoutWaitCode = "incident"  // an operator must clear an incident
	WaitsForResume    PayoutWaitCode = "resume"    // an operator halted payouts
	WaitsForOperator  PayoutWaitCode = "operator"  // set aside: an operator must retry it
	WaitsForRecipient PayoutWaitCode = "recipient" // deferred: the recipient's credit must be claimed
	WaitsForBatch     PayoutWaitCode = "batch"     // others of its mission may share the transaction
	WaitsForTurn      PayoutWaitCode = "turn"      // missions that wait longer come first
	WaitsForSender    PayoutWaitCode = "sender"    // its settlement waits to be sent
	WaitsForBlock     PayoutWaitCode = "block"     // its transaction is sent and not mined
	WaitsForFinality  PayoutWaitCode = "finality"  // its block is not final
)

// PayoutWait is one thing that a payout waits for.
type PayoutWait struct {
	Code    PayoutWaitCode `json:"code"`
	Message string         `json:"message"` // for people: what, who must act, until when
}

// PayoutSettlement is the settlement that pays a payout, with its transactions.
type PayoutSettlement struct {
	ID           int64           `json:"id"`
	Size         int             `json:"size"` // number of payouts at its creation
	CreatedAt    string          `json:"createdAt"`
	Ended        bool            `json:"ended"`
	IntentStatus string          `json:"intentStatus"` // queued, sent, mined, done or void; empty: no intent
	Problem      string          `json:"problem"`      // what keeps the sender from sending it
	MinedBlock   *uint64         `json:"minedBlock"`
	Attempts     []PayoutAttempt `json:"attempts"` // the transactions that were signed for it, oldest first
}

// PayoutAttempt is a transaction that was signed for a settlement. At most one of those with the
// same nonce is mined.
type PayoutAttempt struct {
	TransactionHash Hash   `json:"transactionHash"`
	Nonce           uint64 `json:"nonce"`
	MaxFeePerGas    string `json:"maxFeePerGas"` // wei
	SentAt          string `json:"sentAt"`
}

// PayoutDetail is everything about one payout, for operators.
type PayoutDetail struct {
	OK         bool              `json:"ok"`
	Payout     ListedPayout      `json:"payout"`
	WaitsFor   []PayoutWait      `json:"waitsFor"` // most important first; empty if paid
	Settlement *PayoutSettlement `json:"settlement"`
}

// PayoutsHalted is the answer to halting and resuming payouts.
type PayoutsHalted struct {
	OK     bool        `json:"ok"`
	Halted bool        `json:"halted"`
	Halt   *PayoutHalt `json:"halt"` // nil while payouts are not halted
}

// MissionClose is the answer to ending a mission early: what it still waits for.
type MissionClose struct {
	OK        bool   `json:"ok"`
	MissionID string `json:"missionId"`
	EndsAt    string `json:"endsAt"`    // from then on it takes no submissions
	Accepted  int    `json:"accepted"`  // submissions that are or will be paid
	Unpaid    int    `json:"unpaid"`    // accepted submissions that are not paid or deferred yet
	Undecided int    `json:"undecided"` // submissions that must be decided before it is closed
	Closing   bool   `json:"closing"`   // it waits only for the transaction that closes it
}
