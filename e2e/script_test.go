// Package e2e tests the binary from outside, by its command line and its API. The scripts are in
// testdata.
package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/porttest"
)

var binaries string // directory with the sortie that scripts run

// together is the number of parallel tests unless -parallel is given. Most of the time they wait
// for blocks, leases and processes, so it does not depend on the number of cores.
const together = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		_ = flag.Set("test.parallel", together)
	}
	os.Exit(func() int {
		var err error
		if binaries, err = os.MkdirTemp("", "sortie-e2e-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(binaries)
		if testing.Short() {
			return m.Run() // no test starts the program
		}
		build := exec.Command("go", "build", "-o", binaries+"/sortie", "../cmd/sortie")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build sortie:", err)
			return 1
		}
		return pgtest.Main(m)
	}())
}

func TestScripts(t *testing.T) {
	t.Parallel()
	skipShort(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// The programs themselves: a kill does not end the wrappers in .bin.
			tools, err := filepath.Glob("../contracts/node_modules/@foundry-rs/*-*/bin")
			if err != nil || len(tools) == 0 {
				return errors.New("the Solidity tools are missing: run make setup")
			}
			path := []string{binaries}
			for _, tool := range tools {
				absolute, err := filepath.Abs(tool)
				if err != nil {
					return err
				}
				path = append(path, absolute)
			}
			env.Setenv("PATH", strings.Join(append(path, env.Getenv("PATH")), string(os.PathListSeparator)))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    cmdExits,
			"waitfile": cmdWaitFile,
			"waitport": cmdWaitPort,
			"waithttp": cmdWaitHTTP,
			"port":     cmdPort,
			"keystore": cmdKeystore,
			"field":    cmdField,
			"photo":    cmdPhoto,
			"relay":    cmdRelay,

			"eventually": cmdEventually,
			"interrupts": cmdInterrupts,
		},
	})
}

// exits CODE COMMAND...: the command ends with exactly this exit code. Its output can be inspected
// as that of exec.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		code = fmt.Sprint(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if code != args[0] {
		ts.Fatalf("%s ended with %s, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

const patience = 5 * time.Minute // for busy machines

// waitfile FILE: waits until the file exists.
func cmdWaitFile(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	until(ts, "file "+args[0], func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// waitport ADDRESS: waits until the port accepts connections.
func cmdWaitPort(ts *testscript.TestScript, _ bool, args []string) {
	until(ts, "listener on "+args[0], func() bool {
		connection, err := net.Dial("tcp", args[0])
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
}

// waithttp URL: waits until a GET is answered with 200.
func cmdWaitHTTP(ts *testscript.TestScript, _ bool, args []string) {
	until(ts, "answer of "+args[0], func() bool {
		response, err := http.Get(args[0])
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	})
}

func until(ts *testscript.TestScript, what string, done func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !done(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("no %s after %s", what, patience)
		}
	}
}

// port VARIABLE: sets the variable to a port of 127.0.0.1 that is reserved for this script.
func cmdPort(ts *testscript.TestScript, _ bool, args []string) {
	address, release, err := porttest.Hold()
	ts.Check(err)
	ts.Defer(release)
	_, port, err := net.SplitHostPort(address)
	ts.Check(err)
	ts.Setenv(args[0], port)
}

// keystore FILE PASSWORD HEXKEY: writes a keystore file of mode 0600 with its password next to it.
func cmdKeystore(ts *testscript.TestScript, _ bool, args []string) {
	secret, err := crypto.HexToECDSA(args[2])
	ts.Check(err)
	key := &keystore.Key{Id: uuid.New(), Address: crypto.PubkeyToAddress(secret.PublicKey), PrivateKey: secret}
	encrypted, err := keystore.EncryptKey(key, args[1], keystore.LightScryptN, keystore.LightScryptP)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), encrypted, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".password"), []byte(args[1]+"\n"), 0o600))
}

// field VARIABLE FILE PATH: sets the variable to a value in a JSON file; the path's steps are names
// and indexes.
func cmdField(ts *testscript.TestScript, _ bool, args []string) {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &value))
	for _, step := range strings.Split(args[2], ".") {
		switch at := value.(type) {
		case map[string]any:
			value = at[step]
		case []any:
			var i int
			_, err := fmt.Sscan(step, &i)
			ts.Check(err)
			value = at[i]
		}
	}
	if value == nil {
		ts.Fatalf("%s has no %s", args[1], args[2])
	}
	if number, ok := value.(float64); ok {
		value = int64(number)
	}
	ts.Setenv(args[0], fmt.Sprint(value))
}
