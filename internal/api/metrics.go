package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

type metrics struct {
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	panics   prometheus.Counter
	uploaded prometheus.Counter
	served   prometheus.Counter
	// displaced counts uploads that were ended for others.
	displaced prometheus.Counter
	handler   http.Handler // serves the registry
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sortie_http_requests_total", Help: "Requests by route and status code.",
		}, []string{"route", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sortie_http_request_seconds", Help: "Time from request to answer, by route.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}, []string{"route"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sortie_http_panics_total", Help: "Requests that ended in a panic. Any is a bug.",
		}),
		uploaded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sortie_http_uploaded_bytes_total", Help: "Bytes of files that contributors sent.",
		}),
		served: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sortie_http_served_bytes_total", Help: "Bytes of files that were sent to holders of a link.",
		}),
		displaced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sortie_http_uploads_displaced_total", Help: "Uploads that were ended because they were the slowest at the limit of uploads in flight.",
		}),
	}
	registry.MustRegister(m.requests, m.latency, m.panics, m.uploaded, m.served, m.displaced)
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
	return m
}

func (m *metrics) observe(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.latency.WithLabelValues(route).Observe(took.Seconds())
}

func (s *Server) serveMetrics(req *request) error {
	req.status = http.StatusOK
	s.metrics.handler.ServeHTTP(req, req.http)
	return nil
}
