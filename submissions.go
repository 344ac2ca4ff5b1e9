package sortie

import "encoding/json"

// SubmissionStatus is where a submission stands.
type SubmissionStatus string

// The submission statuses. Creators see those of accepted submissions only.
const (
	SubmissionPending          SubmissionStatus = "pending"           // declared or uploaded, being checked
	SubmissionFlagged          SubmissionStatus = "flagged"           // a person must look at it
	SubmissionAccepted         SubmissionStatus = "accepted"          // by the checks
	SubmissionCurationAccepted SubmissionStatus = "curation_accepted" // by a person
	SubmissionRejected         SubmissionStatus = "rejected"
	SubmissionWithdrawn        SubmissionStatus = "withdrawn" // by its contributor
)

// PayoutStatus is where the payment for a submission stands.
type PayoutStatus string

// The payout statuses.
const (
	PayoutNone     PayoutStatus = "none"     // not accepted for good
	PayoutQueued   PayoutStatus = "queued"   // accepted for good
	PayoutSent     PayoutStatus = "sent"     // in a transaction
	PayoutPaid     PayoutStatus = "paid"     // in a final block
	PayoutDeferred PayoutStatus = "deferred" // the recipient could not receive it; the contract holds it for them
	PayoutFailed   PayoutStatus = "failed"   // set aside until an operator lets it be tried again
)

// PayoutStatuses lists the statuses of payouts, without PayoutNone.
func PayoutStatuses() []PayoutStatus {
	return []PayoutStatus{PayoutQueued, PayoutSent, PayoutPaid, PayoutDeferred, PayoutFailed}
}

// Location is where a submission was made, as its contributor declared it.
type Location struct {
	Lat            json.Number `json:"lat"`
	Lng            json.Number `json:"lng"`
	AccuracyMeters json.Number `json:"accuracyMeters"`
}

// Declaration is what a contributor says about a file before uploading it.
type Declaration struct {
	Location    Location `json:"location"`
	CapturedAt  string   `json:"capturedAt"` // RFC 3339 with a zone
	ContentType string   `json:"contentType"`
	SizeBytes   int64    `json:"sizeBytes"`
	SHA256      string   `json:"sha256"` // 64 hex digits, of the bytes that will be uploaded
}

// SubmissionDeclared is the answer to a declaration: a slot is reserved, and the file may be
// uploaded.
type SubmissionDeclared struct {
	OK                bool             `json:"ok"`
	SubmissionID      string           `json:"submissionId"`
	Status            SubmissionStatus `json:"status"`
	SlotReservedUntil string           `json:"slotReservedUntil"` // moves while bytes arrive; [Client.MySubmission] tells the current one
	Upload            *UploadLinks     `json:"upload"`            // nil when nothing is waited for any more: the answer to a repeated request
}

// UploadLinks are where a file is uploaded, whole or in resumable pieces. Who has them may upload.
type UploadLinks struct {
	PutURL    string `json:"putUrl"`
	TusURL    string `json:"tusUrl"`    // tus 1.0
	ExpiresAt string `json:"expiresAt"` // as SlotReservedUntil
}

// SubmissionCheck is the outcome of one check of a submission.
type SubmissionCheck struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason"`
}

// Payout is the payment for a submission.
type Payout struct {
	Status          PayoutStatus `json:"status"`
	Token           Token        `json:"token"`
	AmountBaseUnits string       `json:"amountBaseUnits"`
	TransactionHash *Hash        `json:"transactionHash"`
	Reason          string       `json:"reason"` // what it waits for, or why it is deferred or failed, and what to do
}

// Submission is a submission as its contributor sees it.
type Submission struct {
	SubmissionID string            `json:"submissionId"`
	MissionID    string            `json:"missionId"`
	Status       SubmissionStatus  `json:"status"`
	Reason       string            `json:"reason"`
	Score        *int              `json:"score"` // 0-100; nil before the checks
	Checks       []SubmissionCheck `json:"checks"`
	CreatedAt    string            `json:"createdAt"`  // as [SubmissionTime]
	VerifiedAt   *string           `json:"verifiedAt"` // likewise; nil before the checks
	Payout       Payout            `json:"payout"`
	Receipt      *Receipt          `json:"receipt"` // nil until the acceptance is final
	// SlotReservedUntil is when the slot is given to others unless bytes of the file arrive; nil
	// when no file is waited for.
	SlotReservedUntil *string `json:"slotReservedUntil"`
}

// SubmissionDetail is the answer to a request about one submission.
type SubmissionDetail struct {
	OK         bool       `json:"ok"`
	Submission Submission `json:"submission"`
}

// SubmissionPage is one page of a contributor's submissions, newest first.
type SubmissionPage struct {
	OK          bool              `json:"ok"`
	Submissions []Submission      `json:"submissions"`
	Summary     SubmissionSummary `json:"summary"`
}

// SubmissionSummary describes a page of submissions.
type SubmissionSummary struct {
	ReturnedSubmissions int     `json:"returnedSubmissions"`
	NextCursor          *string `json:"nextCursor"` // nil on the last page
	GeneratedAt         string  `json:"generatedAt"`
}
