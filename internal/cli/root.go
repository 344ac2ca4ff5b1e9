package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program is the command line: the client commands and the commands that the main package adds.
type Program struct {
	Version        string
	Commands       []*cobra.Command // added to the client commands
	LookupEnv      func(string) (string, bool)
	Stdout, Stderr io.Writer
}

// Run runs one command and returns the exit code of the process.
func (p Program) Run(ctx context.Context, args []string) int {
	root := p.newRootCmd()
	root.SetArgs(args)
	output := &errWriter{Writer: p.Stdout}
	root.SetOut(output)
	root.SetErr(p.Stderr)
	err := interruptError(ctx, root.ExecuteContext(ctx))
	if err == nil && output.err != nil {
		err = fmt.Errorf("the result could not be printed: %w; free some space and run it again", output.err)
	}
	if err != nil {
		reportError(p.Stderr, err, wantsJSON(root, args))
	}
	return int(exitCodeOf(err))
}

// interruptError replaces the error of an interrupted command by "interrupted", unless the command
// has its own exit code. Users do not need to know which request was cancelled.
func interruptError(ctx context.Context, err error) error {
	if known := (*exitError)(nil); ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.As(err, &known) {
		return err
	}
	return Failed(ExitInterrupted, errors.New("interrupted"))
}

func (p Program) newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "sortie",
		Short: "Paid real-world missions, funded on chain",
		Long: `Sortie pays people for real-world photos and videos. The money is locked on chain before anyone works.

Every flag can also be set by an environment variable: --chain-listen is SORTIE_CHAIN_LISTEN.`,
		Version:       p.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return flagsFromEnvironment(cmd.Flags(), p.LookupEnv)
		},
	}
	root.PersistentFlags().Bool("json", false, "print one JSON value for programs, also for errors")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return UsageError("%w; see %s --help", flagValueError(err), cmd.CommandPath())
	})
	root.AddCommand(
		newMissionCmd(), newReviewCmd(), newMissionsCmd(), newSubmitCmd(), newSubmissionsCmd(), newPayoutsCmd(), newEarningsCmd(),
		newSolvencyCmd(), newRedeemCmd(), newClaimCmd(), newChainCmd(),
	)
	root.AddCommand(p.Commands...)
	RequireSubcommand(root)
	return root
}

// flagValueError says what kind of value a flag wants, without the words of the Go parser.
func flagValueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	wants := map[string]string{"int": "a whole number", "uint64": "a whole number of 0 or more", "duration": "a duration, such as 90s or 10m", "bool": "true or false"}
	want := wants[invalid.GetFlag().Value.Type()]
	if want == "" {
		return err
	}
	return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
}

// flagsFromEnvironment sets the flags that were not given from their environment variables.
func flagsFromEnvironment(flags *pflag.FlagSet, lookupEnv func(string) (string, bool)) error {
	var err error
	flags.VisitAll(func(flag *pflag.Flag) {
		value, found := lookupEnv(environmentName(flag.Name))
		if err != nil || flag.Changed || !found || flag.Name == "help" || flag.Name == "version" {
			return
		}
		if setErr := flags.Set(flag.Name, value); setErr != nil {
			err = UsageError("%s (for --%s): %w", environmentName(flag.Name), flag.Name, setErr)
		}
	})
	return err
}

func environmentName(flag string) string {
	return "SORTIE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// wantsJSON reports whether errors are printed as JSON. It also works if parsing stopped before the
// flag.
func wantsJSON(root *cobra.Command, args []string) bool {
	for _, arg := range args {
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	asJSON, _ := root.PersistentFlags().GetBool("json")
	return asJSON
}
