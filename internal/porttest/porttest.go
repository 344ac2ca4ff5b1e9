// Package porttest gives tests TCP ports that no other program can take.
//
// A test that starts a program on a port must know the port before the program binds it. A port
// that was found free and closed again can be taken by another program in between. This package
// binds the port and keeps it bound, without listening, until the test ends. The kernel then
// assigns it to no other listener or outgoing connection. A program that names the port and sets
// SO_REUSEADDR, as servers do (Go, Rust, nginx, haproxy), can listen on it, stop, and listen on it
// again.
//
// While no program listens, connections to the port are refused, so a reserved address is also the
// address of an unreachable server.
//
// Programs that can bind port 0 and report their port do not need this package.
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
