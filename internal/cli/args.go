package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// RequireSubcommand makes a group of commands report a missing or unknown subcommand as a usage
// error.
func RequireSubcommand(group *cobra.Command) {
	group.Args = cobra.ArbitraryArgs
	group.SuggestionsMinimumDistance = 2
	group.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			if !wantsOutputJSON(cmd) {
				_ = cmd.Usage()
			}
			return UsageError("%s needs a command; see %s --help", cmd.CommandPath(), cmd.CommandPath())
		}
		if suggestions := cmd.SuggestionsFor(args[0]); len(suggestions) > 0 {
			return UsageError("unknown command %q for %s; did you mean %s?", args[0], cmd.CommandPath(), strings.Join(suggestions, " or "))
		}
		return UsageError("unknown command %q for %s; see %s --help", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
}

// NoArgs refuses arguments of a command that takes flags only.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError("%s takes no arguments, got %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return UsageError("%s needs one argument: %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

func twoArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 || args[0] == "" || args[1] == "" {
			return UsageError("%s needs two arguments: %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// reasonFlag is the --reason of an operator's command that requires one.
type reasonFlag struct {
	text string
	want string // what the reason must explain
}

func (f *reasonFlag) register(flags *pflag.FlagSet, want string) {
	f.want = want
	flags.StringVar(&f.text, "reason", "", want+" (required)")
}

func (f *reasonFlag) check() error {
	if strings.TrimSpace(f.text) == "" {
		return UsageError("--reason is missing: explain %s", f.want)
	}
	return nil
}

// refuseDraftID refuses a draft id where the command needs a mission id: contributors cannot use
// draft ids.
func refuseDraftID(id, command string) error {
	if strings.HasPrefix(id, "draft_") {
		return UsageError("%s is a draft id, and %s needs the mission id, which %s missions lists", clean(id), command, programName())
	}
	return nil
}
