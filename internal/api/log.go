package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/sortie-labs/sortie"
)

// log writes one line for each request. The cause of an internal error is in the log only.
func (s *Server) log(req *request, err error, took time.Duration) {
	level := slog.LevelDebug
	failed := err != nil && sortie.ErrorCode(err).HTTPStatus() >= http.StatusInternalServerError && req.status != statusAbandoned
	if failed {
		level = slog.LevelError
	}
	if !s.config.Logger.Enabled(req.http.Context(), level) {
		return // the usual case in production: skip the work below
	}
	attributes := []slog.Attr{
		slog.String("id", req.id), slog.String("route", req.route), slog.Int("status", req.status), slog.Duration("took", took),
	}
	if !req.wallet.IsZero() {
		attributes = append(attributes, slog.String("wallet", req.wallet.String()))
	}
	if err != nil {
		attributes = append(attributes, slog.String("code", string(sortie.ErrorCode(err))))
	}
	if failed {
		attributes = append(attributes, slog.String("error", err.Error()))
	}
	s.config.Logger.LogAttrs(req.http.Context(), level, "request", attributes...)
}
