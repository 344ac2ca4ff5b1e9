package sortie

// Deliverables is one page of the accepted submissions of a mission, in the order of acceptance.
type Deliverables struct {
	OK          bool                `json:"ok"`
	Mission     DeliverablesMission `json:"mission"`
	Summary     DeliverablesSummary `json:"summary"`
	Submissions []Deliverable       `json:"submissions"`
}

// DeliverablesMission describes the mission.
type DeliverablesMission struct {
	MissionID   string    `json:"missionId"`
	DraftID     string    `json:"draftId"`
	Title       string    `json:"title"`
	MediaType   MediaType `json:"mediaType"`
	Reward      Reward    `json:"reward"`
	TargetCount int       `json:"targetCount"`
}

// DeliverablesSummary describes a page of deliverables.
type DeliverablesSummary struct {
	AcceptedSubmissions int     `json:"acceptedSubmissions"` // of the mission
	ReturnedSubmissions int     `json:"returnedSubmissions"` // on this page
	NextCursor          *string `json:"nextCursor"`          // nil on the last page
	GeneratedAt         string  `json:"generatedAt"`
}

// Deliverable is an accepted submission as the creator of its mission sees it.
type Deliverable struct {
	SubmissionID      string       `json:"submissionId"`
	MediaType         MediaType    `json:"mediaType"`
	MediaURL          string       `json:"mediaUrl"` // expires; ask for the deliverables again to get a new one
	MediaURLExpiresAt string       `json:"mediaUrlExpiresAt"`
	ThumbnailURL      *string      `json:"thumbnailUrl"`
	CreatedAt         string       `json:"createdAt"`  // as SubmissionTime
	VerifiedAt        string       `json:"verifiedAt"` // likewise
	Location          Location     `json:"location"`
	Verification      Verification `json:"verification"`
	Media             Media        `json:"media"`
	Provenance        Provenance   `json:"provenance"`
}

// SubmissionTime is the layout of a submission's times, in UTC, for package time.
const SubmissionTime = "2006-01-02 15:04:05"

// Verification is why a submission was accepted.
type Verification struct {
	Status SubmissionStatus `json:"status"` // accepted or curation_accepted
	Score  int              `json:"score"`  // 0-100
	Reason string           `json:"reason"`
}

// Media describes the bytes that a media link serves.
type Media struct {
	Hash          string `json:"hash"` // sha256: and 64 hex digits
	DurationMs    *int64 `json:"durationMs"`
	KeyframeCount *int   `json:"keyframeCount"`
	ContentType   string `json:"contentType"`
}

// Provenance names the origin of a deliverable.
type Provenance struct {
	Source       string `json:"source"`
	MissionID    string `json:"missionId"`
	SubmissionID string `json:"submissionId"`
}

// SourceSubmission is the source of contributors' submissions.
const SourceSubmission = "service_submission"
