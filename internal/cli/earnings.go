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
		Short: "See what you were paid as a contributor, and what is on its way",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			earnings, err := api.Earnings(cmd.Context())
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, earnings, func(w io.Writer) { showEarnings(w, earnings) })
		},
	}
	client.register(cmd)
	return cmd
}

func showEarnings(w io.Writer, earnings sortie.Earnings) {
	if len(earnings.Tokens) == 0 {
		fmt.Fprintf(w, "Nothing was accepted for good yet. What is asked for: %s missions\n", program())
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  TOKEN\tPAID\tON THE WAY\tDEFERRED\tFAILED\tSINCE")
	for _, token := range earnings.Tokens {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", clean(string(token.Token)), earnedInWords(token.Paid), earnedInWords(token.OnTheWay),
			earnedInWords(token.Deferred), earnedInWords(token.Failed), clean(token.Since))
	}
	_ = table.Flush()
	for _, token := range earnings.Tokens {
		if token.Advice != "" {
			fmt.Fprintf(w, "\n%s: %s\n", clean(string(token.Token)), clean(token.Advice))
		}
	}
}

func earnedInWords(earned sortie.EarnedAmount) string {
	if earned.Payouts == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%d)", clean(earned.Amount), earned.Payouts)
}

func newMissionsLedgerCmd(client *clientOptions) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "ledger MISSION",
		Short: "Show where a mission's money is, with the transactions that moved it",
		Args:  oneArg("the mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return UsageError("--limit %d: want a positive number, or 0 for all", limit)
			}
			if err := checkMissionID(args[0], "missions ledger"); err != nil {
				return err
			}
			api, err := client.openPublic()
			if err != nil {
				return err
			}
			ledger, err := readLedger(cmd.Context(), api, args[0], limit)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, ledger, func(w io.Writer) { showLedger(w, ledger) })
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many payments; 0 for all")
	return cmd
}

// readLedger reads a ledger with at most this many of its payments; 0 for all.
func readLedger(ctx context.Context, api *sortie.Client, mission string, limit int) (sortie.MissionLedger, error) {
	const perPage = 100
	next := func(cursor string, have int) (sortie.MissionLedger, error) {
		query := sortie.PageQuery{Limit: perPage, Cursor: cursor}
		if limit > 0 {
			query.Limit = min(perPage, limit-have)
		}
		return api.MissionLedger(ctx, mission, query)
	}
	ledger, err := next("", 0)
	for err == nil && ledger.Summary.NextCursor != nil && (limit == 0 || len(ledger.Payments) < limit) {
		var page sortie.MissionLedger
		page, err = next(*ledger.Summary.NextCursor, len(ledger.Payments))
		page.Payments = append(ledger.Payments, page.Payments...)
		page.Summary.ReturnedPayments = len(page.Payments)
		ledger = page
	}
	return ledger, err
}

func showLedger(w io.Writer, ledger sortie.MissionLedger) {
	whole := func(units string) string { return wholeTokens(units, ledger.Decimals) + " " + string(ledger.Token) }
	table := newTable(w)
	row(table, "mission", ledger.MissionID)
	row(table, "funded", whole(ledger.FundedBaseUnits))
	row(table, "paid", fmt.Sprintf("%s (%d of %d)", whole(ledger.PaidBaseUnits), ledger.PaidCount, ledger.TargetCount))
	row(table, "deferred", fmt.Sprintf("%s (%d)", whole(ledger.DeferredBaseUnits), ledger.DeferredCount))
	row(table, "remaining", whole(ledger.RemainingBaseUnits))
	row(table, "refunded", whole(ledger.RefundedBaseUnits))
	row(table, "final", yesOrNo(ledger.Final))
	row(table, "chain", fmt.Sprint(ledger.ChainID))
	row(table, "factory", ledger.Factory.String())
	row(table, "mission key", ledger.MissionKey.String())
	if ledger.Funding != nil {
		row(table, "funded by", entryInWords(*ledger.Funding))
	}
	if ledger.Closing != nil {
		row(table, "closed by", entryInWords(*ledger.Closing))
	}
	_ = table.Flush()
	if len(ledger.Payments) == 0 {
		fmt.Fprintf(w, "\nNo payment is in a block yet.\n")
		return
	}
	fmt.Fprintln(w)
	table = newTable(w)
	fmt.Fprintln(table, "  SLOT\tSTATUS\tRECIPIENT\tBLOCK\tTRANSACTION")
	for _, payment := range ledger.Payments {
		fmt.Fprintf(table, "  %d\t%s\t%s\t%d\t%s\n", payment.Slot, clean(string(payment.Status)), payment.Recipient, payment.BlockNumber, payment.TransactionHash)
	}
	_ = table.Flush()
	sayMore(w, ledger.Summary.NextCursor != nil)
}

func entryInWords(entry sortie.LedgerEntry) string {
	text := fmt.Sprintf("%s in block %d", entry.TransactionHash, entry.BlockNumber)
	if !entry.Final {
		text += ", not final yet"
	}
	return text
}

// moneyInWords is one line about a mission's money.
func moneyInWords(money sortie.MissionMoney) string {
	whole := func(units string) string { return wholeTokens(units, money.Decimals) }
	text := fmt.Sprintf("%s of %s %s spent, %s committed, %s left", whole(money.Spent), whole(money.Funded), money.Token, whole(money.Committed), whole(money.Left))
	if money.Refunded != "0" {
		text += fmt.Sprintf(", %s came back", whole(money.Refunded))
	}
	return text
}
