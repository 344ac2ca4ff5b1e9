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
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.(*request).err = errUnknownPath() })
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

// ServeHTTP is called by the mux with an request as its writer.
func (res *resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := w.(*request)
	req.http = r // it now knows the values in its path
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

// serve is the order of checks: cheap ones first, and nothing is looked up for somebody who has not
// said who they are.
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
		return sortie.NewError(sortie.CodeMethodNotAllowed, "%s is not for this path; it takes %s", printable(req.http.Method), res.methods())
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
	release, err := s.takePlace(req, route)
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
		release, err := s.takeListShare(req, route)
		if err != nil {
			return err
		}
		defer release()
	}
	err = route.handle(s, req)
	if route.access.byLink() && sortie.ErrorCode(err) == sortie.CodeMediaURLInvalid {
		err = s.failAuthentication(req, err) // a link is what a signature is elsewhere
	}
	s.chargeCost(req, route)
	return err
}

// takePlace takes one of the places of work, and of those for transfers no more than the address
// has a share in.
func (s *Server) takePlace(req *request, route route) (release func(), err error) {
	work := s.places[route.access]
	var share *shares
	switch {
	case route.access == uploader && route.streams:
		if req.place, err = s.uploads.take(req.address); err != nil {
			return nil, err
		}
		return func() { s.uploads.release(req.place) }, nil
	case route.access == uploader: // how far an upload is, and its end
		share = s.limits.uploads
	case route.access == viewer, route.access == inspector:
		share = s.limits.downloads
	default:
		return work.release, work.take()
	}
	if err := share.take(req.address); err != nil {
		return nil, err
	}
	if err := work.take(); err != nil {
		share.release(req.address)
		return nil, err
	}
	return func() {
		work.release()
		share.release(req.address)
	}, nil
}

// receive takes in the body. Bodies that arrive slowly take none of the places of work.
func (s *Server) receive(req *request, route route) error {
	if route.body == 0 || req.http.ContentLength == 0 {
		return req.readBody(route)
	}
	return s.bodyPool(req, route).receive(req, func() error { return req.readBody(route) })
}

// ServeHTTP answers a request of the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.serve(s.mux, w, r) }

// serve is the way of every request: it gets an id, is answered, counted and logged, whatever
// happens.
func (s *Server) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	req := &request{ResponseWriter: w, http: r, id: newRequestID(), route: "none", address: s.clientAddress(r)}
	header := w.Header()
	header.Set("X-Request-Id", req.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store") // unless the handler knows better
	s.allowOrigin(req)
	if r.ContentLength != 0 {
		req.expectBody(s.config.BodyTimeout)
	}
	start := time.Now()
	err := s.contain(mux, req)
	isCut := err != nil && req.status != 0 // part of an answer is out
	if err != nil && !isCut {
		req.answerError(err)
	}
	if isAbandoned(r, err) {
		req.status = statusAbandoned
	}
	s.metrics.observe(req.route, req.status, time.Since(start))
	s.log(req, err, time.Since(start))
	if isCut {
		panic(http.ErrAbortHandler) // so that the client sees it
	}
	s.linger(req)
}

// statusAbandoned counts requests whose client did not wait for the answer, in the way of nginx:
// nothing failed on our side.
const statusAbandoned = 499

func isAbandoned(r *http.Request, err error) bool {
	return errors.Is(err, errClientLeft) || errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// contain turns a panic into an internal error, so that one bad request ends alone.
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
