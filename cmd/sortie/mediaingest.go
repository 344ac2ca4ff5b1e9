package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie/internal/cli"
	"github.com/sortie-labs/sortie/internal/ingest"
)

// newMediaIngestCmd makes the command of the child process that reads an uploaded file for the
// service. It is not for users.
func newMediaIngestCmd() *cobra.Command {
	return &cobra.Command{
		Use:    ingest.ChildArgument,
		Short:  "Read one uploaded file, as a child of the service",
		Hidden: true,
		Args:   cli.NoArgs,
		Run:    func(*cobra.Command, []string) { os.Exit(ingest.ChildMain()) },
	}
}
