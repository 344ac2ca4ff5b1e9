package api

import "net/http"

// route is one method of one path.
type route struct {
	method  string
	pattern string
	handle  handler
	access  access
	body    int64    // largest body in bytes; 0: no body is allowed
	query   []string // allowed query parameters; ignored for public routes and links
	drafts  bool     // counts against the limit of drafts instead of the limit of reads

	list         bool // reads many rows: bounded in number at a time
	bodyOptional bool
	streams      bool // the handler reads the body, which may have any size
	tus          bool // speaks the tus protocol
	operations   bool // served by every process, also with Config.OperationsOnly
}

type handler func(*Server, *request) error

// access is who may use a route.
type access int

const (
	signed    access = iota // requests signed by a wallet
	operator                // requests signed by a wallet on the operator list
	unsigned                // anyone; counts against the address
	uploader                // holders of an upload link
	viewer                  // holders of a media link
	inspector               // holders of an operator's media link
	public                  // anyone; never limited
	accesses
)

// isSigned reports whether the request must be signed by a wallet.
func (a access) isSigned() bool { return a == signed || a == operator }

// byLink reports whether a signed link gives access.
func (a access) byLink() bool { return a == uploader || a == viewer || a == inspector }

// checksQuery reports whether the query may have only the parameters of the route. The query of a
// link is its signature, and public pages ignore theirs.
func (a access) checksQuery() bool { return a != public && !a.byLink() }

// pageParameters are the query parameters of every list.
var pageParameters = []string{"limit", "cursor"}

// pageAnd returns the query parameters of a list that has more of them.
func pageAnd(more ...string) []string { return append(append([]string{}, pageParameters...), more...) }

