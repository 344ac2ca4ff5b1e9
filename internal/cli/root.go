package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program is the command line: the client commands and those that the main package adds.
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
	err := inTime(ctx, root.ExecuteContext(ctx))
	if err == nil && output.err != nil {
		err = fmt.Errorf("the result could not be printed: %w; give it room and run it again", output.err)
	}
	if err != nil {
		reportError(p.Stderr, err, wantsJSON(root, args))
	}
	return int(exitCodeOf(err))
}

// errWriter keeps the first write error. Text for people is printed without checking errors, and a
// script that reads half a list must not take it for the whole.
type errWriter struct {
	io.Writer
	err error
}

func (w *errWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// inTime says of what failed because somebody interrupted it that they did, unless the command has
// more to say. How the request was called that was under way then helps nobody.
func inTime(ctx context.Context, err error) error {
	if known := (*exitError)(nil); ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.As(err, &known) {
		return err
	}
	return Failed(ExitInterrupted, errors.New("interrupted"))
}

func (p Program) newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "sortie",
		Short: "Paid real-world missions, funded on chain",
		Long: `Sortie lets anyone pay people for real-world photos and videos, with the money locked on chain
before anyone works.

Every flag can be set by an environment variable too: --chain-listen is SORTIE_CHAIN_LISTEN.`,
		Version:       p.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return flagsFromEnvironment(cmd.Flags(), p.LookupEnv)
		},
	}
	root.PersistentFlags().Bool("json", false, "print one JSON value for programs, errors too")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return UsageError("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		newMissionCmd(), newReviewCmd(), newMissionsCmd(), newSubmitCmd(), newSubmissionsCmd(), newPayoutsCmd(), newEarningsCmd(),
		newSolvencyCmd(), newRedeemCmd(), newClaimCmd(), newChainCmd(),
	)
	root.AddCommand(p.Commands...)
	RequireSubcommand(root)
	return root
}

// requireSubcommand makes a group of commands answer a missing or unknown subcommand as a usage
// error, not with success.
func RequireSubcommand(group *cobra.Command) {
	group.Args = cobra.ArbitraryArgs
	group.SuggestionsMinimumDistance = 2
	group.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			if asJSON, _ := cmd.Flags().GetBool("json"); !asJSON {
				_ = cmd.Usage()
			}
			return UsageError("%s wants a command; see %s --help", cmd.CommandPath(), cmd.CommandPath())
		}
		if suggestions := cmd.SuggestionsFor(args[0]); len(suggestions) > 0 {
			return UsageError("unknown command %q for %s; did you mean %s?", args[0], cmd.CommandPath(), strings.Join(suggestions, " or "))
		}
		return UsageError("unknown command %q for %s; see %s --help", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
}

// noArgs refuses arguments of a command that takes flags only.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError("%s takes no arguments, got %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// flagsFromEnvironment sets each flag that was not given from its one variable.
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

// wantsJSON reports whether errors go out as JSON. It holds even when parsing stopped before it got
// to the flag.
func wantsJSON(root *cobra.Command, args []string) bool {
	for _, arg := range args {
		if arg == "--json" || arg == "--json=true" {
			return true
		}
	}
	asJSON, _ := root.PersistentFlags().GetBool("json")
	return asJSON
}

// printJSON writes the one value of a --json command.
func PrintJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}
