package api

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

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
