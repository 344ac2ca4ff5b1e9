package api

import "time"

const (
	lingerTime  = 30 * time.Second // for all that is still on its way
	lingerPause = 5 * time.Second  // between two reads
	lingerShare = 16               // connections of one address at a time
)

// lingering are the connections that are read to the end after an early answer.
type lingering struct {
	*bodyPool
	time, pause time.Duration
}

func newLingering(inFlight int, limits *Limits) lingering {
	share := lingerShare
	if limits == nil {
		share = 0
	}
	return lingering{newBodyPool(inFlight, share), lingerTime, lingerPause}
}

// linger reads and drops the rest of a body that was answered before its end. Without that the
// connection would be reset under a client or a proxy that is still sending: it would see a broken
// connection, or answer 502, in place of the answer. A client that waits for 100 Continue has sent
// nothing, so there is nothing to wait for. How many linger is bounded, in all and for one address:
// the connection that lingers for longest is closed when there are more.
func (s *Server) linger(req *request) {
	unread := req.http.ContentLength != 0 && req.Header().Get("Connection") == "close" && req.http.Header.Get("Expect") == ""
	if !unread {
		return
	}
	mine := s.lingering.begin(req)
	defer s.lingering.end(mine)
	if err := mine.controller.Flush(); err != nil {
		return
	}
	buffer := copyBuffers.Get().(*[sentByHand]byte)
	defer copyBuffers.Put(buffer)
	for end := time.Now().Add(s.lingering.time); ; {
		pause := min(s.lingering.pause, s.config.BodyTimeout, time.Until(end))
		if pause <= 0 || !s.lingering.prolong(mine, time.Now().Add(pause)) {
			return
		}
		if _, err := req.http.Body.Read(buffer[:]); err != nil {
			return
		}
	}
}
