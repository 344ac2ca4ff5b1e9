package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newPayoutsCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	group := &cobra.Command{
		Use:   "payouts",
		Short: "List, retry, halt and resume payouts as an operator",
	}
	client.register(group)
	group.AddCommand(newPayoutsListCmd(client), newPayoutsShowCmd(client), newPayoutsRetryCmd(client), newPayoutsHaltCmd(client), newPayoutsResumeCmd(client))
	RequireSubcommand(group)
	return group
}

type payoutsOptions struct {
	status, mission, recipient string
	limit                      limitFlag
}

func newPayoutsListCmd(client *clientOptions) *cobra.Command {
	var options payoutsOptions
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List payouts, newest first",
		Example: `  sortie payouts list --status failed --wallet operator`,
		Args:    NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, err := options.query()
			if err != nil {
				return err
			}
			return list(cmd, client, options.limit, func(ctx context.Context, api *sortie.Client) iter.Seq2[sortie.ListedPayout, error] {
				return api.AllPayouts(ctx, query)
			}, func(w io.Writer, payouts []sortie.ListedPayout) { showPayouts(w, client, payouts) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.status, "status", "", "list only payouts in this status: "+joinOr(sortie.PayoutStatuses()))
	flags.StringVar(&options.mission, "mission", "", "list only payouts of this mission, by its mission id or draft id")
	flags.StringVar(&options.recipient, "recipient", "", "list only payouts to this address")
	options.limit.register(flags, 50)
	return cmd
}

func (o payoutsOptions) query() (sortie.PayoutQuery, error) {
	query := sortie.PayoutQuery{Status: sortie.PayoutStatus(o.status), MissionID: o.mission, Recipient: o.recipient, Limit: o.limit.page()}
	if o.status != "" && !slices.Contains(sortie.PayoutStatuses(), query.Status) {
		return query, UsageError("--status %q: want one of %v", o.status, sortie.PayoutStatuses())
	}
	if o.recipient != "" {
		if _, err := sortie.ParseAddress(o.recipient); err != nil {
			return query, UsageError("--recipient: %w", err)
		}
	}
	return query, nil
}

// joinOr returns values as "a, b or c".
func joinOr[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

func showPayouts(w io.Writer, client *clientOptions, payouts []sortie.ListedPayout) {
	if len(payouts) == 0 {
		fmt.Fprintln(w, "There are no such payouts.")
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  SUBMISSION\tSTATUS\tAGE\tAMOUNT\tRECIPIENT\tMISSION")
	for _, payout := range payouts {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", payout.SubmissionID, payout.Status, formatAge(payout.QueuedAt), formatAmount(payout.AmountBaseUnits, payout.Token),
			payout.Recipient, clean(payout.MissionID))
	}
	_ = table.Flush()
	fmt.Fprintf(w, "\nNext: %s\n", client.suggest("payouts show %s", payouts[0].SubmissionID))
}

func newPayoutsShowCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "show SUBMISSION",
		Short: "Show a payout, what it waits for, and the transactions signed for it",
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.PayoutDetail, error) {
				return api.Payout(ctx, args[0])
			}, func(w io.Writer, detail sortie.PayoutDetail) { showPayout(w, client, detail) })
		},
	}
}

func showPayout(w io.Writer, client *clientOptions, detail sortie.PayoutDetail) {
	payout := detail.Payout
	table := newTable(w)
	row(table, "submission", payout.SubmissionID)
	row(table, "mission", fmt.Sprintf("%s (%s), slot %d", payout.MissionID, payout.DraftID, payout.Slot))
	row(table, "pays", fmt.Sprintf("%s to %s", formatAmount(payout.AmountBaseUnits, payout.Token), payout.Recipient))
	row(table, "status", string(payout.Status))
	row(table, "queued", formatAge(payout.QueuedAt)+" ago")
	if payout.TransactionHash != nil {
		row(table, "transaction", payout.TransactionHash.String())
	}
	if payout.BlockNumber != nil {
		row(table, "block", fmt.Sprint(*payout.BlockNumber))
	}
	if payout.Problem != "" {
		row(table, "problem", payout.Problem)
	}
	if settlement := detail.Settlement; settlement != nil {
		showSettlement(table, *settlement)
	}
	_ = table.Flush()
	if len(detail.WaitsFor) > 0 {
		fmt.Fprintln(w, "\nWhat it waits for:")
		for _, wait := range detail.WaitsFor {
			fmt.Fprintf(w, "  - %s (%s)\n", clean(wait.Message), clean(string(wait.Code)))
		}
	}
	if payout.Status == sortie.PayoutFailed {
		fmt.Fprintf(w, "\nNext: %s --reason \"...\"\n", client.suggest("payouts retry %s", payout.SubmissionID))
	}
}

