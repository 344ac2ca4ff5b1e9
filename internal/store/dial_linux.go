package store

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout bounds the time that sent bytes may stay unacknowledged. Keepalive alone does not:
// it waits until no data is in flight.
func setUserTimeout(network, _ string, connection syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failure error
	err := connection.Control(func(descriptor uintptr) {
		failure = unix.SetsockoptInt(int(descriptor), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(lostAfter.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failure
}
