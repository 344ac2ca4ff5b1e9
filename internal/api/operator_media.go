package api

import "net/http"

// linkKeysRotated is the answer to a rotation: there is nothing to tell but that it is done.
type linkKeysRotated struct {
	OK bool `json:"ok"`
}

func (s *Server) rotateLinkKeys(x *exchange) error {
	if err := x.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(x.body)
	if err != nil {
		return err
	}
	if err := s.config.App.RotateLinkKeysNow(x.r.Context(), x.order(), reason); err != nil {
		return err
	}
	return x.answerJSON(http.StatusOK, linkKeysRotated{OK: true})
}
