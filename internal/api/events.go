package api

import (
	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) events(req *request, page app.Page) (sortie.EventPage, error) {
	return s.config.App.Events(req.http.Context(), req.wallet, page)
}
