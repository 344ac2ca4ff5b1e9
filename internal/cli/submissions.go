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

func newSubmissionsMineCmd(client *clientOptions) *cobra.Command {
	var limit limitFlag
	cmd := &cobra.Command{
		Use:   "mine [ID]",
		Short: "List your submissions, newest first, or show one of them",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return UsageError("%s takes one submission id or none", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.Submission, error) {
					return api.MySubmission(ctx, args[0])
				}, func(w io.Writer, submission sortie.Submission) {
					showMySubmission(w, client, submission)
					showReceipt(w, submission.Receipt)
					showNextOfSubmission(w, client, submission)
				})
			}
			return list(cmd, client, limit, func(ctx context.Context, api *sortie.Client) iter.Seq2[sortie.Submission, error] {
				return api.AllMySubmissions(ctx, sortie.PageQuery{Limit: limit.page()})
			}, func(w io.Writer, submissions []sortie.Submission) { showMySubmissions(w, client, submissions) })
		},
	}
	limit.register(cmd.Flags(), 50)
	return cmd
}

func newSubmissionsWithdrawCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "withdraw ID",
		Short: "Withdraw a submission of yours before it is accepted",
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.Submission, error) {
				return api.Withdraw(ctx, args[0])
			}, func(w io.Writer, submission sortie.Submission) {
				fmt.Fprintf(w, "Withdrew %s. Its slot is free again.\n", submission.SubmissionID)
			})
		},
	}
}

func showMySubmissions(w io.Writer, client *clientOptions, submissions []sortie.Submission) {
	if len(submissions) == 0 {
		fmt.Fprintf(w, "You have no submissions yet. Open missions: %s\n", (&clientOptions{url: client.url}).suggest("missions"))
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  SUBMISSION\tAGE\tSTATUS\tPAYOUT\tMISSION\tWHY")
	for _, submission := range submissions {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", submission.SubmissionID, formatAge(submission.CreatedAt), submission.Status, submission.Payout.Status,
			clean(submission.MissionID), clean(submission.Reason))
	}
	_ = table.Flush()
}

// showMySubmission shows a contributor the state of a submission.
func showMySubmission(w io.Writer, client *clientOptions, submission sortie.Submission) {
	table := newTable(w)
	row(table, "submission", submission.SubmissionID)
	row(table, "mission", submission.MissionID)
	showVerdict(table, submission)
	if len(submission.Checks) > 0 {
		row(table, "checks", formatChecks(submission.Checks))
	}
	row(table, "payout", formatPayout(submission))
	if submission.Payout.Reason != "" {
		row(table, "", submission.Payout.Reason)
	}
	if submission.Receipt != nil {
		row(table, "receipt", client.suggest("submissions receipt %s", submission.SubmissionID))
	}
	_ = table.Flush()
}

// showNextOfSubmission suggests to look again while a decision or a payout is awaited.
func showNextOfSubmission(w io.Writer, client *clientOptions, submission sortie.Submission) {
	waits := false
	switch submission.Status {
	case sortie.SubmissionPending, sortie.SubmissionFlagged:
		waits = true
	case sortie.SubmissionAccepted, sortie.SubmissionCurationAccepted:
		waits = slices.Contains([]sortie.PayoutStatus{sortie.PayoutNone, sortie.PayoutQueued, sortie.PayoutSent}, submission.Payout.Status)
	}
	if waits {
		fmt.Fprintf(w, "\nNext: %s\n", client.suggest("submissions mine %s", submission.SubmissionID))
	}
}

// showReceipt shows the signer and the conditions of a receipt.
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

// formatChecks counts the checks and names the failed ones.
func formatChecks(checks []sortie.SubmissionCheck) string {
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

func formatPayout(submission sortie.Submission) string {
	text := string(submission.Payout.Status)
	switch {
	case submission.Payout.Status == sortie.PayoutQueued:
		text = "queued: the acceptance is final"
	case submission.Payout.Status == sortie.PayoutNone && (submission.Status == sortie.SubmissionAccepted || submission.Status == sortie.SubmissionCurationAccepted):
		text = "none yet: the acceptance is not final"
	}
	if submission.Payout.TransactionHash != nil {
		text += ", " + submission.Payout.TransactionHash.String()
	}
	return text
}
