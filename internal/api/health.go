package api

import "net/http"

// Health is the health of the service.
type Health struct {
	// Ready reports whether requests can be served. Load balancers send no requests to a service
	// that is not ready.
	Ready bool
	// Halted reports an incident that an operator must clear before money moves again. Requests
	// are still served.
	Halted bool
	// Parts maps each part to "ok" or to what is wrong. A part may fail while the service is ready.
	Parts map[string]string
}

const (
	partOK  = "ok"
	partOff = "off" // not configured in this process
)

func (h Health) status() string {
	switch {
	case !h.Ready:
		return "unavailable"
	case h.Halted:
		return "halted"
	}
	for _, part := range h.Parts {
		if part != partOK && part != partOff {
			return "degraded"
		}
	}
	return partOK
}

type healthAnswer struct {
	OK     bool              `json:"ok"`
	Status string            `json:"status"` // ok, degraded, halted or unavailable
	Parts  map[string]string `json:"parts"`
}

// health answers the liveness probe. It fails while the service is halted, to alert an operator,
// and does not fail because a node or the database is unavailable.
func (s *Server) health(req *request) error {
	health := s.config.Health(req.http.Context())
	return req.answerHealth(health, !health.Halted)
}

// ready answers the readiness probe. A halted service is ready.
func (s *Server) ready(req *request) error {
	health := s.config.Health(req.http.Context())
	return req.answerHealth(health, health.Ready)
}

func (req *request) answerHealth(health Health, passes bool) error {
	status := http.StatusOK
	if !passes {
		status = http.StatusServiceUnavailable
	}
	return req.answerJSON(status, healthAnswer{OK: health.Ready, Status: health.status(), Parts: health.Parts})
}
