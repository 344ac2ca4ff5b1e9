package sortie

// ReviewedSubmission is a submission as an operator sees it.
type ReviewedSubmission struct {
	Submission
	Contributor       Address  `json:"contributor"`
	Title             string   `json:"title"` // of the mission
	Location          Location `json:"location"`
	CapturedAt        string   `json:"capturedAt"`
	DuplicateOf       *string  `json:"duplicateOf"` // the submission that it duplicates
	Policy            string   `json:"policy"`      // the policy that decided
	DecidedBy         string   `json:"decidedBy"`   // an operator's address, or checks; empty before a decision
	EndorsedBy        *string  `json:"endorsedBy"`  // the operator who accepted it above the hourly limit: a second operator must accept it too
	FinalAt           *string  `json:"finalAt"`     // when the hold ends; nil while not accepted
	Media             *Media   `json:"media"`       // nil before the ingest, and after the file was removed
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
