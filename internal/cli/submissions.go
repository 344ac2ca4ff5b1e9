package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newSubmissionsMineCmd(client *clientOptions) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "mine [ID]",
		Short: "List what you submitted, newest first, or show one of them",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return UsageError("%s takes one submission id or none", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return UsageError("--limit %d: want a positive number, or 0 for all", limit)
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				submission, err := api.MySubmission(cmd.Context(), args[0])
				if err != nil {
					return client.requestError(err)
				}
				return show(cmd, submission, func(w io.Writer) { showMySubmission(w, client, submission) })
			}
			submissions, more, err := firstOf(api.AllMySubmissions(cmd.Context(), sortie.PageQuery{Limit: min(limit, 100)}), limit)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, submissions, func(w io.Writer) {
				showMySubmissions(w, submissions)
				sayMore(w, more)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many; 0 for all")
	return cmd
}

func newSubmissionsWithdrawCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "withdraw ID",
		Short: "Take back what you submitted, before it is accepted",
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			submission, err := api.Withdraw(cmd.Context(), args[0])
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, submission, func(w io.Writer) {
				fmt.Fprintf(w, "Withdrew %s. Its place is free for others.\n", submission.SubmissionID)
			})
		},
	}
}

func showMySubmissions(w io.Writer, submissions []sortie.Submission) {
	if len(submissions) == 0 {
		fmt.Fprintf(w, "You have not submitted anything yet. What is asked for: %s missions\n", program())
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  SUBMISSION\tAGE\tSTATUS\tPAYOUT\tMISSION\tWHY")
	for _, submission := range submissions {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", submission.SubmissionID, ago(submission.CreatedAt), submission.Status, submission.Payout.Status,
			clean(submission.MissionID), clean(submission.Reason))
	}
	_ = table.Flush()
}

// showMySubmission shows a contributor where a submission stands.
func showMySubmission(w io.Writer, client *clientOptions, submission sortie.Submission) {
	table := newTable(w)
	row(table, "submission", submission.SubmissionID)
	row(table, "mission", submission.MissionID)
	showVerdict(table, submission)
	if len(submission.Checks) > 0 {
		row(table, "checks", checksInWords(submission.Checks))
	}
	row(table, "payout", payoutInWords(submission))
	if submission.Payout.Reason != "" {
		row(table, "", submission.Payout.Reason)
	}
	if submission.Receipt != nil {
		row(table, "receipt", fmt.Sprintf("%s submissions receipt %s%s", program(), submission.SubmissionID, client.identityFlags()))
	}
	_ = table.Flush()
	showReceipt(w, submission.Receipt)
	if submission.Status == sortie.SubmissionPending || submission.Status == sortie.SubmissionFlagged {
		fmt.Fprintf(w, "\nNext: %s submissions mine %s%s\n", program(), submission.SubmissionID, client.identityFlags())
	}
}

// showReceipt shows who signed a receipt and what it depends on.
func showReceipt(w io.Writer, receipt *sortie.Receipt) {
	if receipt == nil {
		return
	}
	fmt.Fprint(w, "\nReceipt")
	if receipt.Signer != nil {
		fmt.Fprintf(w, ", signed by settler %s", receipt.Signer)
	}
	fmt.Fprintln(w, ". What it depends on:")
	table := newTable(w)
	for _, condition := range receipt.DependsOn {
		row(table, clean(string(condition.Code)), condition.Message)
	}
	_ = table.Flush()
}

// checksInWords counts the checks and names those that failed; their reasons are in the
// submission's.
func checksInWords(checks []sortie.SubmissionCheck) string {
	var failed []string
	for _, check := range checks {
		if !check.Passed {
			failed = append(failed, check.Name)
		}
	}
	if len(failed) == 0 {
		return fmt.Sprintf("%d of %d passed", len(checks), len(checks))
	}
	return fmt.Sprintf("%d of %d passed, not %s", len(checks)-len(failed), len(checks), strings.Join(failed, ", "))
}

func payoutInWords(submission sortie.Submission) string {
	words := map[sortie.PayoutStatus]string{
		sortie.PayoutQueued: "queued: the acceptance is final", sortie.PayoutSent: "sent", sortie.PayoutPaid: "paid",
		sortie.PayoutDeferred: "deferred",
		sortie.PayoutFailed:   "set aside",
	}[submission.Payout.Status]
	switch {
	case words == "" && (submission.Status == sortie.SubmissionAccepted || submission.Status == sortie.SubmissionCurationAccepted):
		words = "none yet: the acceptance is not final"
	case words == "":
		words = string(submission.Payout.Status)
	}
	if submission.Payout.TransactionHash != nil {
		words += ", " + submission.Payout.TransactionHash.String()
	}
	return words
}
