package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newPayoutsCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	group := &cobra.Command{
		Use:   "payouts",
		Short: "See what payouts wait for, retry, halt and resume them, as an operator",
	}
	client.register(group)
	group.AddCommand(newPayoutsListCmd(client), newPayoutsShowCmd(client), newPayoutsRetryCmd(client), newPayoutsHaltCmd(client), newPayoutsResumeCmd(client))
	RequireSubcommand(group)
	return group
}

var payoutStatuses = []sortie.PayoutStatus{sortie.PayoutQueued, sortie.PayoutSent, sortie.PayoutPaid, sortie.PayoutDeferred, sortie.PayoutFailed}

func newPayoutsListCmd(client *clientOptions) *cobra.Command {
	var status, mission, recipient string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List payouts, newest first",
		Example: `  sortie payouts list --status failed --wallet operator`,
		Args:    NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := sortie.PayoutQuery{Status: sortie.PayoutStatus(status), MissionID: mission, Recipient: recipient, Limit: min(limit, 100)}
			if status != "" && !slices.Contains(payoutStatuses, query.Status) {
				return UsageError("--status %q: want one of %v", status, payoutStatuses)
			}
			if recipient != "" {
				if _, err := sortie.ParseAddress(recipient); err != nil {
					return UsageError("--recipient: %w", err)
				}
			}
			if limit < 0 {
				return UsageError("--limit %d: want a positive number, or 0 for all", limit)
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			payouts, more, err := firstOf(api.AllPayouts(cmd.Context(), query), limit)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, payouts, func(w io.Writer) {
				showPayouts(w, client, payouts)
				sayMore(w, more)
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only those in this status: queued, sent, paid, deferred or failed")
	cmd.Flags().StringVar(&mission, "mission", "", "only those of this mission, by its mission id or draft id")
	cmd.Flags().StringVar(&recipient, "recipient", "", "only those to this address")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many; 0 for all")
	return cmd
}

func showPayouts(w io.Writer, client *clientOptions, payouts []sortie.ListedPayout) {
	if len(payouts) == 0 {
		fmt.Fprintln(w, "There are no such payouts.")
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  SUBMISSION\tSTATUS\tAGE\tAMOUNT\tRECIPIENT\tMISSION")
	for _, payout := range payouts {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", payout.SubmissionID, payout.Status, ago(payout.QueuedAt), amountInWords(payout.AmountBaseUnits, payout.Token),
			payout.Recipient, clean(payout.MissionID))
	}
	_ = table.Flush()
	fmt.Fprintf(w, "\nNext: %s payouts show %s%s\n", program(), payouts[0].SubmissionID, client.identityFlags())
}

func newPayoutsShowCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "show SUBMISSION",
		Short: "Show a payout: what it waits for, and the transactions that were signed for it",
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			detail, err := api.Payout(cmd.Context(), args[0])
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, detail, func(w io.Writer) { showPayout(w, client, detail) })
		},
	}
}

func showPayout(w io.Writer, client *clientOptions, detail sortie.PayoutDetail) {
	payout := detail.Payout
	table := newTable(w)
	row(table, "submission", payout.SubmissionID)
	row(table, "mission", fmt.Sprintf("%s (%s), slot %d", payout.MissionID, payout.DraftID, payout.Slot))
	row(table, "pays", fmt.Sprintf("%s to %s", amountInWords(payout.AmountBaseUnits, payout.Token), payout.Recipient))
	row(table, "status", string(payout.Status))
	row(table, "queued", ago(payout.QueuedAt)+" ago")
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
		fmt.Fprintf(w, "\nNext: %s payouts retry %s%s --reason \"...\"\n", program(), payout.SubmissionID, client.identityFlags())
	}
}

func showSettlement(table io.Writer, settlement sortie.PayoutSettlement) {
	state := settlement.IntentStatus
	if settlement.Ended {
		state += ", ended"
	}
	fmt.Fprintf(table, "  settlement\t%d, with %s, made %s ago: %s\n", settlement.ID, counted(settlement.Size, "payout"), ago(settlement.CreatedAt), clean(state))
	if settlement.Problem != "" {
		fmt.Fprintf(table, "  its problem\t%s\n", clean(settlement.Problem))
	}
	for _, attempt := range settlement.Attempts {
		fmt.Fprintf(table, "  signed\t%s, nonce %d, at most %s wei a unit of gas, %s ago\n", attempt.TransactionHash, attempt.Nonce, clean(attempt.MaxFeePerGas), ago(attempt.SentAt))
	}
}

