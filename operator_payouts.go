package sortie

// PayoutHalt says who halted payouts, since when and why.
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
	SettlementID    *int64       `json:"settlementId"`    // the batch that carries it, or carried it; nil: none
	TransactionHash *Hash        `json:"transactionHash"` // that pays it, as far as known
	BlockNumber     *uint64      `json:"blockNumber"`     // that paid or deferred it; nil: none did
	Problem         string       `json:"problem"`         // of failed ones: why they were set aside
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

// PayoutWaitCode is a stable name of what a payout waits for. New ones may appear.
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

// PayoutSettlement is the batch that carries a payout, and its transaction.
type PayoutSettlement struct {
	ID           int64           `json:"id"`
	Size         int             `json:"size"` // payouts that it began with
	CreatedAt    string          `json:"createdAt"`
	Ended        bool            `json:"ended"`
	IntentStatus string          `json:"intentStatus"` // queued, sent, mined, done or void; empty: none was stored
	Problem      string          `json:"problem"`      // what keeps the sender from sending it
	MinedBlock   *uint64         `json:"minedBlock"`
	Attempts     []PayoutAttempt `json:"attempts"` // the transactions that were signed for it, oldest first
}

// PayoutAttempt is a transaction that was signed for a settlement. At most one of those with the
// same nonce is ever mined.
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
	WaitsFor   []PayoutWait      `json:"waitsFor"` // the most important first; empty: paid
	Settlement *PayoutSettlement `json:"settlement"`
}

// PayoutsHalted is the answer to halting and resuming payouts.
type PayoutsHalted struct {
	OK     bool        `json:"ok"`
	Halted bool        `json:"halted"`
	Halt   *PayoutHalt `json:"halt"` // nil while payouts are not halted
}

// MissionClose is the answer to closing a mission early: what it still waits for.
type MissionClose struct {
	OK        bool   `json:"ok"`
	MissionID string `json:"missionId"`
	EndsAt    string `json:"endsAt"`    // it takes no submissions from then on
	Accepted  int    `json:"accepted"`  // submissions that are paid, or will be
	Unpaid    int    `json:"unpaid"`    // of those, the ones that are not paid or deferred yet
	Undecided int    `json:"undecided"` // submissions that must be decided before it is closed
	Closing   bool   `json:"closing"`   // nothing is left to wait for but the transaction that closes it
}
