package sortie

import "encoding/json"

// SubmissionStatus is the state of a submission.
type SubmissionStatus string

// The submission statuses. Creators see those of accepted submissions only.
const (
	SubmissionPending          SubmissionStatus = "pending"           // declared or uploaded, being checked
	SubmissionFlagged          SubmissionStatus = "flagged"           // waits for an operator
	SubmissionAccepted         SubmissionStatus = "accepted"          // by the checks
	SubmissionCurationAccepted SubmissionStatus = "curation_accepted" // by an operator
	SubmissionRejected         SubmissionStatus = "rejected"
	SubmissionWithdrawn        SubmissionStatus = "withdrawn" // by its contributor
)

// PayoutStatus is the state of a payout.
type PayoutStatus string

// The payout statuses.
const (
	PayoutNone     PayoutStatus = "none"     // the acceptance is not final
	PayoutQueued   PayoutStatus = "queued"   // the acceptance is final
	PayoutSent     PayoutStatus = "sent"     // in a transaction
	PayoutPaid     PayoutStatus = "paid"     // in a final block
	PayoutDeferred PayoutStatus = "deferred" // the token refused the transfer: a deferred credit
	PayoutFailed   PayoutStatus = "failed"   // set aside until an operator retries it
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
	SlotReservedUntil string           `json:"slotReservedUntil"` // extended while bytes arrive: see [Client.MySubmission]
	Upload            *UploadLinks     `json:"upload"`            // nil if the file is uploaded or the reservation has ended
}

// UploadLinks are the links for one upload, whole or in resumable pieces. They are the permission
// to upload.
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

// Payout is the payout of a submission.
type Payout struct {
	Status          PayoutStatus `json:"status"`
	Token           Token        `json:"token"`
	AmountBaseUnits string       `json:"amountBaseUnits"`
	TransactionHash *Hash        `json:"transactionHash"`
	Reason          string       `json:"reason"` // what it waits for; or why it is deferred or failed, and what to do
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
	// SlotReservedUntil is when the reservation ends unless bytes of the file arrive; nil without a
	// reservation.
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
