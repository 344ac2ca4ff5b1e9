// Command sortie runs the service Sortie and is its client: paid real-world missions, funded on
// chain.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie/internal/cli"
)

// version is set by the build.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second interrupt kills the process
	}()
	os.Exit(run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}

// run runs the program, for main and for tests.
func run(ctx context.Context, args []string, lookupEnv func(string) (string, bool), stdout, stderr io.Writer) int {
	program := cli.Program{
		Version:   version,
		Commands:  []*cobra.Command{newDevCmd(), cli.NewDemoCmd(runDemoService), newServeCmd(), newContractsCmd(), newMediaIngestCmd()},
		LookupEnv: lookupEnv, Stdout: stdout, Stderr: stderr,
	}
	return program.Run(ctx, args)
}
