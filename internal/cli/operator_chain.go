package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

// EtherDecimals is the number of decimals of the chain's native coin.
const EtherDecimals = 18

func newChainCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	group := &cobra.Command{
		Use:   "chain",
		Short: "Show how the service follows the chain, reconcile and clear incidents as an operator",
	}
	client.register(group)
	group.AddCommand(newChainStatusCmd(client), newChainReconcileCmd(client), newChainClearCmd(client))
	RequireSubcommand(group)
	return group
}

func newChainStatusCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the followed block, the sender, alarms and incidents",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.ChainOverview, error) {
				return api.Chain(ctx)
			}, func(w io.Writer, overview sortie.ChainOverview) { showChain(w, client, overview) })
		},
	}
}

func showChain(w io.Writer, client *clientOptions, overview sortie.ChainOverview) {
	fmt.Fprintf(w, "%s\n\n", chainSummary(client, overview))
	table := newTable(w)
	if position := overview.Position; position == nil {
		row(table, "followed", "no block yet")
	} else {
		row(table, "followed", fmt.Sprintf("to block %d of %d, which is %s old; final up to %d", position.Tip, position.Head, formatAge(position.TipTime), position.Final))
	}
	if follower := overview.Follower; follower != nil {
		row(table, "node", fmt.Sprintf("%s, %s", follower.Node, formatCount(follower.Reorgs, "reorganization")))
		for _, alarm := range follower.Alarms {
			row(table, "alarm", fmt.Sprintf("%s: %s (%d times in %s)", alarm.Kind, alarm.Detail, alarm.Count, formatAge(alarm.Since)))
		}
	} else {
		row(table, "node", "another process follows the chain")
	}
	for _, factory := range overview.Factories {
		row(table, "factory", factory.String())
	}
	row(table, "to send", formatBacklog(overview.Sender))
	row(table, "payouts", formatHalt(overview.PayoutHalt))
	if sending := overview.Sending; sending != nil {
		row(table, "sender", formatBalance(sending))
		for _, alarm := range sending.Alarms {
			row(table, "alarm", clean(alarm.Kind+": "+alarm.Detail))
		}
	}
	for _, warning := range overview.Warnings {
		row(table, "warning", clean(warning))
	}
	row(table, "reconciled", formatReconcile(overview.LastReconcile))
	_ = table.Flush()
	for _, incident := range overview.Incidents {
		fmt.Fprintf(w, "\nIncident %s, %s ago: %s", incident.ID, formatAge(incident.OpenedAt), clean(incident.Kind))
		if incident.Halting {
			fmt.Fprint(w, ", HALTING")
		}
		fmt.Fprintf(w, "\n  %s\n  When it is resolved: %s --reason \"...\"\n", clean(incident.Detail), client.suggest("chain clear %s", incident.ID))
	}
}

// chainSummary returns the most important fact about the chain.
func chainSummary(client *clientOptions, overview sortie.ChainOverview) string {
	switch {
	case overview.Halted:
		return "HALTED: nothing is published, paid or refunded until you clear the incident below."
	case overview.PayoutHalt != nil:
		return fmt.Sprintf("PAYOUTS ARE HALTED by %s for %s: %s\nNext: %s --reason \"...\"", clean(overview.PayoutHalt.By), formatAge(overview.PayoutHalt.Since),
			clean(overview.PayoutHalt.Reason), client.suggest("payouts resume"))
	case len(overview.Incidents) > 0:
		return fmt.Sprintf("Chain %d is followed; an incident needs your attention.", overview.ChainID)
	case overview.Follower != nil && len(overview.Follower.Alarms) > 0:
		return fmt.Sprintf("Chain %d: there are alarms about the nodes.", overview.ChainID)
	case overview.Sending != nil && len(overview.Sending.Alarms) > 0:
		return fmt.Sprintf("Chain %d is followed; the sender needs your attention.", overview.ChainID)
	case len(overview.Warnings) > 0:
		return fmt.Sprintf("Chain %d is followed; the configuration needs your attention.", overview.ChainID)
	default:
		return fmt.Sprintf("Chain %d is followed, and there are no alarms.", overview.ChainID)
	}
}

