package porttest

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

func TestAReservedPortCanBeListenedOnAgainAndAgain(t *testing.T) {
	t.Parallel()
	address := Reserve(t)
	for range 3 {
		if connection, err := net.Dial("tcp", address); err == nil {
			_ = connection.Close()
			t.Fatalf("dial %s: got a connection, want refused, because no program listens", address)
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dial %s: got %v, want connection refused", address, err)
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatalf("listen on the reserved port: got %v, want success", err)
		}
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("dial the listener: got %v, want success", err)
		}
		_ = connection.Close()
		_ = listener.Close()
	}
}

// portRange (IP_LOCAL_PORT_RANGE) limits the ports that the kernel chooses from for one socket.
const portRange = 51

// The kernel must choose a port, and the reserved one is the only candidate.
func TestTheKernelGivesAReservedPortToNoOtherSocket(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(Reserve(t))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0") // to connect to
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	loopback := [4]byte{127, 0, 0, 1}
	for name, test := range map[string]struct {
		use  func(socket int) error
		want error
	}{
		"listener on port 0": {func(socket int) error {
			if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
				return err
			}
			return syscall.Bind(socket, &syscall.SockaddrInet4{Addr: loopback})
		}, syscall.EADDRINUSE},
		"outgoing connection": {func(socket int) error {
			return syscall.Connect(socket, &syscall.SockaddrInet4{Addr: loopback, Port: other.Addr().(*net.TCPAddr).Port})
		}, syscall.EADDRNOTAVAIL},
	} {
		t.Run(name, func(t *testing.T) {
			socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Close(socket) }()
			if err := syscall.SetsockoptInt(socket, syscall.IPPROTO_IP, portRange, number<<16|number); err != nil {
				t.Skipf("needs Linux 6.3 to limit the ports of a socket: %v", err)
			}
			if err := test.use(socket); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
