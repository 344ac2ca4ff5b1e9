package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newReviewLogCmd(client *clientOptions) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show the decisions of operators, newest first",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPageLimit(limit); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) ([]sortie.AuditEntry, error) {
				page, err := api.Audit(ctx, sortie.PageQuery{Limit: limit})
				return page.Entries, err
			}, showAudit)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "list at most this many, up to 100")
	return cmd
}

func showAudit(w io.Writer, entries []sortie.AuditEntry) {
	if len(entries) == 0 {
		fmt.Fprintln(w, "No decisions yet.")
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  WHEN\tWHO\tWHAT\tABOUT\tDETAIL")
	for _, entry := range entries {
		fmt.Fprintf(table, "  %s ago\t%s\t%s\t%s\t%s\n", formatAge(entry.At), clean(entry.Actor), clean(entry.Action), clean(entry.Subject), clean(string(entry.Detail)))
	}
	_ = table.Flush()
}