// formatBalance returns the balance of the sender and how long it lasts.
func formatBalance(sending *sortie.SenderStatus) string {
	text := sending.Account.String()
	if sending.BalanceWei == nil {
		return text
	}
	if balance, valid := new(big.Int).SetString(*sending.BalanceWei, 10); valid {
		text += " has " + sortie.FormatUnits(balance, EtherDecimals) + " of the chain's coin"
	}
	if sending.DaysLeft == nil {
		return text + "; how long it lasts is unknown"
	}
	return text + fmt.Sprintf(", enough for about %.1f days at the current rate", *sending.DaysLeft)
}

func formatBacklog(backlog sortie.SenderBacklog) string {
	if backlog.OldestAt == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d queued, %d sent and not mined, the oldest for %s", backlog.Queued, backlog.Sent, formatAge(*backlog.OldestAt))
}

func formatReconcile(report *sortie.ReconcileReport) string {
	if report == nil {
		return "not yet"
	}
	text := fmt.Sprintf("%s ago: %s compared, %d repaired", formatAge(report.FinishedAt), formatCount(report.Checked, "mission"), report.Repaired)
	if len(report.Alarms) > 0 {
		text += ", " + formatCount(len(report.Alarms), "alarm")
	}
	return text
}

type reconcileOptions struct {
	wait    bool
	timeout time.Duration
}

func newChainReconcileCmd(client *clientOptions) *cobra.Command {
	var options reconcileOptions
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare the contract with the database over all open missions, and repair differences",
		Long: `Asks the service to compare the contract's state with its database over all open missions now. Differences are repaired, or
open an incident. With --wait it waits for the result, and the exit code is 7 if a difference could not be repaired.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runReconcile(cmd, client, options) },
	}
	cmd.Flags().BoolVar(&options.wait, "wait", false, "wait for the result")
	cmd.Flags().DurationVar(&options.timeout, "timeout", 5*time.Minute, "how long to wait")
	return cmd
}

func runReconcile(cmd *cobra.Command, client *clientOptions, options reconcileOptions) error {
	api, err := client.open(cmd.Context())
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
	if !options.wait {
		return show(cmd, sortie.ReconcileRequested{OK: true}, func(w io.Writer) {
			fmt.Fprintf(w, "The comparison is queued. Next: %s\n", client.suggest("chain status"))
		})
	}
	report, err := awaitReconcile(cmd, client, api, before.LastReconcile, options.timeout)
	if err != nil {
		return err
	}
	return showReport(cmd, report)
}

// awaitReconcile waits for a report other than before. It does not depend on the clock.
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

var errReconcileLate = errors.New("the comparison has not ended yet; chain status shows its result later. Check that a process with the roles worker and chain runs")

func showReport(cmd *cobra.Command, report sortie.ReconcileReport) error {
	err := show(cmd, report, func(w io.Writer) {
		fmt.Fprintf(w, "Compared %s, repaired %d.\n", formatCount(report.Checked, "mission"), report.Repaired)
		for _, alarm := range report.Alarms {
			fmt.Fprintf(w, "  - %s\n", clean(alarm))
		}
	})
	if err == nil && len(report.Alarms) > 0 {
		err = Failed(ExitChain, fmt.Errorf("%s could not be repaired; see chain status", formatCount(len(report.Alarms), "difference")))
	}
	return err
}

func newChainClearCmd(client *clientOptions) *cobra.Command {
	var reason reasonFlag
	cmd := &cobra.Command{
		Use:   "clear INCIDENT --reason TEXT",
		Short: "Clear an incident that is resolved; the work that it halted continues",
		Args:  oneArg("the incident's id; chain status lists the open ones"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := reason.check(); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.IncidentCleared, error) {
				return api.ClearIncident(ctx, args[0], reason.text)
			}, func(w io.Writer, cleared sortie.IncidentCleared) {
				end := "Nothing is halted."
				if cleared.Halted {
					end = "Another incident still halts the service: see chain status."
				}
				fmt.Fprintf(w, "Cleared %s. %s\n", cleared.ID, end)
			})
		},
	}
	reason.register(cmd.Flags(), "what you checked, and why it may continue")
	return cmd
}
