package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// eventually PATTERN COMMAND...: runs the command until its standard output matches. The last
// output can be inspected as that of exec.
func cmdEventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually PATTERN COMMAND ARGS...")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	tick := time.NewTicker(300 * time.Millisecond) // a process each time: not as often as until
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		if ts.Exec(args[1], args[2:]...) == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no output that matches %s after %s", args[0], patience)
		}
	}
}

// interrupts CODE PATTERN COMMAND...: starts the command, interrupts it once its standard output
// matches, and expects this exit code.
func cmdInterrupts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupts CODE PATTERN COMMAND ARGS...")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	path, err := lookPath(args[2], ts.Getenv("PATH"))
	ts.Check(err)
	output := &watchedOutput{}
	command := exec.Command(path, args[3:]...)
	command.Dir = ts.Getenv("WORK")
	command.Env = append(os.Environ(), "SORTIE_URL="+ts.Getenv("SORTIE_URL"))
	command.Stdout, command.Stderr = output, output
	ts.Check(command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	defer func() { _ = command.Process.Kill() }()
	until(ts, "output that matches "+args[1], func() bool { return pattern.MatchString(output.String()) })
	ts.Check(command.Process.Signal(syscall.SIGINT))
	select {
	case err = <-ended:
	case <-time.After(patience):
		ts.Fatalf("it still runs after the interrupt")
	}
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("interrupted, it ended with %d, want %s:\n%s", code, args[0], output)
	}
}

// lookPath finds a program in the script's own path.
func lookPath(program, path string) (string, error) {
	for _, directory := range strings.Split(path, string(os.PathListSeparator)) {
		if candidate := directory + "/" + program; isExecutable(candidate) {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("%s is not in the path", program)
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// watchedOutput is a buffer that can be read while a process writes it.
type watchedOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *watchedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *watchedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
