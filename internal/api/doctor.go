package api

import "net/http"

func (s *Server) doctor(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	doctor, err := s.config.App.Doctor(x.r.Context(), x.wallet, x.r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, doctor)
}
