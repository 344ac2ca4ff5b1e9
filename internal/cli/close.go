package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newMissionCloseCmd(client *clientOptions) *cobra.Command {
	var reason reasonFlag
	cmd := &cobra.Command{
		Use:   "close ID --reason TEXT",
		Short: "End a published mission early at its creator's request, as an operator",
		Long: `Ends a published mission now: it takes no more submissions. Submissions that exist are still decided, and accepted ones
are paid. Then the service closes the mission and refunds the rest of its money to the creator. Run it again to see what it still
waits for.`,
		Example: `  sortie mission close draft_... --wallet operator --reason "The creator asked for it."`,
		Args:    oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := reason.check(); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.MissionClose, error) {
				return api.CloseMission(ctx, args[0], reason.text)
			}, func(w io.Writer, closed sortie.MissionClose) { showClose(w, client, closed) })
		},
	}
	reason.register(cmd.Flags(), "why; the creator sees it")
	return cmd
}

func showClose(w io.Writer, client *clientOptions, closed sortie.MissionClose) {
	fmt.Fprintf(w, "Mission %s ended at %s. %d accepted, %d of them not paid yet, %s not decided.\n", clean(closed.MissionID), clean(closed.EndsAt),
		closed.Accepted, closed.Unpaid, formatCount(closed.Undecided, "submission"))
	switch {
	case closed.Undecided > 0:
		fmt.Fprintf(w, "\nNext: %s\n", client.suggest("submissions list --mission %s", clean(closed.MissionID)))
	case closed.Unpaid > 0:
		fmt.Fprintf(w, "\nNext: %s\n", client.suggest("payouts list --mission %s", clean(closed.MissionID)))
	case closed.Closing:
		fmt.Fprintln(w, "The service is closing it on the chain, which refunds the rest of its money to the creator.")
	default:
		fmt.Fprintln(w, "The service closes it on the chain now, which refunds the rest of its money to the creator.")
	}
}
