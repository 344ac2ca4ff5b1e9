package e2e

import (
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// photo FILE NUMBER [BYTES]: makes a JPEG file of at least BYTES bytes, a different one for each
// number.
func cmdPhoto(ts *testscript.TestScript, _ bool, args []string) {
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	made := photo(number)
	if len(args) > 2 {
		size, err := strconv.Atoi(args[2])
		ts.Check(err)
		made = largePhoto(number, size)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), made.data, 0o644))
}

// relay VARIABLE URL BYTES: sets the variable to the URL of a proxy for the given one. After
// clients have sent BYTES bytes in total, it closes every connection and accepts no more.
func cmdRelay(ts *testscript.TestScript, _ bool, args []string) {
	target, err := url.Parse(args[1])
	ts.Check(err)
	budget, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
	ts.Setenv(args[0], "http://"+listener.Addr().String())
	var left atomic.Int64
	left.Store(budget)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the budget is spent, or the script is over
			}
			go relay(client, target.Host, &left, listener)
		}
	}()
}

// relay copies bytes both ways until the budget of all connections is spent.
func relay(client net.Conn, target string, left *atomic.Int64, listener net.Listener) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(client, server) }()
	buffer := make([]byte, 4<<10)
	for {
		n, err := client.Read(buffer)
		if left.Add(-int64(n)) < 0 {
			_ = listener.Close()
			return
		}
		if _, writeErr := server.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}
