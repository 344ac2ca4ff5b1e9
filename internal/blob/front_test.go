package blob_test

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// faultyFront stands before a server and can stop letting anybody through, or anything.
type faultyFront struct {
	listener net.Listener
	silent   atomic.Bool
	left     atomic.Int64 // bytes that it lets through before it dies
	ended    chan struct{}
	mu       sync.Mutex
	open     []net.Conn
	closed   bool
	now      int // connections
	most     int // connections at a time
}

func newFaultyFront(t *testing.T, behind string) *faultyFront {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := &faultyFront{listener: listener, ended: make(chan struct{})}
	front.dieAfter(math.MaxInt64)
	t.Cleanup(front.refuse)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", behind)
			if err != nil || !front.keep(client, server) {
				_ = client.Close()
				continue
			}
			front.clients(+1)
			go func() {
				front.pass(server, client)
				front.clients(-1)
			}()
			go front.pass(client, server)
		}
	}()
	return front
}

// pass lets bytes through until nothing is let through any more.
func (f *faultyFront) pass(to, from net.Conn) {
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

func (f *faultyFront) dieAfter(bytes int64) { f.left.Store(bytes) }

func (f *faultyFront) address() string { return f.listener.Addr().String() }

func (f *faultyFront) keep(connections ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = append(f.open, connections...)
	return !f.closed
}

// clients counts connections.
func (f *faultyFront) clients(change int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now += change
	f.most = max(f.most, f.now)
}

func (f *faultyFront) refuse() {
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