func newPayoutsRetryCmd(client *clientOptions) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "retry SUBMISSION --reason TEXT",
		Short: "Let a payout that was set aside be sent again",
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return UsageError("--reason is missing: say what you found, and why it may be sent again")
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			detail, err := api.RetryPayout(cmd.Context(), args[0], reason)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, detail, func(w io.Writer) {
				fmt.Fprintf(w, "The payout of %s is queued again. Clear its incident, too: %s chain status%s\nNext: %s payouts show %s%s\n", detail.Payout.SubmissionID,
					program(), client.identityFlags(), program(), detail.Payout.SubmissionID, client.identityFlags())
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "what you found, and why it may be sent again (required)")
	return cmd
}

func newPayoutsHaltCmd(client *clientOptions) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "halt --reason TEXT",
		Short: "Stop new payouts and closings of published missions, in all processes",
		Long: `Stops new settlements and closings of published missions, in all processes within a second or two, until payouts resume.
What is sent already is followed to its end. Refunds of rejected missions continue. Unlike an incident it does not make /healthz fail.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(reason) == "" {
				return UsageError("--reason is missing: say why, for those who find payouts halted")
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			halted, err := api.HaltPayouts(cmd.Context(), reason)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, halted, func(w io.Writer) {
				fmt.Fprintf(w, "%s\nNext: %s payouts resume%s --reason \"...\"\n", haltInWords(halted.Halt), program(), client.identityFlags())
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why (required)")
	return cmd
}

func newPayoutsResumeCmd(client *clientOptions) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "resume --reason TEXT",
		Short: "End a halt of payouts",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(reason) == "" {
				return UsageError("--reason is missing: say what you looked at, and why payouts may continue")
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			resumed, err := api.ResumePayouts(cmd.Context(), reason)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, resumed, func(w io.Writer) {
				fmt.Fprintf(w, "No halt by an operator is in force: payouts continue, unless an incident stops them: %s chain status%s\n", program(), client.identityFlags())
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "what you looked at, and why payouts may continue (required)")
	return cmd
}

func haltInWords(halt *sortie.PayoutHalt) string {
	if halt == nil {
		return "not halted by an operator"
	}
	return fmt.Sprintf("halted by %s for %s: %s", clean(halt.By), ago(halt.Since), clean(halt.Reason))
}

func newMissionCloseCmd(client *clientOptions) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "close ID --reason TEXT",
		Short: "End a published mission early at its creator's request, as an operator",
		Long: `Ends a published mission now: it takes no more submissions. Those that are in are still decided and what is accepted is paid;
then the service closes the mission and the rest of its money goes back to the creator. Run it again to see what it still waits for.`,
		Example: `  sortie mission close draft_... --wallet operator --reason "The creator asked for it."`,
		Args:    oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return UsageError("--reason is missing: say why; the creator is shown it")
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			closed, err := api.CloseMission(cmd.Context(), args[0], reason)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, closed, func(w io.Writer) { showClose(w, client, closed) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; the creator is shown it (required)")
	return cmd
}

func showClose(w io.Writer, client *clientOptions, closed sortie.MissionClose) {
	fmt.Fprintf(w, "Mission %s ended at %s. %d accepted, %d of them not paid yet, %s not decided.\n", clean(closed.MissionID), clean(closed.EndsAt),
		closed.Accepted, closed.Unpaid, counted(closed.Undecided, "submission"))
	switch {
	case closed.Undecided > 0:
		fmt.Fprintf(w, "\nNext: %s submissions list --mission %s%s\n", program(), clean(closed.MissionID), client.identityFlags())
	case closed.Unpaid > 0:
		fmt.Fprintf(w, "\nNext: %s payouts list --mission %s%s\n", program(), clean(closed.MissionID), client.identityFlags())
	case closed.Closing:
		fmt.Fprintln(w, "The service closes it on the chain; the rest of its money goes back to the creator.")
	default:
		fmt.Fprintln(w, "Nothing is open: the service closes it now, and the rest of its money goes back to the creator.")
	}
}
