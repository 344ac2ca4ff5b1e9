package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const startTimeout = time.Minute

var errNotInstalled = errors.New("PostgreSQL 15 or later is not installed: run `make setup` or `apt-get install postgresql`, or point " +
	serverVariable + " to a server whose user may create databases")

// cluster is a running PostgreSQL in its own directory. It listens on a Unix socket only, so it
// needs no free port and other users of the machine cannot reach it.
type cluster struct {
	dir       string
	server    *exec.Cmd
	lifeline  io.Closer // the server stops when this closes, also if the test binary is killed
	serverLog bytes.Buffer
	exited    chan struct{}
}

// supervisor runs a server until its standard input ends, then stops it and removes its directory.
// The test binary holds the other end of that input, so a killed test run leaves nothing.
const supervisor = `dir=$1; shift
"$@" </dev/null & server=$!
cat >/dev/null
kill -INT $server 2>/dev/null; wait $server
rm -rf "$dir"`

func startCluster() (*cluster, error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sortie-pg-")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, exited: make(chan struct{})}
	if err := c.start(binaries); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if err := c.awaitReady(); err != nil {
		c.stop()
		return nil, fmt.Errorf("%w; log of the server: %s", err, bytes.TrimSpace(c.serverLog.Bytes()))
	}
	return c, nil
}

func (c *cluster) start(binaries string) error {
	runAs, err := c.serverUser()
	if err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	initdb := exec.Command(filepath.Join(binaries, "initdb"), "--pgdata", data, "--username", "postgres",
		"--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = c.dir, runAs
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(output))
	}

	// fsync is off: tests create many small databases that need not survive a crash of the machine.
	c.server = exec.Command("/bin/sh", "-c", supervisor, "sh", c.dir, filepath.Join(binaries, "postgres"), "-D", data,
		"-c", "listen_addresses=", "-c", "unix_socket_directories="+c.dir,
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300", "-c", "shared_buffers=32MB")
	c.server.Dir, c.server.SysProcAttr = c.dir, runAs
	c.server.Stdout, c.server.Stderr = &c.serverLog, &c.serverLog
	if c.lifeline, err = c.server.StdinPipe(); err != nil {
		return err
	}
	if err := c.server.Start(); err != nil {
		return err
	}
	go func() {
		_ = c.server.Wait()
		close(c.exited)
	}()
	return nil
}

// serverUser gives the directory to the user that runs the server: the current user, unless it is
// root. The server gets a separate process group, so that an interrupt of the tests does not end
// the supervisor before it has cleaned up.
func (c *cluster) serverUser() (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return &syscall.SysProcAttr{Setpgid: true}, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.LookupId("65534") // without rights on most systems
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root and there is no user postgres: %w", err)
	}
	uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr, os.Chown(c.dir, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func (c *cluster) url() string {
	where := url.Values{"host": {c.dir}, "port": {"5432"}}
	return "postgres://postgres@/postgres?" + where.Encode()
}

// awaitReady polls the server until it answers. There is no signal to wait for: PostgreSQL only
// writes to its log.
func (c *cluster) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	db, err := sql.Open("pgx", c.url())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-c.exited:
			return errors.New("the server ended immediately")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		}
	}
}

func (c *cluster) stop() {
	_ = c.lifeline.Close()
	<-c.exited
}

// findBinaries returns the directory of the newest installed server. Debian keeps server programs
// out of PATH.
func findBinaries() (string, error) {
	newest, directory := 0, ""
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/postgres", "/usr/pgsql-*/bin/postgres", "/usr/local/pgsql/bin/postgres"} {
		found, _ := filepath.Glob(pattern) // fails on a bad pattern only
		for _, program := range found {
			if version := majorVersion(program); version > newest {
				newest, directory = version, filepath.Dir(program)
			}
		}
	}
	if program, err := exec.LookPath("postgres"); err == nil {
		if version := majorVersion(program); version > newest {
			newest, directory = version, filepath.Dir(program)
		}
	}
	if newest < 15 {
		return "", errNotInstalled
	}
	return directory, nil
}

// majorVersion runs the program and reads its version, for example "postgres (PostgreSQL) 15.14
// (Debian ...)".
func majorVersion(program string) int {
	output, err := exec.Command(program, "--version").Output()
	if err != nil {
		return 0
	}
	var name string
	var major int
	if _, err := fmt.Sscanf(string(output), "postgres %s %d", &name, &major); err != nil {
		return 0
	}
	return major
}
