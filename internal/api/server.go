package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// Config is what a server is made of.
type Config struct {
	App       *app.App
	Operators *app.Operators
	Verifier  *wallet.Verifier
	Limits    *Limits // nil: none
	// TrustedProxies are the load balancers whose X-Forwarded-For tells clients apart.
	TrustedProxies []netip.Prefix
	// AllowedOrigins are the web origins whose pages may read answers; "*" allows every one. Signed
	// headers, not cookies, say who asks, so a foreign page gains nothing by it.
	AllowedOrigins []string
	// Health gives the parts that are out of order, by name. Ready is false until all the service
	// cannot do without is there.
	Health func(context.Context) Health
	// Follower gives what the process sees that follows the chain; nil in a process that does not.
	Follower func() *sortie.FollowerStatus
	// Sender gives how the process does that sends transactions; nil in a process that does not.
	Sender func() *sortie.SenderStatus
	// Warnings are about the configuration, for operators.
	Warnings []string
	// OperationsOnly leaves out everything but what tells how the process is: for one that does
	// other work.
	OperationsOnly bool
	// PrivateMetrics leaves the metrics to [Server.Operations]: they tell a stranger how busy the
	// service is, and cost work.
	PrivateMetrics bool

	OpenAPI  []byte
	Registry *prometheus.Registry
	Logger   *slog.Logger
	Now      func() time.Time
	// MaxInFlight is how many signed requests are worked on at a time; more are refused with 503.
	// 0: 512.
	MaxInFlight int
	// BodyTimeout is how long a body may take to arrive. 0: 10 s.
	BodyTimeout time.Duration
	// MaxUploads and MaxDownloads are how many files are on their way at a time. When there are
	// more uploads, the slowest gives way; more downloads are refused with 503. 0: 2048 and 256.
	MaxUploads, MaxDownloads int
	// StallTimeout is how long an upload or a download may take for its next 16 KiB. 0: 10 s. The
	// server needs a WriteTimeout of its own, which ends what is left of a deadline when the next
	// request comes.
	StallTimeout time.Duration
}

// Server answers the HTTP requests of the service.
type Server struct {
	config    Config
	mux       *http.ServeMux
	private   *http.ServeMux // of Operations
	limits    *limiters
	places    [accesses]places // of work
	bodies    bodyPools
	uploads   *uploadPlaces
	turns     turns // at uploads
	lingering lingering
	metrics   *metrics

	proxyWarning sync.Once // at the first client address that was not believed

	openAPIPage, docsPage func() (staticPage, error)
}

// route is one line of the table of contents.
type route struct {
	method  string
	pattern string
	handle  func(*Server, *exchange) error
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

// New makes a server.
func New(config Config) *Server {
	config.MaxInFlight = cmp.Or(config.MaxInFlight, 512)
	config.MaxUploads = cmp.Or(config.MaxUploads, defaultUploads)
	config.MaxDownloads = cmp.Or(config.MaxDownloads, 256)
	config.BodyTimeout = cmp.Or(config.BodyTimeout, 10*time.Second)
	config.StallTimeout = cmp.Or(config.StallTimeout, 10*time.Second)
	s := &Server{
		config:    config,
		limits:    newLimiters(config.Limits),
		bodies:    newBodyPools(config.MaxInFlight, config.Limits),
		lingering: newLingering(config.MaxInFlight, config.Limits),
		metrics:   newMetrics(config.Registry),
		// When it is first asked for: most processes are never asked, and what it takes would stay
		// with each of them.
		openAPIPage: sync.OnceValues(func() (staticPage, error) { return newStaticPage(config.OpenAPI) }),
		docsPage:    sync.OnceValues(func() (staticPage, error) { return newDocsPage(config.OpenAPI) }),
	}
	for kind := range s.places { // apart, so that probes and operators get through when creators overload the API
		s.places[kind] = make(places, config.MaxInFlight)
	}
	s.uploads = newUploadPlaces(config.MaxUploads, s.limits.uploads.most, s.metrics.displaced.Inc)
	s.places[viewer], s.places[inspector] = make(places, config.MaxDownloads), make(places, config.MaxDownloads)
	s.mux = s.newMux(func(r route) bool {
		isHidden := config.OperationsOnly && !r.operations || config.PrivateMetrics && r.pattern == metricsPath
		return !isHidden
	})
	s.private = s.newMux(func(r route) bool { return r.operations })
	return s
}

const metricsPath = "/metrics"

// newMux serves the routes that are wanted.
func (s *Server) newMux(isWanted func(route) bool) *http.ServeMux {
	mux, byPattern := http.NewServeMux(), make(map[string][]route)
	for _, r := range routes {
		if isWanted(r) {
			byPattern[r.pattern] = append(byPattern[r.pattern], r)
		}
	}
	for pattern, choices := range byPattern {
		mux.Handle(pattern, &resource{s, choices})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.(*exchange).err = errUnknownPath() })
	return mux
}

// Operations answers what tells how the process is, the metrics included. It is for a listener that
// strangers cannot reach.
func (s *Server) Operations() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(s.private, w, r) })
}

// resource is what stands at one pattern: a route for each method.
type resource struct {
	server *Server
	routes []route
}

// ServeHTTP is called by the mux with an exchange as its writer.
func (res *resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := w.(*exchange)
	x.r = r // it now knows the values in its path
	x.err = res.serve(x)
}

func (res *resource) find(method string) (route, bool) {
	for _, choice := range res.routes {
		if choice.method == method || (method == http.MethodHead && choice.answersHead()) {
			return choice, true
		}
	}
	return route{}, false
}

// answersHead reports whether HEAD is answered as GET is. A signature is for one method.
func (r route) answersHead() bool { return r.method == http.MethodGet && !r.access.isSigned() }

