package api

import "time"

const (
	lingerTime  = 30 * time.Second // for the rest of the body
	lingerPause = 5 * time.Second  // between two reads
	lingerShare = 16               // connections of one address at a time
)

// lingering holds the connections whose body is read to its end after an early answer.
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

// linger reads and discards the rest of a body that was answered before its end. Otherwise the
// connection would be reset while a client or a proxy is still sending, and it would report a
// broken connection or 502 instead of the answer. A client that waits for 100 Continue sends no
// body. The number of such connections is bounded, in all and for one address: at the bound the
// oldest is closed.
func (s *Server) linger(req *request) {
	isUnread := req.http.ContentLength != 0 && req.Header().Get("Connection") == "close" && req.http.Header.Get("Expect") == ""
	if !isUnread {
		return
	}
	mine := s.lingering.begin(req)
	defer s.lingering.end(mine)
	if err := mine.controller.Flush(); err != nil {
		return
	}
	buffer := copyBuffers.Get().(*[copyBufferBytes]byte)
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
