//go:build unix

package funding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// The signing commands of these tests are this test binary under other names: the name of the
// symbolic link selects the behaviour.

func TestMain(m *testing.M) {
	if behave, found := commands[filepath.Base(os.Args[0])]; found {
		behave()
		exit(0)
	}
	os.Exit(m.Run())
}

var commandKey = [32]byte{31: 42}

var commands = map[string]func(){
	"good":            func() { answer(func(s string) string { return s + "\n" }) },
	"silent":          func() { answer(func(string) string { return "" }) },
	"garbage":         func() { answer(func(string) string { return "0xsecret" }) },
	"talkative":       func() { answer(func(s string) string { return s + "\n" + s }) },
	"flood":           func() { answer(func(string) string { return strings.Repeat("0", 1<<20) }) },
	"other key":       func() { commandKey[31]++; answer(func(s string) string { return s }) },
	"bare v":          func() { answer(func(s string) string { return s[:130] + "01" }) },
	"refuse":          func() { refuse("over the daily limit\nwith details: 0x1234") },
	"refuse loudly":   func() { refuse("\x1b[31m" + strings.Repeat("no ", 1<<20)) },
	"refuse mutely":   func() { refuse("") },
	"die":             func() { signOnly(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }) },
	"hang":            func() { signOnly(hang) },
	"hang at once":    hang,
	"ignore signals":  func() { signOnly(func() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT); hang() }) },
	"hang with child": func() { signOnly(func() { startChild(); hang() }) },
	"leave child":     func() { signOnly(func() { startChild() }) },
	"child":           sleep,
	"environment":     func() { signOnly(func() { refuse(strings.Join(variables(), " ")) }) },
}

// answer behaves as a signing command should, except that the caller may alter the signature. The
// address is always right.
func answer(spoil func(string) string) {
	var request struct {
		Version   int
		Operation string
		Address   sortie.Address
		Digest    sortie.Hash
		Purpose   Purpose
		Content   json.RawMessage
	}
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil || request.Version != 1 {
		refuse("bad request")
	}
	signer, err := NewKeySigner(commandKey)
	if err != nil {
		refuse(err.Error())
	}
	switch request.Operation {
	case "address":
		fmt.Println(commandAddress())
	case "sign":
		if request.Purpose != PurposeClose || !json.Valid(request.Content) || request.Address != commandAddress() {
			refuse("bad request")
		}
		signature, err := signer.Sign(context.Background(), SignRequest{Digest: request.Digest})
		if err != nil {
			refuse(err.Error())
		}
		fmt.Print(spoil(signature.String()))
	default:
		refuse("unknown operation")
	}
}

// signOnly answers the request for the address, and runs the function for a request to sign.
func signOnly(behave func()) {
	question, err := io.ReadAll(os.Stdin)
	if err != nil {
		refuse(err.Error())
	}
	if strings.Contains(string(question), `"operation":"address"`) {
		fmt.Println(commandAddress())
		return
	}
	behave()
}

func commandAddress() sortie.Address {
	return sortie.MustAddress("0xae3DfFEE97f92db0201d11CB8877C89738353bCE")
}

func refuse(reason string) {
	fmt.Fprint(os.Stderr, reason)
	exit(3)
}

// exit skips the output that a test binary prints at its end when it measures coverage.
func exit(status int) { syscall.Exit(status) }

// hang holds a pipe open. A test reads the pipe to its end, which is reached when every holder is
// dead.
func hang() {
	if _, err := os.OpenFile(alivePipe(os.Args[0]), os.O_WRONLY, 0); err != nil {
		refuse(err.Error())
	}
	sleep()
}

func sleep() { time.Sleep(time.Hour) } // until it is killed

func alivePipe(command string) string { return filepath.Join(filepath.Dir(command), "alive") }

// startChild starts a process that holds this one's output and the pipe open.
func startChild() {
	alive, err := os.OpenFile(alivePipe(os.Args[0]), os.O_WRONLY, 0)
	if err != nil {
		refuse(err.Error())
	}
	child := exec.Command(filepath.Join(filepath.Dir(os.Args[0]), "child"))
	child.Stdout, child.Stderr, child.ExtraFiles = os.Stdout, os.Stderr, []*os.File{alive}
	if err := child.Start(); err != nil {
		refuse(err.Error())
	}
}

