package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newSubmissionsCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	group := &cobra.Command{
		Use:   "submissions",
		Short: "Decide about submissions as an operator; look after your own as a contributor",
	}
	client.register(group)
	group.AddCommand(
		newSubmissionsListCmd(client), newSubmissionsShowCmd(client), newSubmissionsRotateCmd(client),
		newSubmissionsDecideCmd(client, decision{
			name: "accept", short: "Accept a flagged submission; its receipt is signed when that is final", done: "Accepted", decide: (*sortie.Client).AcceptSubmission,
		}),
		newSubmissionsDecideCmd(client, decision{
			name: "reject", short: "Reject a submission, or take back an acceptance that is not final", done: "Rejected", needsReason: true, decide: (*sortie.Client).RejectSubmission,
		}),
		newSubmissionsDecideCmd(client, decision{
			name: "flag", short: "Put a submission before a person, also an accepted one that is not final", done: "Flagged", needsReason: true, decide: (*sortie.Client).FlagSubmission,
		}),
		newSubmissionsMineCmd(client), newSubmissionsWithdrawCmd(client), newSubmissionsReceiptCmd(client),
	)
	RequireSubcommand(group)
	return group
}

func newSubmissionsListCmd(client *clientOptions) *cobra.Command {
	var status, mission string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List submissions that wait for a person, the longest first; --status lists others",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := sortie.QueueQuery{Status: sortie.SubmissionStatus(status), MissionID: mission, Limit: min(limit, 100)}
			if !slices.Contains(submissionStatuses, query.Status) {
				return UsageError("--status %q: want one of %v", status, submissionStatuses)
			}
			if limit < 0 {
				return UsageError("--limit %d: want a positive number, or 0 for all", limit)
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			submissions, more, err := firstOf(api.AllSubmissions(cmd.Context(), query), limit)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, submissions, func(w io.Writer) {
				showSubmissions(w, client, query.Status, submissions)
				sayMore(w, more)
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", string(sortie.SubmissionFlagged), "those in this status")
	cmd.Flags().StringVar(&mission, "mission", "", "those of this mission, by its mission id")
	cmd.Flags().IntVar(&limit, "limit", 100, "at most this many; 0 for all")
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
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", submission.SubmissionID, ago(submission.CreatedAt), scoreInWords(submission.Score), clean(submission.Title), clean(submission.Reason))
	}
	_ = table.Flush()
	fmt.Fprintf(w, "\nNext: %s submissions show %s%s\n", program(), submissions[0].SubmissionID, client.identityFlags())
}

func scoreInWords(score *int) string {
	if score == nil {
		return "-"
	}
	return fmt.Sprintf("%d", *score)
}

func newSubmissionsShowCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a submission with all that a decision needs",
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			submission, err := api.Submission(cmd.Context(), args[0])
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, submission, func(w io.Writer) { showSubmission(w, client, submission) })
		},
	}
}

func showSubmission(w io.Writer, client *clientOptions, submission sortie.ReviewedSubmission) {
	table := newTable(w)
	row(table, "submission", submission.SubmissionID)
	row(table, "mission", fmt.Sprintf("%s, %q", submission.MissionID, submission.Title))
	row(table, "by", fmt.Sprintf("%s, %s ago", submission.Contributor, ago(submission.CreatedAt)))
	row(table, "taken", fmt.Sprintf("%s at %s, %s, within %s m", submission.CapturedAt, submission.Location.Lat, submission.Location.Lng, submission.Location.AccuracyMeters))
	if submission.Media != nil {
		row(table, "media", mediaInWords(*submission.Media))
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
		row(table, "endorsed by", *submission.EndorsedBy+", who is above the hourly limit; a second operator must accept it, too")
	}
	if submission.FinalAt != nil {
		row(table, "final", *submission.FinalAt)
	}
	_ = table.Flush()
	showReceipt(w, submission.Receipt)
	showChecks(w, submission.Checks)
	if submission.MediaURL != nil {
		fmt.Fprintf(w, "\nLook at it until %s:\n  %s\n", clean(text(submission.MediaURLExpiresAt)), clean(*submission.MediaURL))
	}
	if submission.Status == sortie.SubmissionFlagged {
		fmt.Fprintf(w, "\nNext: %[1]s submissions accept %[2]s%[3]s\n  or: %[1]s submissions reject %[2]s%[3]s --reason \"...\"\n", program(), submission.SubmissionID, client.identityFlags())
	}
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

func mediaInWords(media sortie.Media) string {
	words := media.ContentType
	if media.DurationMs != nil {
		words += fmt.Sprintf(", %.1f s", float64(*media.DurationMs)/1000)
	}
	return words
}

// showVerdict shows what became of a submission so far.
func showVerdict(table *tabwriter.Writer, submission sortie.Submission) {
	row(table, "status", string(submission.Status))
	if submission.Reason != "" {
		row(table, "why", submission.Reason)
	}
	if submission.Score != nil {
		row(table, "score", fmt.Sprintf("%d of 100", *submission.Score))
	}
}

// showChecks shows everything that was looked at, what failed first.
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

// decision is one of the things an operator can decide about a submission.
type decision struct {
	name, short, done string
	needsReason       bool
	decide            func(*sortie.Client, context.Context, string, string) (sortie.ReviewedSubmission, error)
}

func newSubmissionsDecideCmd(client *clientOptions, decision decision) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   decision.name + " ID",
		Short: decision.short,
		Args:  oneArg("the submission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if decision.needsReason && strings.TrimSpace(reason) == "" {
				return UsageError("--reason is missing: say why; the contributor is shown it")
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			submission, err := decision.decide(api, cmd.Context(), args[0], reason)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, submission, func(w io.Writer) {
				fmt.Fprintf(w, "%s %s, of %q. %s\n", decision.done, submission.SubmissionID, clean(submission.Title), outlook(submission))
			})
		},
	}
	usage := "a remark; the contributor and the mission's creator see it"
	if decision.needsReason {
		cmd.Use += " --reason TEXT"
		usage = "why; the contributor is shown it (required)"
	}
	cmd.Flags().StringVar(&reason, "reason", "", usage)
	return cmd
}

// outlook says what comes next for a submission that was just decided about.
func outlook(submission sortie.ReviewedSubmission) string {
	switch submission.Status {
	case sortie.SubmissionAccepted, sortie.SubmissionCurationAccepted:
		const pays = "its receipt is signed, which pays it out through the contract."
		if submission.FinalAt == nil {
			return "When that is final, " + pays
		}
		if final, err := time.Parse(time.RFC3339, *submission.FinalAt); err == nil && !final.After(time.Now()) {
			return "That is final; " + pays
		}
		return "It can be taken back until " + clean(*submission.FinalAt) + "; then " + pays
	case sortie.SubmissionFlagged:
		return "It waits for an operator, and only operators and its contributor see it."
	default:
		return "Its place is free for others, and its media links are dead."
	}
}

func newSubmissionsRotateCmd(client *clientOptions) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "rotate-links --reason TEXT",
		Short: "End every media and upload link that is out, at once",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(reason) == "" {
				return UsageError("--reason is missing: say what happened; it is kept in the log")
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			if err := api.RotateLinkKeys(cmd.Context(), reason); err != nil {
				return client.requestError(err)
			}
			return show(cmd, struct {
				OK bool `json:"ok"`
			}{true}, func(w io.Writer) {
				fmt.Fprintln(w, "No link that was given out works any more. Clients that may see media ask again and get new ones.")
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "what happened; it is kept in the log (required)")
	return cmd
}
