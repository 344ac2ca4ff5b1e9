package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newSubmissionsCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	group := &cobra.Command{
		Use:   "submissions",
		Short: "Decide submissions as an operator; list and withdraw your own as a contributor",
	}
	client.register(group)
	group.AddCommand(
		newSubmissionsListCmd(client), newSubmissionsShowCmd(client), newSubmissionsRotateCmd(client),
		newSubmissionsDecideCmd(client, decision{
			name: "accept", short: "Accept a flagged submission; its receipt is signed when the acceptance is final", done: "Accepted", decide: (*sortie.Client).AcceptSubmission,
		}),
		newSubmissionsDecideCmd(client, decision{
			name: "reject", short: "Reject a submission, or revoke an acceptance that is not final", done: "Rejected", needsReason: true, decide: (*sortie.Client).RejectSubmission,
		}),
		newSubmissionsDecideCmd(client, decision{
			name: "flag", short: "Flag a submission for an operator's decision, also an accepted one that is not final", done: "Flagged", needsReason: true, decide: (*sortie.Client).FlagSubmission,
		}),
		newSubmissionsMineCmd(client), newSubmissionsWithdrawCmd(client), newSubmissionsReceiptCmd(client),
	)
	RequireSubcommand(group)
	return group
}

type submissionsOptions struct {
	status, mission string
	limit           limitFlag
}

func newSubmissionsListCmd(client *clientOptions) *cobra.Command {
	var options submissionsOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List flagged submissions, oldest first; --status lists others",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := sortie.QueueQuery{Status: sortie.SubmissionStatus(options.status), MissionID: options.mission, Limit: options.limit.page()}
			if !slices.Contains(submissionStatuses, query.Status) {
				return UsageError("--status %q: want one of %v", options.status, submissionStatuses)
			}
			return list(cmd, client, options.limit, func(ctx context.Context, api *sortie.Client) iter.Seq2[sortie.ReviewedSubmission, error] {
				return api.AllSubmissions(ctx, query)
			}, func(w io.Writer, submissions []sortie.ReviewedSubmission) {
				showSubmissions(w, client, query.Status, submissions)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.status, "status", string(sortie.SubmissionFlagged), "list submissions in this status")
	flags.StringVar(&options.mission, "mission", "", "list only submissions of this mission, by its mission id")
	options.limit.register(flags, 100)
	return cmd
}

var submissionStatuses = []sortie.SubmissionStatus{
	sortie.SubmissionPending, sortie.SubmissionFlagged, sortie.SubmissionAccepted, sortie.SubmissionCurationAccepted, sortie.SubmissionRejected, sortie.SubmissionWithdrawn,
}

func showSubmissions(w io.Writer, client *clientOptions, status sortie.SubmissionStatus, submissions []sortie.ReviewedSubmission) {
	if len(submissions) == 0 {
		if status == sortie.SubmissionFlagged {
			fmt.Fprintln(w, "Nothing waits for a decision.")
			return
		}
		fmt.Fprintf(w, "No submission is %s.\n", status)
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  SUBMISSION\tAGE\tSCORE\tMISSION\tWHY")
	for _, submission := range submissions {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", submission.SubmissionID, formatAge(submission.CreatedAt), formatScore(submission.Score), clean(submission.Title), clean(submission.Reason))
	}
	_ = table.Flush()
	fmt.Fprintf(w, "\nNext: %s\n", client.suggest("submissions show %s", submissions[0].SubmissionID))
}

func formatScore(score *int) string {
	if score == nil {
		return "-"
	}
	return fmt.Sprintf("%d", *score)
}

func newSubmissionsShowCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a submission with everything that a decision needs",
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.ReviewedSubmission, error) {
				return api.Submission(ctx, args[0])
			}, func(w io.Writer, submission sortie.ReviewedSubmission) { showSubmission(w, client, submission) })
		},
	}
}

