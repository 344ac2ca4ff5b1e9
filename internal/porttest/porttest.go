// Package porttest gives tests TCP ports that no other program can take.
//
// A test that starts a program on a port of its choice must know the port before the program binds
// it. To look for a free port, close it and hope is a race: any other program may be given the port
// in between. This package binds the port and keeps it bound, without listening, until the test
// ends. The kernel then gives it to no other socket that asks for any port, neither to a listener
// nor to an outgoing connection. A program that names the port and sets SO_REUSEADDR, as servers do
// (Go, Rust, nginx, haproxy), can listen on it, stop, and listen on it again.
//
// While no program listens, connections to the port are refused. So a reserved address is also the
// address of a server that is away.
//
// Programs that can bind port 0 and report what they were given do not need this package.
package porttest

import "testing"

// Reserve reserves a port of 127.0.0.1 until the test ends, and returns its address as host:port.
func Reserve(t testing.TB) (address string) {
	t.Helper()
	address, release, err := Hold()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}
