package api

import (
	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) solvency(req *request, page app.Page) (sortie.Solvency, error) {
	return s.config.Operators.Solvency(req.http.Context(), req.wallet, page)
}