// routes is the whole API. A path has exactly one spelling.
var routes = []route{
	{method: "POST", pattern: "/api/external/missions/drafts", handle: (*Server).createDraft, body: maxMissionBody, drafts: true},
	{method: "POST", pattern: "/api/external/missions/preview", handle: ok((*Server).previewMission), body: maxMissionBody},
	{method: "GET", pattern: "/api/external/missions", handle: (*Server).listDrafts, query: []string{"status", "limit", "cursor"}, list: true},
	{method: "GET", pattern: "/api/external/missions/{id}", handle: (*Server).missionStatus},
	{method: "GET", pattern: "/api/external/missions/{id}/doctor", handle: ok((*Server).doctor)},
	{method: "POST", pattern: "/api/external/missions/{id}/confirm-funding", handle: ok((*Server).confirmFunding), body: maxSmallBody, bodyOptional: true},
	{method: "GET", pattern: "/api/external/events", handle: ok(withPage((*Server).events)), query: pageParameters, list: true},
	{method: "GET", pattern: "/api/external/missions/{id}/deliverables", handle: (*Server).deliverables, query: pageAnd("mediaUrlTtlSeconds"), list: true},
	{method: "GET", pattern: "/api/external/media/{submissionId}/{variant}", handle: (*Server).deliveredMedia, access: viewer},

	{method: "GET", pattern: "/api/missions", handle: ok((*Server).feed), query: pageAnd("near", "mediaType"), list: true, access: unsigned},
	{method: "GET", pattern: "/api/missions/{missionId}", handle: ok((*Server).openMission), access: unsigned},
	{method: "GET", pattern: "/api/missions/{missionId}/ledger", handle: ok(withPage((*Server).missionLedger)), query: pageParameters, list: true, access: unsigned},
	{method: "POST", pattern: "/api/missions/{missionId}/submissions", handle: (*Server).declareSubmission, body: maxSmallBody},
	{method: "GET", pattern: "/api/submissions", handle: ok(withPage((*Server).ownSubmissions)), query: pageParameters, list: true},
	{method: "GET", pattern: "/api/submissions/{id}", handle: ok((*Server).ownSubmission)},
	{method: "POST", pattern: "/api/submissions/{id}/withdraw", handle: ok((*Server).withdrawSubmission)},
	{method: "GET", pattern: "/api/earnings", handle: ok((*Server).earnings), list: true},
	{method: "PUT", pattern: "/api/uploads/{submissionId}", handle: (*Server).putUpload, access: uploader, streams: true},
	{method: "POST", pattern: "/api/uploads/{submissionId}/tus", handle: (*Server).tusCreate, access: uploader, streams: true, tus: true},
	{method: "HEAD", pattern: "/api/uploads/{submissionId}/tus", handle: (*Server).tusHead, access: uploader, tus: true},
	{method: "PATCH", pattern: "/api/uploads/{submissionId}/tus", handle: (*Server).tusPatch, access: uploader, streams: true, tus: true},
	{method: "DELETE", pattern: "/api/uploads/{submissionId}/tus", handle: (*Server).tusDelete, access: uploader, tus: true},

	{method: "GET", pattern: "/api/operator/reviews", handle: ok(withPage((*Server).listReviews)), query: pageParameters, list: true, access: operator},
	{method: "GET", pattern: "/api/operator/reviews/{id}", handle: ok((*Server).showReview), access: operator},
	{method: "POST", pattern: "/api/operator/missions/{id}/approve", handle: ok(withReason((*Server).approveMission)), access: operator, body: maxSmallBody, bodyOptional: true},
	{method: "POST", pattern: "/api/operator/missions/{id}/reject", handle: ok(withReason((*Server).rejectMission)), access: operator, body: maxSmallBody},
	{method: "POST", pattern: "/api/operator/missions/{id}/close", handle: ok(withReason((*Server).closeMission)), access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/payouts", handle: ok((*Server).listPayouts), query: pageAnd("status", "missionId", "recipient"), list: true, access: operator},
	{method: "POST", pattern: "/api/operator/payouts/halt", handle: ok(withReason((*Server).haltPayouts)), access: operator, body: maxSmallBody},
	{method: "POST", pattern: "/api/operator/payouts/resume", handle: ok(withReason((*Server).resumePayouts)), access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/payouts/{id}", handle: ok((*Server).showPayout), access: operator},
	{method: "POST", pattern: "/api/operator/payouts/{id}/retry", handle: ok(withReason((*Server).retryPayout)), access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/submissions", handle: ok((*Server).submissionQueue), query: pageAnd("status", "missionId"), list: true, access: operator},
	{method: "GET", pattern: "/api/operator/submissions/{id}", handle: ok((*Server).reviewedSubmission), access: operator},
	{method: "POST", pattern: "/api/operator/submissions/{id}/accept", handle: ok(withReason((*Server).acceptSubmission)), access: operator, body: maxSmallBody, bodyOptional: true},
	{method: "POST", pattern: "/api/operator/submissions/{id}/reject", handle: ok(withReason((*Server).rejectSubmission)), access: operator, body: maxSmallBody},
	{method: "POST", pattern: "/api/operator/submissions/{id}/flag", handle: ok(withReason((*Server).flagSubmission)), access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/media/{submissionId}/{variant}", handle: (*Server).reviewedMedia, access: inspector},
	{method: "POST", pattern: "/api/operator/link-keys/rotate", handle: ok(withReason((*Server).rotateLinkKeys)), access: operator, body: maxSmallBody},
	{method: "GET", pattern: "/api/operator/audit", handle: ok(withPage((*Server).listAudit)), query: pageParameters, list: true, access: operator},
	{method: "GET", pattern: "/api/operator/solvency", handle: ok(withPage((*Server).solvency)), query: pageParameters, list: true, access: operator},
	{method: "GET", pattern: "/api/operator/chain", handle: ok((*Server).chainOverview), access: operator},
	{method: "POST", pattern: "/api/operator/chain/reconcile", handle: (*Server).reconcileChain, access: operator},
	{method: "POST", pattern: "/api/operator/incidents/{id}/clear", handle: ok(withReason((*Server).clearIncident)), access: operator, body: maxSmallBody},

	{method: "GET", pattern: "/healthz", handle: (*Server).health, access: public, operations: true},
	{method: "GET", pattern: "/readyz", handle: (*Server).ready, access: public, operations: true},
	{method: "GET", pattern: metricsPath, handle: (*Server).serveMetrics, access: public, operations: true},
	{method: "GET", pattern: "/openapi.yaml", handle: (*Server).openAPI, access: public},
	{method: "GET", pattern: "/docs", handle: (*Server).docs, access: public},
	{method: "GET", pattern: "/{$}", handle: (*Server).home, access: public},
}

const metricsPath = "/metrics"

// answersHead reports whether the route also answers HEAD. A signature is for one method, so signed
// routes do not.
func (r route) answersHead() bool { return r.method == http.MethodGet && !r.access.isSigned() }