func (res *resource) methods() string {
	var methods []string
	for _, choice := range res.routes {
		methods = append(methods, choice.method)
		if choice.answersHead() {
			methods = append(methods, http.MethodHead)
		}
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}

// serve is the order of checks: cheap ones first, and nothing is looked up for somebody who has not
// said who they are.
func (res *resource) serve(x *exchange) error {
	s := res.server
	if res.routes[0].tus {
		x.Header().Set("Tus-Resumable", tusVersion)
	}
	if x.r.Method == http.MethodOptions {
		return s.preflight(x, res)
	}
	route, ok := res.find(x.r.Method)
	if !ok {
		x.Header().Set("Allow", res.methods())
		return sortie.NewError(sortie.CodeMethodNotAllowed, "%s is not for this path; it takes %s", printable(x.r.Method), res.methods())
	}
	x.route = route.method + " " + route.pattern
	if err := s.admit(x, route); err != nil {
		return err
	}
	if route.streams {
		defer x.answerWithin(answerTimeout)
	} else if err := s.receive(x, route); err != nil {
		return err
	}
	release, err := s.takePlace(x, route)
	if err != nil {
		return err
	}
	defer release()
	if route.access.isSigned() {
		if err := s.authenticate(x, route); err != nil {
			return err
		}
	}
	if route.access == operator {
		if err := s.requireOperator(x); err != nil {
			return err
		}
	}
	if route.list {
		release, err := s.takeListShare(x, route)
		if err != nil {
			return err
		}
		defer release()
	}
	err = route.handle(s, x)
	if route.access.byLink() && sortie.ErrorCode(err) == sortie.CodeMediaURLInvalid {
		err = s.failAuthentication(x, err) // a link is what a signature is elsewhere
	}
	s.chargeCost(x, route)
	return err
}

// takePlace takes one of the places of work, and of those for transfers no more than the address
// has a share in.
func (s *Server) takePlace(x *exchange, route route) (release func(), err error) {
	work := s.places[route.access]
	var share *shares
	switch {
	case route.access == uploader && route.streams:
		if x.place, err = s.uploads.take(x.address); err != nil {
			return nil, err
		}
		return func() { s.uploads.release(x.place) }, nil
	case route.access == uploader: // how far an upload is, and its end
		share = s.limits.uploads
	case route.access == viewer, route.access == inspector:
		share = s.limits.downloads
	default:
		return work.release, work.take()
	}
	if err := share.take(x.address); err != nil {
		return nil, err
	}
	if err := work.take(); err != nil {
		share.release(x.address)
		return nil, err
	}
	return func() {
		work.release()
		share.release(x.address)
	}, nil
}

// receive takes in the body. Bodies that arrive slowly take none of the places of work.
func (s *Server) receive(x *exchange, route route) error {
	if route.body == 0 || x.r.ContentLength == 0 {
		return x.readBody(route)
	}
	return s.bodyPool(x, route).receive(x, func() error { return x.readBody(route) })
}

// ServeHTTP answers a request of the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.serve(s.mux, w, r) }

// serve is the way of every request: it gets an id, is answered, counted and logged, whatever
// happens.
func (s *Server) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, r: r, id: newRequestID(), route: "none", address: s.clientAddress(r)}
	header := w.Header()
	header.Set("X-Request-Id", x.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store") // unless the handler knows better
	s.allowOrigin(x)
	if r.ContentLength != 0 {
		x.expectBody(s.config.BodyTimeout)
	}
	start := time.Now()
	err := s.contain(mux, x)
	isCut := err != nil && x.status != 0 // part of an answer is out
	if err != nil && !isCut {
		x.answerError(err)
	}
	if isAbandoned(r, err) {
		x.status = statusAbandoned
	}
	s.metrics.observe(x.route, x.status, time.Since(start))
	s.log(x, err, time.Since(start))
	if isCut {
		panic(http.ErrAbortHandler) // so that the client sees it
	}
	s.linger(x)
}

// statusAbandoned counts requests whose client did not wait for the answer, in the way of nginx:
// nothing failed on our side.
const statusAbandoned = 499

func isAbandoned(r *http.Request, err error) bool {
	return errors.Is(err, errClientLeft) || errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// contain turns a panic into an internal error, so that one bad request ends alone.
func (s *Server) contain(mux *http.ServeMux, x *exchange) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			s.metrics.panics.Inc()
			err = fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
		}
	}()
	if err := checkTarget(x.r); err != nil {
		return err
	}
	mux.ServeHTTP(x, x.r)
	return x.err
}

// log writes one line for each request. The reason of an internal error is there and only there.
func (s *Server) log(x *exchange, err error, took time.Duration) {
	level := slog.LevelDebug
	failed := err != nil && sortie.ErrorCode(err).HTTPStatus() >= http.StatusInternalServerError && x.status != statusAbandoned
	if failed {
		level = slog.LevelError
	}
	if !s.config.Logger.Enabled(x.r.Context(), level) {
		return // nearly always: do not write what nobody reads
	}
	attributes := []slog.Attr{
		slog.String("id", x.id), slog.String("route", x.route), slog.Int("status", x.status), slog.Duration("took", took),
	}
	if !x.wallet.IsZero() {
		attributes = append(attributes, slog.String("wallet", x.wallet.String()))
	}
	if err != nil {
		attributes = append(attributes, slog.String("code", string(sortie.ErrorCode(err))))
	}
	if failed {
		attributes = append(attributes, slog.String("error", err.Error()))
	}
	s.config.Logger.LogAttrs(x.r.Context(), level, "request", attributes...)
}

func printable(method string) string {
	if len(method) > 16 {
		method = method[:16] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < 0x21 || r > 0x7e {
			return '?'
		}
		return r
	}, method)
}
