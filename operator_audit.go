package sortie

import "encoding/json"

// AuditEntry is one action of an operator, or of the service for an operator.
type AuditEntry struct {
	ID      int64           `json:"id"` // increasing
	At      string          `json:"at"`
	Actor   string          `json:"actor"` // an operator's address; auto, reclaim or chain when no person acted
	Action  string          `json:"action"`
	Subject string          `json:"subject"` // the id of what it was done to
	Detail  json.RawMessage `json:"detail"`  // an object
}

// AuditPage is one page of the audit log, newest first.
type AuditPage struct {
	OK      bool         `json:"ok"`
	Entries []AuditEntry `json:"entries"`
	Summary AuditSummary `json:"summary"`
}

// AuditSummary describes a page of the audit log.
type AuditSummary struct {
	ReturnedEntries int     `json:"returnedEntries"`
	NextCursor      *string `json:"nextCursor"` // nil on the last page
	GeneratedAt     string  `json:"generatedAt"`
}
