package api

// linkKeysRotated is the answer to a rotation of the link keys.
type linkKeysRotated struct {
	OK bool `json:"ok"`
}

func (s *Server) rotateLinkKeys(req *request, reason string) (linkKeysRotated, error) {
	err := s.config.Operators.RotateLinkKeysNow(req.http.Context(), req.order(), reason)
	return linkKeysRotated{OK: true}, err
}

func (s *Server) reviewedMedia(req *request) error {
	return s.serveMedia(req, s.config.Operators.OpenReviewMedia)
}
