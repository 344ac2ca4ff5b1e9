package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newMissionsLedgerCmd(client *clientOptions) *cobra.Command {
	var limit limitFlag
	cmd := &cobra.Command{
		Use:   "ledger MISSION",
		Short: "Show where a mission's money is, with the transactions that moved it",
		Args:  oneArg("the mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := limit.check(); err != nil {
				return err
			}
			if err := refuseDraftID(args[0], "missions ledger"); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.MissionLedger, error) {
				return readLedger(ctx, api, args[0], int(limit))
			}, showLedger)
		},
	}
	limit.register(cmd.Flags(), 50)
	return cmd
}

// readLedger reads a ledger with at most limit payments; 0 reads all.
func readLedger(ctx context.Context, api *sortie.Client, mission string, limit int) (sortie.MissionLedger, error) {
	next := func(cursor string, have int) (sortie.MissionLedger, error) {
		query := sortie.PageQuery{Limit: pageSize, Cursor: cursor}
		if limit > 0 {
			query.Limit = min(pageSize, limit-have)
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
	whole := func(units string) string { return formatUnits(units, ledger.Decimals) + " " + string(ledger.Token) }
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
		row(table, "funded by", formatLedgerEntry(*ledger.Funding))
	}
	if ledger.Closing != nil {
		row(table, "closed by", formatLedgerEntry(*ledger.Closing))
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
	showMore(w, ledger.Summary.NextCursor != nil)
}

func formatLedgerEntry(entry sortie.LedgerEntry) string {
	text := fmt.Sprintf("%s in block %d", entry.TransactionHash, entry.BlockNumber)
	if !entry.Final {
		text += ", not final yet"
	}
	return text
}
