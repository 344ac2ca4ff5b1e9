package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newReviewCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	group := &cobra.Command{
		Use:   "review",
		Short: "Review funded missions as an operator",
	}
	client.register(group)
	group.AddCommand(newReviewListCmd(client), newReviewShowCmd(client), newReviewApproveCmd(client), newReviewRejectCmd(client), newReviewLogCmd(client))
	RequireSubcommand(group)
	return group
}

func newReviewListCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the missions in review, oldest first",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd, client, 0, func(ctx context.Context, api *sortie.Client) iter.Seq2[sortie.Review, error] {
				return api.AllReviews(ctx, sortie.PageQuery{Limit: pageSize})
			}, func(w io.Writer, reviews []sortie.Review) { showReviews(w, client, reviews) })
		},
	}
}

func newReviewShowCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a mission with everything that a review needs",
		Args:  oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.Review, error) {
				return api.Review(ctx, args[0])
			}, func(w io.Writer, review sortie.Review) { showReview(w, client, review) })
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
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.Review, error) {
				return api.Approve(ctx, args[0], reason)
			}, func(w io.Writer, review sortie.Review) {
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
	var reason reasonFlag
	cmd := &cobra.Command{
		Use:     "reject ID --reason TEXT",
		Short:   "Reject a mission; its money is refunded to the creator",
		Example: `  sortie review reject draft_... --wallet operator --reason "The place is private."`,
		Args:    oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := reason.check(); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.Review, error) {
				return api.Reject(ctx, args[0], reason.text)
			}, func(w io.Writer, review sortie.Review) {
				end := "It was not funded."
				if review.FundingStatus == sortie.FundingFunded {
					end = fmt.Sprintf("%s %s are refunded to %s.", review.TotalBudget.Amount, review.TotalBudget.Token, review.Creator)
				}
				fmt.Fprintf(w, "Rejected %s, %q. %s\n", review.DraftID, clean(review.Title), end)
			})
		},
	}
	reason.register(cmd.Flags(), "why; the creator sees it")
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
		fmt.Fprintf(table, "  %s\t%s\t%s %s\t%d\t%s\n", review.DraftID, formatAge(review.UpdatedAt), review.TotalBudget.Amount, review.TotalBudget.Token,
			review.TargetCount, clean(review.Title))
	}
	_ = table.Flush()
	fmt.Fprintf(w, "\nNext: %s\n", client.suggest("review show %s", reviews[0].DraftID))
}

// showReview shows the whole mission, so that operators approve nothing unseen.
func showReview(w io.Writer, client *clientOptions, review sortie.Review) {
	table := newTable(w)
	row(table, "draft", review.DraftID)
	row(table, "mission", review.MissionID)
	row(table, "creator", review.Creator.String())
	var m sortie.NormalizedMission
	if err := json.Unmarshal(review.NormalizedMission, &m); err != nil {
		row(table, "definition", string(review.NormalizedMission)) // of a later version of the service
	} else {
		showDefinition(table, m)
		showTerms(table, m)
	}
	row(table, "budget", review.TotalBudget.Amount+" "+string(review.TotalBudget.Token))
	row(table, "funding", formatFunding(review.Funding))
	row(table, "review", string(review.ReviewStatus))
	if review.Decision != nil {
		row(table, "decided", fmt.Sprintf("by %s, %s ago", review.Decision.DecidedBy, formatAge(review.Decision.DecidedAt)))
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
		fmt.Fprintf(w, "\nNext: %s\n  or: %s --reason \"...\"\n", client.suggest("review approve %s", review.DraftID), client.suggest("review reject %s", review.DraftID))
	}
}
