package api

import (
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// link is a connection to a PostgreSQL server that a test can cut and mend.
type link struct {
	listener       net.Listener
	network, place string // of the server

	mu          sync.Mutex
	isCut       bool
	connections []net.Conn
}

// newLink returns a link to a database, and the database's URL through it.
func newLink(t testing.TB, database string) (*link, string) {
	t.Helper()
	config, err := pgconn.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener}
	l.network, l.place = pgconn.NetworkAddress(config.Host, config.Port)
	t.Cleanup(func() {
		l.cut()
		_ = listener.Close()
	})
	go l.accept()
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Path: config.Database, RawQuery: "sslmode=disable",
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)),
	}
	return l, address.String()
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(l.network, l.place)
		if err != nil || !l.keep(client, server) {
			_ = client.Close()
			continue
		}
		go func() { _, _ = io.Copy(server, client) }()
		go func() { _, _ = io.Copy(client, server) }()
	}
}

func (l *link) keep(connections ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connections = append(l.connections, connections...)
	return !l.isCut
}

// cut closes all connections, and new ones at once.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	for _, connection := range l.connections {
		_ = connection.Close()
	}
	l.connections = nil
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = false
}
