package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

// etherDecimals are those of the chain's coin.
const EtherDecimals = 18

func newChainCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	group := &cobra.Command{
		Use:   "chain",
		Short: "See how the service follows the chain, and put things right, as an operator",
	}
	client.register(group)
	group.AddCommand(newChainStatusCmd(client), newChainReconcileCmd(client), newChainClearCmd(client))
	RequireSubcommand(group)
	return group
}

func newChainStatusCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how far the chain was followed, and what is out of order",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			overview, err := api.Chain(cmd.Context())
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, overview, func(w io.Writer) { showChain(w, client, overview) })
		},
	}
}

func showChain(w io.Writer, client *clientOptions, overview sortie.ChainOverview) {
	switch {
	case overview.Halted:
		fmt.Fprintf(w, "HALTED: nothing is published, paid or refunded until you clear the incident below.\n\n")
	case overview.PayoutHalt != nil:
		fmt.Fprintf(w, "PAYOUTS ARE HALTED by %s for %s: %s\nNext: %s payouts resume%s --reason \"...\"\n\n", clean(overview.PayoutHalt.By), ago(overview.PayoutHalt.Since),
			clean(overview.PayoutHalt.Reason), program(), client.identityFlags())
	case len(overview.Incidents) > 0:
		fmt.Fprintf(w, "Chain %d is followed; something needs your attention.\n\n", overview.ChainID)
	case overview.Follower != nil && len(overview.Follower.Alarms) > 0:
		fmt.Fprintf(w, "Chain %d: the nodes are not in order.\n\n", overview.ChainID)
	case overview.Sending != nil && len(overview.Sending.Alarms) > 0:
		fmt.Fprintf(w, "Chain %d is followed; the sender needs your attention.\n\n", overview.ChainID)
	case len(overview.Warnings) > 0:
		fmt.Fprintf(w, "Chain %d is followed; something about the configuration needs your attention.\n\n", overview.ChainID)
	default:
		fmt.Fprintf(w, "Chain %d is followed, and nothing is out of order.\n\n", overview.ChainID)
	}
	table := newTable(w)
	if position := overview.Position; position == nil {
		row(table, "followed", "not a block yet")
	} else {
		row(table, "followed", fmt.Sprintf("to block %d of %d, which is %s old; final up to %d", position.Tip, position.Head, ago(position.TipTime), position.Final))
	}
	if follower := overview.Follower; follower != nil {
		row(table, "node", fmt.Sprintf("%s, %s", follower.Node, counted(follower.Reorgs, "reorganization")))
		for _, alarm := range follower.Alarms {
			row(table, "alarm", fmt.Sprintf("%s: %s (%d times in %s)", alarm.Kind, alarm.Detail, alarm.Count, ago(alarm.Since)))
		}
	} else {
		row(table, "node", "another process follows the chain")
	}
	for _, factory := range overview.Factories {
		row(table, "factory", factory.String())
	}
	row(table, "to send", backlogInWords(overview.Sender))
	row(table, "payouts", haltInWords(overview.PayoutHalt))
	if sending := overview.Sending; sending != nil {
		row(table, "sender", balanceInWords(sending))
		for _, alarm := range sending.Alarms {
			row(table, "alarm", clean(alarm.Kind+": "+alarm.Detail))
		}
	}
	for _, warning := range overview.Warnings {
		row(table, "warning", clean(warning))
	}
	row(table, "reconciled", reportInWords(overview.LastReconcile))
	_ = table.Flush()
	for _, incident := range overview.Incidents {
		fmt.Fprintf(w, "\nIncident %s, %s ago: %s", incident.ID, ago(incident.OpenedAt), clean(incident.Kind))
		if incident.Halting {
			fmt.Fprint(w, ", HALTING")
		}
		fmt.Fprintf(w, "\n  %s\n  When it is right again: %s chain clear %s%s --reason \"...\"\n", clean(incident.Detail), program(), incident.ID, client.identityFlags())
	}
}

