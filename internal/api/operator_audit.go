package api

import (
	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

func (s *Server) listAudit(req *request, page app.Page) (sortie.AuditPage, error) {
	return s.config.Operators.Audit(req.http.Context(), req.wallet, page)
}
