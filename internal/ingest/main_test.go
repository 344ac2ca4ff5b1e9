package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/ingest"
)

// misbehaviour names what a child does instead of its work. A child gets no variables of the
// service, so a script that is started in its place sets it.
const misbehaviour = "SORTIE_TEST_MISBEHAVE"

func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if fake := fakes[strings.TrimPrefix(name, fakePrefix)]; fake != nil && strings.HasPrefix(name, fakePrefix) {
		fake()
		os.Exit(0)
	}
	if misbehaviours[name] != nil {
		ingest.Misbehave(misbehaviours[name])
	}
	if len(os.Args) == 2 && os.Args[1] == ingest.ChildArgument {
		if how := os.Getenv(misbehaviour); how != "" {
			ingest.Misbehave(misbehaviours[how])
		}
		os.Exit(ingest.ChildMain())
	}
	if len(os.Args) > 1 && otherMains[os.Args[1]] != nil {
		os.Exit(otherMains[os.Args[1]](os.Args[2:]))
	}
	os.Exit(m.Run())
}

// fakes are what this program does instead of ffmpeg, by the name after the prefix under which it
// was started.
var fakes = map[string]func(){}

const fakePrefix = "ffmpeg-"

// otherMains are the other programs that this test binary can run, by its first argument.
var otherMains = map[string]func(args []string) int{}

var misbehaviours = map[string]func(){
	"memory": func() {
		for {
			hoard = append(hoard, bytes.Repeat([]byte{1}, 1<<20))
		}
	},
	"one allocation": func() { fmt.Fprintln(os.Stderr, len(bytes.Repeat([]byte{1}, 1<<30))) },
	"computing": func() {
		for {
			computed++
		}
	},
	"sleep": func() { time.Sleep(time.Hour) },
	"report its pid and sleep": func() {
		fmt.Fprintln(os.NewFile(9, "pid"), os.Getpid())
		time.Sleep(time.Hour)
	},
	"panic":   func() { panic("PanicOfTheChild") },
	"recurse": func() { recurse(make([]byte, 100)) },
	"talk": func() {
		for {
			fmt.Println(strings.Repeat("a", 1<<16))
		}
	},
	"exit":  func() { os.Exit(0) },
	"open":  func() { report(openAFile()) },
	"dial":  func() { report(dial()) },
	"write": func() { report(os.WriteFile(filepath.Join(os.TempDir(), "sortie-escaped"), nil, 0o600)) },
	"start": func() { report(exec.Command("/bin/true").Run()) },
	"die":   func() { _ = killSelf() },
}

// Variables of misbehaviours, so that compilers and linters do not remove their code.
var (
	hoard    [][]byte
	computed uint64
	forever  = true
)

func recurse(grow []byte) {
	if forever {
		recurse(append(grow, grow...)[:100])
	}
	grow[0]++
}

// report ends the child with exit code 3 if an action worked that must not, or else with 4.
func report(err error) {
	if err == nil {
		fmt.Fprintln(os.Stderr, "escaped")
		os.Exit(3)
	}
	fmt.Fprintln(os.Stderr, "isolated:", err)
	os.Exit(4)
}

func openAFile() error {
	file, err := os.Open("/etc/hostname")
	return errors.Join(err, file.Close())
}

func dial() error {
	connection, err := net.DialTimeout("tcp", "127.0.0.1:1", time.Second)
	if err == nil {
		return connection.Close()
	}
	if strings.Contains(err.Error(), "connection refused") {
		return nil // the connection was attempted
	}
	return err
}

// badChild returns a program that misbehaves when it is started as a child.
func badChild(t *testing.T, how string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "child")
	script := fmt.Sprintf("#!/bin/sh\n%s=%q GOTRACEBACK=none GOMAXPROCS=1 exec %q \"$@\"\n", misbehaviour, how, self)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
