package api

import "github.com/sortie-labs/sortie"

func (s *Server) doctor(req *request) (sortie.Doctor, error) {
	return s.config.App.Doctor(req.http.Context(), req.wallet, req.http.PathValue("id"))
}
