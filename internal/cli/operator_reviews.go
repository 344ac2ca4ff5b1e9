package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newReviewCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	group := &cobra.Command{
		Use:   "review",
		Short: "Decide about funded missions, as an operator",
	}
	client.register(group)
	group.AddCommand(newReviewListCmd(client), newReviewShowCmd(client), newReviewApproveCmd(client), newReviewRejectCmd(client), newReviewLogCmd(client))
	RequireSubcommand(group)
	return group
}

func newReviewListCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the missions that wait for a decision, the longest first",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			reviews := []sortie.Review{}
			for review, err := range api.AllReviews(cmd.Context(), sortie.PageQuery{Limit: 100}) {
				if err != nil {
					return client.requestError(err)
				}
				reviews = append(reviews, review)
			}
			return show(cmd, reviews, func(w io.Writer) { showReviews(w, client, reviews) })
		},
	}
}

func newReviewShowCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a mission with all that a decision needs",
		Args:  oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			review, err := api.Review(cmd.Context(), args[0])
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, review, func(w io.Writer) { showReview(w, client, review) })
		},
	}
}

func newReviewApproveCmd(client *clientOptions) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Approve a funded mission; it is published when its funding is final",
		Args:  oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			review, err := api.Approve(cmd.Context(), args[0], reason)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, review, func(w io.Writer) {
				end := "It is published as soon as its funding is final."
				if review.Published {
					end = "It is published."
				}
				fmt.Fprintf(w, "Approved %s, %q. %s\n", review.DraftID, clean(review.Title), end)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a remark that is kept with the decision")
	return cmd
}

func newReviewRejectCmd(client *clientOptions) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     "reject ID --reason TEXT",
		Short:   "Reject a mission; its money goes back to the creator",
		Example: `  sortie review reject draft_... --wallet operator --reason "The place is private."`,
		Args:    oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return UsageError("--reason is missing: say why; the creator is shown it")
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			review, err := api.Reject(cmd.Context(), args[0], reason)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, review, func(w io.Writer) {
				end := "It was not funded."
				if review.FundingStatus == sortie.FundingFunded {
					end = fmt.Sprintf("%s %s go back to %s.", review.TotalBudget.Amount, review.TotalBudget.Token, review.Creator)
				}
				fmt.Fprintf(w, "Rejected %s, %q. %s\n", review.DraftID, clean(review.Title), end)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; the creator is shown it (required)")
	return cmd
}

func newReviewLogCmd(client *clientOptions) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what was decided, newest first",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 100 {
				return UsageError("--limit %d: want 1 to 100", limit)
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			page, err := api.Audit(cmd.Context(), sortie.PageQuery{Limit: limit})
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, page.Entries, func(w io.Writer) { showAudit(w, page.Entries) })
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "at most this many, up to 100")
	return cmd
}

func showReviews(w io.Writer, client *clientOptions, reviews []sortie.Review) {
	if len(reviews) == 0 {
		fmt.Fprintln(w, "Nothing waits for a decision.")
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  DRAFT\tWAITS\tBUDGET\tPAYS FOR\tTITLE")
	for _, review := range reviews {
		fmt.Fprintf(table, "  %s\t%s\t%s %s\t%d\t%s\n", review.DraftID, ago(review.UpdatedAt), review.TotalBudget.Amount, review.TotalBudget.Token,
			review.TargetCount, clean(review.Title))
	}
	_ = table.Flush()
	fmt.Fprintf(w, "\nNext: %s review show %s%s\n", program(), reviews[0].DraftID, client.identityFlags())
}

// ago is how long something lies back, in words for people.
func ago(at string) string {
	parsed, err := time.Parse(time.RFC3339, at)
	if err != nil {
		parsed, err = time.Parse(sortie.SubmissionTime, at)
	}
	if err != nil {
		return clean(at)
	}
	return duration(time.Since(parsed))
}

// showReview shows all of a mission: what is not shown would be approved unseen.
func showReview(w io.Writer, client *clientOptions, review sortie.Review) {
	table := newTable(w)
	row(table, "draft", review.DraftID)
	row(table, "mission", review.MissionID)
	row(table, "creator", review.Creator.String())
	var m sortie.NormalizedMission
	if err := json.Unmarshal(review.NormalizedMission, &m); err != nil {
		row(table, "definition", string(review.NormalizedMission)) // of a later version
	} else {
		showDefinition(table, m)
		showFineprint(table, m)
	}
	row(table, "budget", review.TotalBudget.Amount+" "+string(review.TotalBudget.Token))
	row(table, "funding", depthInWords(review.Funding))
	row(table, "review", string(review.ReviewStatus))
	if review.Decision != nil {
		row(table, "decided", fmt.Sprintf("by %s, %s ago", review.Decision.DecidedBy, ago(review.Decision.DecidedAt)))
		if review.Decision.Reason != "" {
			row(table, "reason", review.Decision.Reason)
		}
	}
	row(table, "published", yesOrNo(review.Published))
	_ = table.Flush()
	for _, warning := range review.Warnings {
		fmt.Fprintf(w, "\nNote: %s\n", clean(warning))
	}
	if review.ReviewStatus == sortie.ReviewInReview {
		fmt.Fprintf(w, "\nNext: %[1]s review approve %[2]s%[3]s\n  or: %[1]s review reject %[2]s%[3]s --reason \"...\"\n", program(), review.DraftID, client.identityFlags())
	}
}

// showFineprint shows what showDefinition leaves out.
func showFineprint(table *tabwriter.Writer, m sortie.NormalizedMission) {
	rows := func(name string, values []string) {
		for _, value := range values {
			row(table, name, value)
			name = ""
		}
	}
	if m.Description != "" {
		rows("description", strings.Split(m.Description, "\n"))
	}
	rows("accept if", m.Verification.Accept)
	rows("reject if", m.Verification.Reject)
	row(table, "per person", fmt.Sprintf("at most %d", m.MaxSubmissionsPerContributor))
	if m.Video != nil {
		row(table, "length", fmt.Sprintf("%d to %d ms", m.Video.MinDurationMs, m.Video.MaxDurationMs))
	}
	if m.StartsAt != nil {
		row(table, "starts", *m.StartsAt)
	}
	if m.EndsAt != nil {
		row(table, "ends", *m.EndsAt)
	}
	if len(m.Tags) > 0 {
		row(table, "tags", strings.Join(m.Tags, ", "))
	}
	if m.ExternalReference != nil {
		row(table, "reference", *m.ExternalReference)
	}
	var pairs []string
	for key, value := range m.Metadata {
		pairs = append(pairs, key+": "+value)
	}
	for key, value := range m.Extra {
		pairs = append(pairs, key+": "+string(value))
	}
	slices.Sort(pairs)
	rows("also says", pairs)
}

func showAudit(w io.Writer, entries []sortie.AuditEntry) {
	if len(entries) == 0 {
		fmt.Fprintln(w, "Nothing was decided yet.")
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  WHEN\tWHO\tWHAT\tABOUT\tDETAIL")
	for _, entry := range entries {
		fmt.Fprintf(table, "  %s ago\t%s\t%s\t%s\t%s\n", ago(entry.At), clean(entry.Actor), clean(entry.Action), clean(entry.Subject), clean(string(entry.Detail)))
	}
	_ = table.Flush()
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
