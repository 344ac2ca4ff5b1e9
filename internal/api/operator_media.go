package api

import "net/http"

// linkKeysRotated is the answer to a rotation: there is nothing to tell but that it is done.
type linkKeysRotated struct {
	OK bool `json:"ok"`
}

func (s *Server) rotateLinkKeys(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	reason, err := readReason(req.body)
	if err != nil {
		return err
	}
	if err := s.config.Operators.RotateLinkKeysNow(req.http.Context(), req.order(), reason); err != nil {
		return err
	}
	return req.answerJSON(http.StatusOK, linkKeysRotated{OK: true})
}
