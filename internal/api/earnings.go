package api

import "github.com/sortie-labs/sortie"

func (s *Server) earnings(req *request) (sortie.Earnings, error) {
	return s.config.App.Earnings(req.http.Context(), req.wallet)
}