func variables() (names []string) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	return names
}

func commandPath(t *testing.T, behaviour string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{behaviour, "child"} {
		if err := os.Symlink(program, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "alive"), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, behaviour)
}

// patient limits are not reached in a test.
var patient = commandLimits{timeout: time.Minute, parallel: 2, answer: 4 << 10, grace: time.Minute}

func shortTimeout(limits commandLimits) commandLimits {
	limits.timeout = 200 * time.Millisecond
	return limits
}
func shortGrace(limits commandLimits) commandLimits {
	limits.grace = 50 * time.Millisecond
	return limits
}

// openForTest asks for the address with patient limits, and signs with the given ones.
func openForTest(t *testing.T, path string, limits commandLimits) Signer {
	t.Helper()
	signer, err := openCommand(t.Context(), path, patient)
	if err != nil {
		t.Fatal(err)
	}
	command := signer.(checked).signer.(commandSigner)
	command.limits = limits
	return check(command)
}

var closeRequest = func() SignRequest {
	end := sortie.Close{MissionKey: sortie.Hash{1}, PaidCount: 2}
	domain := sortie.Domain{ChainID: 1, Factory: sortie.Address{1}}
	return SignRequest{Purpose: PurposeClose, Digest: end.Digest(domain.Separator()), Content: closeContent(domain, end)}
}()

