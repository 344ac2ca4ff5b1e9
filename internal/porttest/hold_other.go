//go:build !linux

package porttest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Hold finds a free port of 127.0.0.1. Outside Linux a second socket cannot bind a port that is
// held, so Hold only chooses a port that is unlikely to be taken: below the ports that systems
// assign.
func Hold() (address string, release func(), err error) {
	const lowest, highest = 20_000, 32_000
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(highest-lowest)))
		if listener, err := net.Listen("tcp", address); err == nil {
			return address, func() {}, listener.Close()
		}
	}
	return "", nil, errors.New("reserve a port: found no free port between 20000 and 32000 in 100 attempts")
}
