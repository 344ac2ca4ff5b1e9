package api

import "net/http"

// Health is how the service is doing.
type Health struct {
	// Ready: requests can be served. A service that is not ready is taken out of a load balancer.
	Ready bool
	// Halted: something happened that a person must look at before money moves again. Requests are
	// served all the same.
	Halted bool
	// Parts holds one word for each part: "ok", or what is wrong. A part may be out of order while
	// the service is ready.
	Parts map[string]string
}

const (
	partOK  = "ok"
	partOff = "off" // this process was not asked to do it
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

// health says whether the process lives, and what it lacks. It fails while the service is halted,
// so that whoever watches it is woken, and never because a node or the database is away.
func (s *Server) health(req *request) error {
	health := s.config.Health(req.http.Context())
	return req.answerHealth(health, !health.Halted)
}

// ready says whether requests should be sent here. A halted service still answers them.
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
