package blob_test

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// faultyProxy is a TCP proxy that can fall silent, or die after a number of bytes.
type faultyProxy struct {
	listener net.Listener
	silent   atomic.Bool
	left     atomic.Int64 // bytes to pass before it dies
	ended    chan struct{}
	mu       sync.Mutex
	open     []net.Conn
	closed   bool
	now      int // open connections
	most     int // most connections at a time
}

func newFaultyProxy(t *testing.T, target string) *faultyProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &faultyProxy{listener: listener, ended: make(chan struct{})}
	proxy.dieAfter(math.MaxInt64)
	t.Cleanup(proxy.refuse)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil || !proxy.keep(client, server) {
				_ = client.Close()
				continue
			}
			proxy.clients(+1)
			go func() {
				proxy.pass(server, client)
				proxy.clients(-1)
			}()
			go proxy.pass(client, server)
		}
	}()
	return proxy
}

// pass copies bytes until the proxy dies.
func (f *faultyProxy) pass(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if f.silent.Load() {
			<-f.ended
		}
		if f.left.Add(-int64(n)) < 0 {
			f.refuse()
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			_ = to.Close()
			return
		}
	}
}

func (f *faultyProxy) dieAfter(bytes int64) { f.left.Store(bytes) }

func (f *faultyProxy) address() string { return f.listener.Addr().String() }

func (f *faultyProxy) keep(connections ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = append(f.open, connections...)
	return !f.closed
}

// clients counts connections.
func (f *faultyProxy) clients(change int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now += change
	f.most = max(f.most, f.now)
}

func (f *faultyProxy) refuse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		close(f.ended)
	}
	f.closed = true
	_ = f.listener.Close()
	for _, connection := range f.open {
		_ = connection.Close()
	}
}
