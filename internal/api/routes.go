package api

import "net/http"

// route is one line of the table of contents.
type route struct {
	method  string
	pattern string
	handle  func(*Server, *request) error
	access  access
	body    int64 // the largest body; 0: none
	drafts  bool  // counts against the limit of drafts instead of that of reads

	list         bool // reads many rows: bounded in number at a time
	bodyOptional bool
	streams      bool // the handler reads the body, which may be of any size
	tus          bool // speaks the tus protocol
	operations   bool // answered by every process, whatever else it does
}

type access int

const (
	signed    access = iota // only with the three wallet headers
	operator                // signed, by a wallet on the operator list
	unsigned                // without a wallet; counts against the address
	uploader                // whoever has a link to an upload
	viewer                  // whoever has a link to media
	inspector               // whoever has an operator's link to media
	public                  // for probes and readers; never limited
	accesses
)

// isSigned reports whether a wallet must say who asks.
func (a access) isSigned() bool { return a == signed || a == operator }

// byLink reports whether a signed link lets in whoever has it.
func (a access) byLink() bool { return a == uploader || a == viewer || a == inspector }

// routes is the whole API. Paths have exactly one spelling.
var routes = []route{
	{method: "POST", pattern: "/api/external/missions/drafts", handle: (*Server).createDraft, body: maxMissionBody, drafts: true},
	{method: "POST", pattern: "/api/external/missions/preview", handle: (*Server).previewMission, body: maxMissionBody},
	{method: "GET", pattern: "/api/external/missions", handle: (*Server).listDrafts, list: true},
	{method: "GET", pattern: "/api/external/missions/{id}", handle: (*Server).missionStatus},
	{method: "GET", pattern: "/api/external/missions/{id}/doctor", handle: (*Server).doctor},
	{method: "POST", pattern: "/api/external/missions/{id}/confirm-funding", handle: (*Server).confirmFunding, body: maxSmallBody, bodyOptional: true},
	{method: "GET", pattern: "/api/external/events", handle: (*Server).events, list: true},
	{method: "GET", pattern: "/api/external/missions/{id}/deliverables", handle: (*Server).deliverables, list: true},
	{method: "GET", pattern: "/api/external/media/{submissionId}/{variant}", handle: (*Server).deliveredMedia, access: viewer},

	{method: "GET", pattern: "/api/missions", handle: (*Server).feed, list: true, access: unsigned},
	{method: "GET", pattern: "/api/missions/{missionId}", handle: (*Server).openMission, access: unsigned},
	{method: "GET", pattern: "/api/missions/{missionId}/ledger", handle: (*Server).missionLedger, list: true, access: unsigned},
	{method: "POST", pattern: "/api/missions/{missionId}/submissions", handle: (*Server).declareSubmission, body: maxSmallBody},
	{method: "GET", pattern: "/api/submissions", handle: (*Server).ownSubmissions, list: true},
	{method: "GET", pattern: "/api/submissions/{id}", handle: (*Server).ownSubmission},
	{method: "POST", pattern: "/api/submissions/{id}/withdraw", handle: (*Server).withdrawSubmission},
	{method: "GET", pattern: "/api/earnings", handle: (*Server).earnings, list: true},
	{method: "PUT", pattern: "/api/uploads/{submissionId}", handle: (*Server).putUpload, access: uploader, streams: true},
	{method: "POST", pattern: "/api/uploads/{submissionId}/tus", handle: (*Server).tusCreate, access: uploader, streams: true, tus: true},
	{method: "HEAD", pattern: "/api/uploads/{submissionId}/tus", handle: (*Server).tusHead, access: uploader, tus: true},
	{method: "PATCH", pattern: "/api/uploads/{submissionId}/tus", handle: (*Server).tusPatch, access: uploader, streams: true, tus: true},
	{method: "DELETE", pattern: "/api/uploads/{submissionId}/tus", handle: (*Server).tusDelete, access: uploader, tus: true},

	{method: "GET", pattern: "/api/operator/reviews", handle: (*Server).listReviews, list: true, access: operator},
	{method: "GET", pattern: "/api/operator/reviews/{id}", handle: (*Server).showReview, access: operator},
	{method: "POST", pattern: "/api/operator/missions/{id}/approve", handle: (*Server).approveMission, access: operator, body: maxSmallBody, bodyOptional: true},
	{method: "POST", pattern: "/api/operator/missions/{id}/reject", handle: (*Server).rejectMission, access: operator, body: maxSmallBody},
	{method: "POST", pattern: "/api/operator/missions/{id}/close", handle: (*Server).closeMission, access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/payouts", handle: (*Server).listPayouts, list: true, access: operator},
	{method: "POST", pattern: "/api/operator/payouts/halt", handle: (*Server).haltPayouts, access: operator, body: maxSmallBody},
	{method: "POST", pattern: "/api/operator/payouts/resume", handle: (*Server).resumePayouts, access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/payouts/{id}", handle: (*Server).showPayout, access: operator},
	{method: "POST", pattern: "/api/operator/payouts/{id}/retry", handle: (*Server).retryPayout, access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/submissions", handle: (*Server).submissionQueue, list: true, access: operator},
	{method: "GET", pattern: "/api/operator/submissions/{id}", handle: (*Server).reviewedSubmission, access: operator},
	{method: "POST", pattern: "/api/operator/submissions/{id}/accept", handle: (*Server).acceptSubmission, access: operator, body: maxSmallBody, bodyOptional: true},
	{method: "POST", pattern: "/api/operator/submissions/{id}/reject", handle: (*Server).rejectSubmission, access: operator, body: maxSmallBody},
	{method: "POST", pattern: "/api/operator/submissions/{id}/flag", handle: (*Server).flagSubmission, access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/media/{submissionId}/{variant}", handle: (*Server).reviewedMedia, access: inspector},
	{method: "POST", pattern: "/api/operator/link-keys/rotate", handle: (*Server).rotateLinkKeys, access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/audit", handle: (*Server).listAudit, list: true, access: operator},
	{method: "GET", pattern: "/api/operator/solvency", handle: (*Server).solvency, list: true, access: operator},
	{method: "GET", pattern: "/api/operator/chain", handle: (*Server).chainOverview, access: operator},
	{method: "POST", pattern: "/api/operator/chain/reconcile", handle: (*Server).reconcileChain, access: operator},
	{method: "POST", pattern: "/api/operator/incidents/{id}/clear", handle: (*Server).clearIncident, access: operator, body: maxSmallBody},

	{method: "GET", pattern: "/healthz", handle: (*Server).health, access: public, operations: true},
	{method: "GET", pattern: "/readyz", handle: (*Server).ready, access: public, operations: true},
	{method: "GET", pattern: metricsPath, handle: (*Server).serveMetrics, access: public, operations: true},
	{method: "GET", pattern: "/openapi.yaml", handle: (*Server).openAPI, access: public},
	{method: "GET", pattern: "/docs", handle: (*Server).docs, access: public},
	{method: "GET", pattern: "/{$}", handle: (*Server).home, access: public},
}

const metricsPath = "/metrics"

// answersHead reports whether HEAD is answered as GET is. A signature is for one method.
func (r route) answersHead() bool { return r.method == http.MethodGet && !r.access.isSigned() }
