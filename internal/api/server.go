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
	"github.com/sortie-labs/sortie/internal/apidocs"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/wallet"
)

// Config configures a [Server].
type Config struct {
	App       *app.App
	Operators *app.Operators
	Verifier  *wallet.Verifier
	Limits    *Limits // nil: no limits
	// TrustedProxies are the proxies whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// AllowedOrigins are the web origins whose pages may read answers; "*" allows every origin.
	// That is safe because requests are authenticated by signed headers, not by cookies.
	AllowedOrigins []string
	// Health returns the health of the service.
	Health func(context.Context) Health
	// Follower returns the status of the follower; nil in a process that does not follow the chain.
	Follower func() *sortie.FollowerStatus
	// Sender returns the status of the sender; nil in a process that sends no transactions.
	Sender func() *sortie.SenderStatus
	// Warnings are warnings about the configuration, shown to operators.
	Warnings []string
	// OperationsOnly serves health and metrics only, for a process without an API.
	OperationsOnly bool
	// PrivateMetrics serves the metrics by [Server.Operations] only. Metrics cost work and show how
	// busy the service is.
	PrivateMetrics bool

	OpenAPI  []byte
	Registry *prometheus.Registry
	Logger   *slog.Logger
	Now      func() time.Time
	// MaxInFlight bounds the requests in flight, for each kind of access; more are refused with
	// 503. 0: 512.
	MaxInFlight int
	// BodyTimeout is the time in which a body must arrive. 0: 10 s.
	BodyTimeout time.Duration
	// MaxUploads and MaxDownloads bound the transfers in flight. A further upload displaces the
	// slowest; further downloads are refused with 503. 0: 2048 and 256.
	MaxUploads, MaxDownloads int
	// StallTimeout is how long an upload or a download may take for its next 16 KiB. 0: 10 s. The
	// http.Server must have a WriteTimeout, which resets the write deadline for the next request.
	StallTimeout time.Duration
}

// Server answers the HTTP requests of the service.
type Server struct {
	config      Config
	mux         *http.ServeMux
	private     *http.ServeMux // of Operations
	limits      *limiters
	inFlight    [accesses]semaphore
	bodies      bodyPools
	uploads     *inflightUploads
	uploadLocks uploadLocks
	lingering   lingering
	metrics     *metrics

	proxyWarning sync.Once // of the first X-Forwarded-For that was ignored

	openAPIPage, docsPage func() (staticPage, error)
}

// New returns a server.
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
		// Made on first use: most processes never serve them, and they would stay in memory.
		openAPIPage: sync.OnceValues(func() (staticPage, error) { return newStaticPage(config.OpenAPI) }),
		docsPage:    sync.OnceValues(func() (staticPage, error) { return newStaticPage(apidocs.Page) }),
	}
	for kind := range s.inFlight { // one each, so that creators cannot block probes and operators
		s.inFlight[kind] = make(semaphore, config.MaxInFlight)
	}
	s.inFlight[viewer], s.inFlight[inspector] = make(semaphore, config.MaxDownloads), make(semaphore, config.MaxDownloads)
	s.uploads = newInflightUploads(config.MaxUploads, s.limits.uploads.limit, s.metrics.displaced.Inc)
	s.mux = s.newMux(func(r route) bool {
		isHidden := config.OperationsOnly && !r.operations || config.PrivateMetrics && r.pattern == metricsPath
		return !isHidden
	})
	s.private = s.newMux(func(r route) bool { return r.operations })
	return s
}

// newMux returns a mux of the wanted routes.
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
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.(*request).err = errUnknownPath() })
	return mux
}

// Operations serves health and metrics, for a listener that is not public.
func (s *Server) Operations() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(s.private, w, r) })
}

// resource holds the routes of one pattern, one for each method.
type resource struct {
	server *Server
	routes []route
}

// ServeHTTP is called by the mux with a *request as its writer.
func (res *resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := w.(*request)
	req.http = r // with the path values
	req.err = res.serve(req)
}

func (res *resource) find(method string) (route, bool) {
	for _, choice := range res.routes {
		if choice.method == method || (method == http.MethodHead && choice.answersHead()) {
			return choice, true
		}
	}
	return route{}, false
}

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

