package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

// rotateResult is what `submissions rotate-links --json` prints.
type rotateResult struct {
	OK bool `json:"ok"`
}

func newSubmissionsRotateCmd(client *clientOptions) *cobra.Command {
	var reason reasonFlag
	cmd := &cobra.Command{
		Use:   "rotate-links --reason TEXT",
		Short: "Revoke all media and upload links at once",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := reason.check(); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (rotateResult, error) {
				return rotateResult{OK: true}, api.RotateLinkKeys(ctx, reason.text)
			}, func(w io.Writer, _ rotateResult) {
				fmt.Fprintln(w, "All links are revoked. Clients that may see media get new ones when they ask again.")
			})
		},
	}
	reason.register(cmd.Flags(), "what happened; it is kept in the log")
	return cmd
}
