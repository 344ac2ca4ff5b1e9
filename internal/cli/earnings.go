package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newEarningsCmd() *cobra.Command {
	client := &clientOptions{devExample: "contributor1"}
	cmd := &cobra.Command{
		Use:   "earnings",
		Short: "Show what you were paid as a contributor, and which payouts are on their way",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.Earnings, error) {
				return api.Earnings(ctx)
			}, func(w io.Writer, earnings sortie.Earnings) { showEarnings(w, client, earnings) })
		},
	}
	client.register(cmd)
	return cmd
}

func showEarnings(w io.Writer, client *clientOptions, earnings sortie.Earnings) {
	if len(earnings.Tokens) == 0 {
		fmt.Fprintf(w, "No acceptance of yours is final yet.\nNext: %s\n", client.suggest("submissions mine"))
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  TOKEN\tPAID\tON THE WAY\tDEFERRED\tFAILED\tSINCE")
	for _, token := range earnings.Tokens {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", clean(string(token.Token)), formatEarned(token.Paid), formatEarned(token.OnTheWay),
			formatEarned(token.Deferred), formatEarned(token.Failed), clean(token.Since))
	}
	_ = table.Flush()
	for _, token := range earnings.Tokens {
		if token.Advice != "" {
			fmt.Fprintf(w, "\n%s: %s\n", clean(string(token.Token)), clean(token.Advice))
		}
	}
}

func formatEarned(earned sortie.EarnedAmount) string {
	if earned.Payouts == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%d)", clean(earned.Amount), earned.Payouts)
}