func showSettlement(table io.Writer, settlement sortie.PayoutSettlement) {
	state := settlement.IntentStatus
	if settlement.Ended {
		state += ", ended"
	}
	fmt.Fprintf(table, "  settlement\t%d, with %s, made %s ago: %s\n", settlement.ID, formatCount(settlement.Size, "payout"), formatAge(settlement.CreatedAt), clean(state))
	if settlement.Problem != "" {
		fmt.Fprintf(table, "  its problem\t%s\n", clean(settlement.Problem))
	}
	for _, attempt := range settlement.Attempts {
		fmt.Fprintf(table, "  signed\t%s, nonce %d, at most %s wei per unit of gas, %s ago\n", attempt.TransactionHash, attempt.Nonce, clean(attempt.MaxFeePerGas), formatAge(attempt.SentAt))
	}
}

func newPayoutsRetryCmd(client *clientOptions) *cobra.Command {
	var reason reasonFlag
	cmd := &cobra.Command{
		Use:   "retry SUBMISSION --reason TEXT",
		Short: "Queue a failed payout again",
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := reason.check(); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.PayoutDetail, error) {
				return api.RetryPayout(ctx, args[0], reason.text)
			}, func(w io.Writer, detail sortie.PayoutDetail) {
				fmt.Fprintf(w, "The payout of %s is queued again. Clear its incident too: %s\nNext: %s\n", detail.Payout.SubmissionID,
					client.suggest("chain status"), client.suggest("payouts show %s", detail.Payout.SubmissionID))
			})
		},
	}
	reason.register(cmd.Flags(), "what you found, and why it may be sent again")
	return cmd
}

func newPayoutsHaltCmd(client *clientOptions) *cobra.Command {
	var reason reasonFlag
	cmd := &cobra.Command{
		Use:   "halt --reason TEXT",
		Short: "Stop new payouts and closes of published missions, in all processes",
		Long: `Stops new settlements and closes of published missions until payouts resume, in all processes within a second or two.
Transactions that are already sent are followed to their end, and refunds of rejected missions continue. Unlike an incident, a halt
does not make /healthz fail.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := reason.check(); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.PayoutsHalted, error) {
				return api.HaltPayouts(ctx, reason.text)
			}, func(w io.Writer, halted sortie.PayoutsHalted) {
				fmt.Fprintf(w, "%s\nNext: %s --reason \"...\"\n", formatHalt(halted.Halt), client.suggest("payouts resume"))
			})
		},
	}
	reason.register(cmd.Flags(), "why, for other operators")
	return cmd
}

func newPayoutsResumeCmd(client *clientOptions) *cobra.Command {
	var reason reasonFlag
	cmd := &cobra.Command{
		Use:   "resume --reason TEXT",
		Short: "End a halt of payouts",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := reason.check(); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.PayoutsHalted, error) {
				return api.ResumePayouts(ctx, reason.text)
			}, func(w io.Writer, _ sortie.PayoutsHalted) {
				fmt.Fprintf(w, "No halt by an operator is in force. Payouts continue, unless an incident stops them: %s\n", client.suggest("chain status"))
			})
		},
	}
	reason.register(cmd.Flags(), "what you checked, and why payouts may continue")
	return cmd
}

func formatHalt(halt *sortie.PayoutHalt) string {
	if halt == nil {
		return "not halted by an operator"
	}
	return fmt.Sprintf("halted by %s for %s: %s", clean(halt.By), formatAge(halt.Since), clean(halt.Reason))
}
