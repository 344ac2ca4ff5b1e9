package api

import (
	"net/http"
	"time"
)

const (
	lingerTime  = 30 * time.Second // for all that is still on its way
	lingerPause = 5 * time.Second  // between two reads
)

// linger reads and drops the rest of a body that was answered before its end. Without that the connection would be reset
// under a client or a proxy that is still sending: it would see a broken connection, or answer 502, in place of the answer.
// A client that waits for 100 Continue has sent nothing, so there is nothing to wait for. How many linger is bounded; the
// others are closed at once.
func (s *Server) linger(x *exchange) {
	unread := x.r.ContentLength != 0 && x.Header().Get("Connection") == "close" && x.r.Header.Get("Expect") == ""
	if !unread || s.lingering.take() != nil {
		return
	}
	defer s.lingering.release()
	controller := http.NewResponseController(x.ResponseWriter)
	if err := controller.Flush(); err != nil {
		return
	}
	buffer := copyBuffers.Get().(*[sentByHand]byte)
	defer copyBuffers.Put(buffer)
	for end := time.Now().Add(lingerTime); ; {
		pause := min(lingerPause, s.config.BodyTimeout, time.Until(end))
		if pause <= 0 || controller.SetReadDeadline(time.Now().Add(pause)) != nil {
			return
		}
		if _, err := x.r.Body.Read(buffer[:]); err != nil {
			return
		}
	}
}