// serve checks the request and calls the handler. Cheap checks are first, and nothing is read from
// the database before the request is authenticated.
func (res *resource) serve(req *request) error {
	s := res.server
	if res.routes[0].tus {
		req.Header().Set("Tus-Resumable", tusVersion)
	}
	if req.http.Method == http.MethodOptions {
		return s.preflight(req, res)
	}
	route, ok := res.find(req.http.Method)
	if !ok {
		req.Header().Set("Allow", res.methods())
		return sortie.NewError(sortie.CodeMethodNotAllowed, "this path does not support %s; it supports %s", printable(req.http.Method), res.methods())
	}
	req.route = route.method + " " + route.pattern
	if err := s.admit(req, route); err != nil {
		return err
	}
	if route.streams {
		defer req.answerWithin(answerTimeout)
	} else if err := s.receive(req, route); err != nil {
		return err
	}
	release, err := s.acquire(req, route)
	if err != nil {
		return err
	}
	defer release()
	if route.access.isSigned() {
		if err := s.authenticate(req, route); err != nil {
			return err
		}
	}
	if route.access == operator {
		if err := s.requireOperator(req); err != nil {
			return err
		}
	}
	if route.list {
		release, err := s.acquireList(req, route)
		if err != nil {
			return err
		}
		defer release()
	}
	if route.access.checksQuery() {
		if err := req.parseQuery(route.query); err != nil {
			return err
		}
	}
	err = route.handle(s, req)
	if route.access.byLink() && sortie.ErrorCode(err) == sortie.CodeMediaURLInvalid {
		err = s.failAuthentication(req, err) // a link authenticates like a signature
	}
	s.chargeCost(req, route)
	return err
}

// acquire counts the request as in flight. Transfers also count against their address.
func (s *Server) acquire(req *request, route route) (release func(), err error) {
	inFlight := s.inFlight[route.access]
	var ofClient *perClient
	switch {
	case route.access == uploader && route.streams:
		if req.inflight, err = s.uploads.acquire(req.address); err != nil {
			return nil, err
		}
		return func() { s.uploads.release(req.inflight) }, nil
	case route.access == uploader: // HEAD and DELETE of tus
		ofClient = s.limits.uploads
	case route.access == viewer, route.access == inspector:
		ofClient = s.limits.downloads
	default:
		return inFlight.release, inFlight.acquire()
	}
	if err := ofClient.acquire(req.address); err != nil {
		return nil, err
	}
	if err := inFlight.acquire(); err != nil {
		ofClient.release(req.address)
		return nil, err
	}
	return func() {
		inFlight.release()
		ofClient.release(req.address)
	}, nil
}

// receive reads the body. A request whose body is arriving is not counted as in flight.
func (s *Server) receive(req *request, route route) error {
	if route.body == 0 || req.http.ContentLength == 0 {
		return req.readBody(route)
	}
	return s.bodyPool(req, route).receive(req, func() error { return req.readBody(route) })
}

// ServeHTTP answers a request of the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.serve(s.mux, w, r) }

// serve gives the request an id, answers it, counts it and logs it.
func (s *Server) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	req := &request{ResponseWriter: w, http: r, id: newRequestID(), route: "none", address: s.clientAddress(r)}
	header := w.Header()
	header.Set("X-Request-Id", req.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store") // unless the handler sets another
	s.allowOrigin(req)
	if r.ContentLength != 0 {
		req.expectBody(s.config.BodyTimeout)
	}
	start := time.Now()
	err := s.contain(mux, req)
	isTruncated := err != nil && req.status != 0 // a part of the answer was sent
	if err != nil && !isTruncated {
		req.answerError(err)
	}
	if isAbandoned(r, err) {
		req.status = statusAbandoned
	}
	s.metrics.observe(req.route, req.status, time.Since(start))
	s.log(req, err, time.Since(start))
	if isTruncated {
		panic(http.ErrAbortHandler) // closes the connection, so that the client notices
	}
	s.linger(req)
}

// statusAbandoned is the status in logs and metrics of a request whose client disconnected before
// the answer, as in nginx. It is not an error of the service.
const statusAbandoned = 499

func isAbandoned(r *http.Request, err error) bool {
	return errors.Is(err, errClientLeft) || errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// contain turns a panic into an internal error of this request.
func (s *Server) contain(mux *http.ServeMux, req *request) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			s.metrics.panics.Inc()
			err = fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
		}
	}()
	if err := checkTarget(req.http); err != nil {
		return err
	}
	mux.ServeHTTP(req, req.http)
	return req.err
}
