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

// Receipt is a settlement of one payment with the settler's signature: the contributor can redeem
// it without the service, as long as what it depends on holds.
type Receipt struct {
	Settlement
	Signature       Bytes              `json:"signature"`
	Signer          *Address           `json:"signer"` // whose signature it is; nil for a receipt from before this was stored
	ChainID         uint64             `json:"chainId"`
	Factory         Address            `json:"factory"` // the contract that pays it
	MissionID       string             `json:"missionId"`
	SubmissionID    string             `json:"submissionId"`
	Token           Token              `json:"token"`
	AmountBaseUnits string             `json:"amountBaseUnits"` // what it pays
	ReclaimAfter    *string            `json:"reclaimAfter"`    // from when the creator may take the money back
	DependsOn       []ReceiptCondition `json:"dependsOn"`
}

// ReceiptCondition is something that a receipt depends on.
type ReceiptCondition struct {
	Code    ReceiptConditionCode `json:"code"`
	Message string               `json:"message"` // for people
}

// ReceiptConditionCode names what a receipt depends on. New ones may appear.
type ReceiptConditionCode string

// The conditions of a receipt.
const (
	ReceiptPause   ReceiptConditionCode = "pause"   // the contract is not paused
	ReceiptCap     ReceiptConditionCode = "cap"     // the contract's daily cap has room
	ReceiptRole    ReceiptConditionCode = "role"    // its signer is a settler of the contract
	ReceiptClose   ReceiptConditionCode = "close"   // the mission is not closed
	ReceiptReclaim ReceiptConditionCode = "reclaim" // the creator has not reclaimed the mission's money
)

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

// OpenMission is a published mission as everyone sees it.
type OpenMission struct {
	MissionID         string          `json:"missionId"`
	NormalizedMission json.RawMessage `json:"normalizedMission"` // a [NormalizedMission]
	Reward            Reward          `json:"reward"`
	SlotsLeft         int             `json:"slotsLeft"`      // free now
	SlotsReserved     int             `json:"slotsReserved"`  // for files that are on their way or not decided about
	NextSlotAt        *string         `json:"nextSlotAt"`     // when a reserved slot may be free; nil while slots are left, and when that is unknown
	Open              bool            `json:"open"`           // takes submissions now; false for a mission that is full, all reserved, over, or not begun
	DistanceMeters    *int64          `json:"distanceMeters"` // from the asked-for point to the middle of its area; nil without either
	PublishedAt       string          `json:"publishedAt"`
	StartsAt          string          `json:"startsAt"`
	EndsAt            string          `json:"endsAt"`
}

// OpenMissionDetail is the answer to a request for one mission.
type OpenMissionDetail struct {
	OK      bool        `json:"ok"`
	Mission OpenMission `json:"mission"`
}

// MissionFeed is one page of the missions that are not full of accepted submissions: nearest first
// where a point was asked for, otherwise newest first.
type MissionFeed struct {
	OK       bool          `json:"ok"`
	Missions []OpenMission `json:"missions"`
	Summary  FeedSummary   `json:"summary"`
}

// FeedSummary describes a page of the feed.
type FeedSummary struct {
	ReturnedMissions int     `json:"returnedMissions"`
	NextCursor       *string `json:"nextCursor"` // nil on the last page
	GeneratedAt      string  `json:"generatedAt"`
}

// ReviewedSubmission is a submission as an operator sees it.
type ReviewedSubmission struct {
	Submission
	Contributor       Address  `json:"contributor"`
	Title             string   `json:"title"` // of the mission
	Location          Location `json:"location"`
	CapturedAt        string   `json:"capturedAt"`
	DuplicateOf       *string  `json:"duplicateOf"` // the submission it looks like
	Policy            string   `json:"policy"`      // the version of the rules that decided
	DecidedBy         string   `json:"decidedBy"`   // an operator's address, or checks; empty before a decision
	EndorsedBy        *string  `json:"endorsedBy"`  // the operator who accepted it above an hourly limit: a second one must accept it, too
	FinalAt           *string  `json:"finalAt"`     // from when an acceptance cannot be taken back; nil while not accepted
	Media             *Media   `json:"media"`       // nil before the file was looked at, and after it was removed
	MediaURL          *string  `json:"mediaUrl"`
	ThumbnailURL      *string  `json:"thumbnailUrl"`
	MediaURLExpiresAt *string  `json:"mediaUrlExpiresAt"`
}

// ReviewedSubmissionDetail is the answer to a request for one submission by an operator, and to a
// decision.
type ReviewedSubmissionDetail struct {
	OK         bool               `json:"ok"`
	Submission ReviewedSubmission `json:"submission"`
}

// ReviewedSubmissionPage is one page of submissions for operators, oldest first.
type ReviewedSubmissionPage struct {
	OK          bool                 `json:"ok"`
	Submissions []ReviewedSubmission `json:"submissions"`
	Summary     SubmissionSummary    `json:"summary"`
}
