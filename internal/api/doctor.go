package api

import "net/http"

func (s *Server) doctor(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	doctor, err := s.config.App.Doctor(req.http.Context(), req.wallet, req.http.PathValue("id"))
	if err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, doctor)
}
