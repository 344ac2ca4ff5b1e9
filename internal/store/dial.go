package store

import (
	"net"
	"time"
)

// A commit waits for its answer without a deadline. If the server's machine is lost, the wait ends
// with the connection, after lostAfter without an acknowledgement from the other side.
const (
	keepAliveIdle     = 15 * time.Second
	keepAliveInterval = 5 * time.Second
	keepAliveCount    = 3
	lostAfter         = keepAliveIdle + keepAliveCount*keepAliveInterval
)

func newDialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount},
		Control:         setUserTimeout,
	}
}