func showSubmission(w io.Writer, client *clientOptions, submission sortie.ReviewedSubmission) {
	table := newTable(w)
	row(table, "submission", submission.SubmissionID)
	row(table, "mission", fmt.Sprintf("%s, %q", submission.MissionID, submission.Title))
	row(table, "by", fmt.Sprintf("%s, %s ago", submission.Contributor, formatAge(submission.CreatedAt)))
	row(table, "taken", fmt.Sprintf("%s at %s, %s, within %s m", submission.CapturedAt, submission.Location.Lat, submission.Location.Lng, submission.Location.AccuracyMeters))
	if submission.Media != nil {
		row(table, "media", formatMedia(*submission.Media))
		row(table, "hash", submission.Media.Hash)
	}
	showVerdict(table, submission.Submission)
	if submission.DuplicateOf != nil {
		row(table, "looks like", *submission.DuplicateOf)
	}
	if submission.DecidedBy != "" {
		row(table, "decided by", submission.DecidedBy+" under "+submission.Policy)
	}
	if submission.EndorsedBy != nil {
		row(table, "endorsed by", *submission.EndorsedBy+", who is above the hourly limit; a second operator must accept it too")
	}
	if submission.FinalAt != nil {
		row(table, "final", *submission.FinalAt)
	}
	_ = table.Flush()
	showReceipt(w, submission.Receipt)
	showChecks(w, submission.Checks)
	if submission.MediaURL != nil {
		expires := ""
		if submission.MediaURLExpiresAt != nil {
			expires = *submission.MediaURLExpiresAt
		}
		fmt.Fprintf(w, "\nIts media, until %s:\n  %s\n", clean(expires), clean(*submission.MediaURL))
	}
	if submission.Status == sortie.SubmissionFlagged {
		fmt.Fprintf(w, "\nNext: %s\n  or: %s --reason \"...\"\n", client.suggest("submissions accept %s", submission.SubmissionID),
			client.suggest("submissions reject %s", submission.SubmissionID))
	}
}

func formatMedia(media sortie.Media) string {
	text := media.ContentType
	if media.DurationMs != nil {
		text += fmt.Sprintf(", %.1f s", float64(*media.DurationMs)/1000)
	}
	return text
}

// showVerdict shows the status of a submission with its reason and score.
func showVerdict(table *tabwriter.Writer, submission sortie.Submission) {
	row(table, "status", string(submission.Status))
	if submission.Reason != "" {
		row(table, "why", submission.Reason)
	}
	if submission.Score != nil {
		row(table, "score", fmt.Sprintf("%d of 100", *submission.Score))
	}
}

// showChecks shows all checks, failed ones first.
func showChecks(w io.Writer, checks []sortie.SubmissionCheck) {
	if len(checks) == 0 {
		return
	}
	fmt.Fprintln(w, "\nChecks:")
	table := newTable(w)
	for _, passed := range []bool{false, true} {
		mark := map[bool]string{false: "NO", true: "ok"}[passed]
		for _, check := range checks {
			if check.Passed == passed {
				fmt.Fprintf(table, "  %s\t%s\t%s\n", mark, clean(check.Name), clean(check.Reason))
			}
		}
	}
	_ = table.Flush()
}

// decision is a command by which an operator decides a submission.
type decision struct {
	name, short, done string
	needsReason       bool
	decide            func(*sortie.Client, context.Context, string, string) (sortie.ReviewedSubmission, error)
}

func newSubmissionsDecideCmd(client *clientOptions, decision decision) *cobra.Command {
	var reason reasonFlag
	cmd := &cobra.Command{
		Use:   decision.name + " ID",
		Short: decision.short,
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := reason.check(); decision.needsReason && err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.ReviewedSubmission, error) {
				return decision.decide(api, ctx, args[0], reason.text)
			}, func(w io.Writer, submission sortie.ReviewedSubmission) {
				fmt.Fprintf(w, "%s %s, of %q. %s\n", decision.done, submission.SubmissionID, clean(submission.Title), formatNextStep(submission))
			})
		},
	}
	if decision.needsReason {
		cmd.Use += " --reason TEXT"
		reason.register(cmd.Flags(), "why; the contributor sees it")
	} else {
		cmd.Flags().StringVar(&reason.text, "reason", "", "a remark; the contributor and the mission's creator see it")
	}
	return cmd
}

// formatNextStep returns what follows the decision.
func formatNextStep(submission sortie.ReviewedSubmission) string {
	switch submission.Status {
	case sortie.SubmissionAccepted, sortie.SubmissionCurationAccepted:
		const pays = "its receipt is signed, and the contract pays it."
		if submission.FinalAt == nil {
			return "When the acceptance is final, " + pays
		}
		if final, err := time.Parse(time.RFC3339, *submission.FinalAt); err == nil && !final.After(time.Now()) {
			return "The acceptance is final; " + pays
		}
		return "It can be revoked until " + clean(*submission.FinalAt) + "; then " + pays
	case sortie.SubmissionFlagged:
		return "It waits for an operator. Only operators and its contributor see it."
	default:
		return "Its slot is free again, and its media links no longer work."
	}
}
