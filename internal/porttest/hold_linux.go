package porttest

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// Hold reserves a port of 127.0.0.1 until release is called. It is [Reserve] for callers without a
// test.
func Hold() (address string, release func(), err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("reserve a port: %w", os.NewSyscallError("socket", err))
	}
	release = func() { _ = syscall.Close(socket) }
	port, err := bind(socket)
	if err != nil {
		release()
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), release, nil
}

// bind binds the socket to a port that the kernel chooses. Linux lets two sockets with SO_REUSEADDR
// share a port as long as at most one of them listens.
func bind(socket int) (port int, err error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return bound.(*syscall.SockaddrInet4).Port, nil
}