// balanceInWords says what the account that sends has, and how long that lasts.
func balanceInWords(sending *sortie.SenderStatus) string {
	text := sending.Account.String()
	if sending.BalanceWei == nil {
		return text
	}
	if balance, valid := new(big.Int).SetString(*sending.BalanceWei, 10); valid {
		text += " has " + sortie.FormatUnits(balance, EtherDecimals) + " of the chain's coin"
	}
	if sending.DaysLeft == nil {
		return text + "; how long it lasts is not known"
	}
	return text + fmt.Sprintf(", enough for about %.1f days at the present pace", *sending.DaysLeft)
}

func backlogInWords(backlog sortie.SenderBacklog) string {
	if backlog.OldestAt == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d queued, %d sent and not mined, the oldest for %s", backlog.Queued, backlog.Sent, ago(*backlog.OldestAt))
}

func reportInWords(report *sortie.ReconcileReport) string {
	if report == nil {
		return "not yet"
	}
	text := fmt.Sprintf("%s ago: %s compared, %d repaired", ago(report.FinishedAt), counted(report.Checked, "mission"), report.Repaired)
	if len(report.Alarms) > 0 {
		text += ", " + counted(len(report.Alarms), "alarm")
	}
	return text
}

func newChainReconcileCmd(client *clientOptions) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare the contract with the database over all open missions, and repair",
		Long: `Asks the service to compare the contract's state with its database over all open missions, now instead of at its next
turn. What differs is repaired, or opens an incident. With --wait it waits for the outcome, and ends with exit code 7 if
something could not be repaired.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			before, err := api.Chain(cmd.Context())
			if err == nil {
				err = api.Reconcile(cmd.Context())
			}
			if err != nil {
				return client.requestError(err)
			}
			if !wait {
				return show(cmd, sortie.ReconcileRequested{OK: true}, func(w io.Writer) {
					fmt.Fprintf(w, "The comparison will be made. Next: %s chain status%s\n", program(), client.identityFlags())
				})
			}
			report, err := awaitReconcile(cmd, client, api, before.LastReconcile, timeout)
			if err != nil {
				return err
			}
			return showReport(cmd, report)
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the outcome")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait for it")
	return cmd
}

// awaitReconcile waits for a report that was not there before. Two clocks are never compared.
func awaitReconcile(cmd *cobra.Command, client *clientOptions, api *sortie.Client, before *sortie.ReconcileReport, timeout time.Duration) (report sortie.ReconcileReport, err error) {
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, errReconcileLate)
	defer cancel()
	err = poll(ctx, cmd, client, func(ctx context.Context) (bool, error) {
		overview, err := api.Chain(ctx)
		if err != nil || overview.LastReconcile == nil || before != nil && overview.LastReconcile.FinishedAt == before.FinishedAt {
			return false, err
		}
		report = *overview.LastReconcile
		return true, nil
	})
	if errors.Is(context.Cause(ctx), errReconcileLate) && err != nil {
		return report, Failed(ExitServer, errReconcileLate)
	}
	return report, err
}

var errReconcileLate = errors.New("the comparison has not ended yet; it continues, and chain status will show the outcome: is a process with the roles worker and chain running?")

func showReport(cmd *cobra.Command, report sortie.ReconcileReport) error {
	err := show(cmd, report, func(w io.Writer) {
		fmt.Fprintf(w, "Compared %s, repaired %d.\n", counted(report.Checked, "mission"), report.Repaired)
		for _, alarm := range report.Alarms {
			fmt.Fprintf(w, "  - %s\n", clean(alarm))
		}
	})
	if err == nil && len(report.Alarms) > 0 {
		err = Failed(ExitChain, fmt.Errorf("%s could not be repaired; see chain status", counted(len(report.Alarms), "thing")))
	}
	return err
}

func newChainClearCmd(client *clientOptions) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "clear INCIDENT --reason TEXT",
		Short: "Say that an incident is right again; what it halted continues",
		Args:  oneArg("the incident's id; chain status lists the open ones"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return UsageError("--reason is missing: say what you looked at, and why things may go on")
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			cleared, err := api.ClearIncident(cmd.Context(), args[0], reason)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, cleared, func(w io.Writer) {
				end := "Nothing is halted."
				if cleared.Halted {
					end = "Another incident still halts the service: see chain status."
				}
				fmt.Fprintf(w, "Cleared %s. %s\n", cleared.ID, end)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "what you looked at, and why things may continue (required)")
	return cmd
}