func TestCommandSigns(t *testing.T) {
	t.Parallel()
	key, err := ParseKeyRef("command:" + commandPath(t, "good"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := key.Open(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	local, err := NewKeySigner(commandKey)
	if err != nil {
		t.Fatal(err)
	}
	if signer.Address() != local.Address() {
		t.Errorf("address %s, want %s", signer.Address(), local.Address())
	}
	var wait sync.WaitGroup
	for range 6 { // more than may run at a time
		wait.Go(func() {
			got, err := signer.Sign(t.Context(), closeRequest)
			want, _ := local.Sign(t.Context(), closeRequest)
			if err != nil || got.String() != want.String() {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
		})
	}
	wait.Wait()
}

func TestCommandFailures(t *testing.T) {
	t.Parallel()
	signsAsOther := "the signature is of 0x" // and so on
	cases := []struct {
		behaviour string
		limits    commandLimits
		want      string // the end of the error; COMMAND is replaced by its path
	}{
		{"silent", patient, "command COMMAND: the answer of 0 bytes is not a signature; want 0x and 130 hex digits"},
		{"garbage", patient, "command COMMAND: the answer of 8 bytes is not a signature; want 0x and 130 hex digits"},
		{"talkative", patient, "command COMMAND: the answer of 265 bytes is not a signature; want 0x and 130 hex digits"},
		{"flood", patient, "command COMMAND: the answer has more than 4096 bytes"},
		{"other key", patient, signsAsOther},
		{"bare v", patient, "the signer gave v 1; want 27 or 28"},
		{"die", patient, "command COMMAND: it failed (signal: killed) and wrote nothing to standard error"},
		{"hang", shortTimeout(patient), "command COMMAND: no answer within 200ms; it was killed"},
		{"ignore signals", shortTimeout(patient), "command COMMAND: no answer within 200ms; it was killed"},
	}
	for _, bad := range cases {
		t.Run(bad.behaviour, func(t *testing.T) {
			t.Parallel()
			path := commandPath(t, bad.behaviour)
			signer := openForTest(t, path, bad.limits)
			_, err := signer.Sign(t.Context(), closeRequest)
			want := "sign close as " + commandAddress().String() + ": " + strings.ReplaceAll(bad.want, "COMMAND", path)
			if err == nil || (err.Error() != want && !(bad.want == signsAsOther && strings.HasPrefix(err.Error(), want))) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestCommandRefusalsAtOpening(t *testing.T) {
	t.Parallel()
	cases := []struct {
		behaviour, want string
		limits          commandLimits
	}{
		{"refuse", "it failed (exit status 3): over the daily limit", patient},
		{"refuse loudly", "it failed (exit status 3): [31m" + strings.Repeat("no ", 97) + "no...", patient},
		{"refuse mutely", "it failed (exit status 3) and wrote nothing to standard error", patient},
		{"hang at once", "no answer within 200ms; it was killed", shortTimeout(patient)},
	}
	for _, bad := range cases {
		t.Run(bad.behaviour, func(t *testing.T) {
			t.Parallel()
			path := commandPath(t, bad.behaviour)
			_, err := openCommand(t.Context(), path, bad.limits)
			if want := "command " + path + ": ask for its address: " + bad.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// No process that a command has started may outlive the timeout.
func TestCommandIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	cases := []struct {
		behaviour string
		limits    commandLimits
		want      string
	}{
		{"hang", shortTimeout(patient), "no answer within 200ms; it was killed"},
		{"hang with child", shortTimeout(patient), "no answer within 200ms; it was killed"},
		{"leave child", shortGrace(patient), "it ended but left a child process that holds its output open"},
	}
	for _, bad := range cases {
		t.Run(bad.behaviour, func(t *testing.T) {
			t.Parallel()
			path := commandPath(t, bad.behaviour)
			signer := openForTest(t, path, bad.limits)
			alive, err := os.OpenFile(alivePipe(path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer alive.Close()
			_, err = signer.Sign(t.Context(), closeRequest)
			if want := "sign close as " + commandAddress().String() + ": command " + path + ": " + bad.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if _, err := io.ReadAll(alive); err != nil { // waits for the last holder
				t.Error(err)
			}
		})
	}
}

func TestCommandEndsWithTheCallersContext(t *testing.T) {
	t.Parallel()
	path := commandPath(t, "hang")
	signer := openForTest(t, path, patient)
	ctx, cancel := context.WithCancel(t.Context())
	dead := make(chan error, 1)
	go func() {
		alive, err := os.Open(alivePipe(path)) // waits until the command hangs
		cancel()
		if err == nil {
			_, err = io.ReadAll(alive)
		}
		dead <- err
	}()
	if _, err := signer.Sign(ctx, closeRequest); !errors.Is(err, context.Canceled) {
		t.Errorf("Sign with a cancelled context: got error %v, want %v", err, context.Canceled)
	}
	if err := <-dead; err != nil {
		t.Error(err)
	}
}

func TestCommandCallsAreBounded(t *testing.T) {
	t.Parallel()
	command := commandSigner{path: commandPath(t, "good"), limits: patient, slots: make(chan struct{}, 1)}
	command.slots <- struct{}{} // another call, which does not end
	command.limits.timeout = time.Millisecond
	_, err := command.Sign(t.Context(), closeRequest)
	if want := "command " + command.path + ": busy: 2 calls are running and none ended within 1ms"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	command.limits.timeout = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := command.Sign(ctx, closeRequest); !errors.Is(err, context.Canceled) {
		t.Errorf("Sign with a cancelled context: got error %v, want %v", err, context.Canceled)
	}
}

func TestCommandSeesAMinimalEnvironment(t *testing.T) {
	t.Setenv("SORTIE_DATABASE", "postgres://user:secret@host/db")
	t.Setenv("TZ", "UTC")
	_, err := openForTest(t, commandPath(t, "environment"), patient).Sign(t.Context(), closeRequest)
	if err == nil || strings.Contains(err.Error(), "SORTIE_DATABASE") || !strings.Contains(err.Error(), " TZ") {
		t.Errorf("environment of the command: got %v, want TZ and no SORTIE_DATABASE", err)
	}
}

func TestCommandMustBeASafeProgram(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("#!/bin/false\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := map[string]struct{ path, want string }{
		"missing":        {filepath.Join(folder, "none"), "not found; check the path in the key reference"},
		"name in PATH":   {"true", "not found; check the path in the key reference"},
		"folder":         {folder, "not a program; check the path in the key reference"},
		"not executable": {file("plain", 0o600), "not executable; run: chmod 700 " + filepath.Join(folder, "plain")},
		"writable":       {file("shared", 0o777), "mode 0777 lets every user replace it; run: chmod 700 " + filepath.Join(folder, "shared")},
		"no address":     {file("mute", 0o700), "ask for its address: it failed (exit status 1) and wrote nothing to standard error"},
	}
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openCommand(t.Context(), bad.path, patient)
			if want := "command " + bad.path + ": " + bad.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
