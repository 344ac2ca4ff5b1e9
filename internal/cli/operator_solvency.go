package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newSolvencyCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	var limit int
	cmd := &cobra.Command{
		Use:   "solvency",
		Short: "Show whether the books agree with the chain, as an operator",
		Long: `Shows the last comparison of the database with the contracts: for every mission, what was funded is paid, deferred,
remaining or refunded, on both sides; and each factory holds at least what it owes. The listed missions are compared again now. The
exit code is 1 unless everything was compared and agrees.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPageLimit(limit); err != nil {
				return err
			}
			var solvency sortie.Solvency
			err := request(cmd, client, func(ctx context.Context, api *sortie.Client) (_ sortie.Solvency, err error) {
				solvency, err = api.Solvency(ctx, sortie.PageQuery{Limit: limit})
				return solvency, err
			}, func(w io.Writer, solvency sortie.Solvency) { showSolvency(w, client, solvency) })
			if err != nil {
				return err
			}
			return solvencyError(solvency)
		},
	}
	client.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "list at most this many missions, up to 100")
	return cmd
}

// solvencyError returns an error unless everything was compared and agrees.
func solvencyError(solvency sortie.Solvency) error {
	for _, mission := range solvency.Missions {
		if mission.Agrees != nil && !*mission.Agrees {
			return fmt.Errorf("the books do not agree with the chain: mission %s differs now; the next comparison halts payouts until an operator clears the incident: %s chain clear", mission.MissionID, programName())
		}
	}
	switch solvency.Status {
	case sortie.SolvencyAgrees:
		return nil
	case sortie.SolvencyMismatch:
		return fmt.Errorf("the books do not agree with the chain: find out which side is wrong, correct it, and clear the incident: %s chain clear", programName())
	default:
		return errors.New("not all books were compared with the chain: " + clean(solvency.Problem))
	}
}

func showSolvency(w io.Writer, client *clientOptions, solvency sortie.Solvency) {
	table := newTable(w)
	row(table, "books", formatSolvency(solvency.Status))
	if solvency.CheckedAt != nil {
		row(table, "checked", formatAge(*solvency.CheckedAt)+" ago")
	}
	if solvency.BlockNumber != nil && solvency.BlockHash != nil {
		row(table, "as of block", fmt.Sprintf("%d (%s)", *solvency.BlockNumber, solvency.BlockHash))
	}
	row(table, "missions", fmt.Sprint(solvency.MissionsChecked))
	if solvency.Problem != "" {
		row(table, "problem", solvency.Problem)
	}
	_ = table.Flush()
	showMismatches(w, solvency)
	showTokenBooks(w, solvency.Tokens)
	showMissionBooks(w, solvency)
	if solvency.Status == sortie.SolvencyMismatch {
		fmt.Fprintf(w, "\nNext: %s\n", client.suggest("chain status"))
	}
}

func formatSolvency(status sortie.SolvencyStatus) string {
	switch status {
	case sortie.SolvencyAgrees:
		return "agree with the chain"
	case sortie.SolvencyMismatch:
		return "DO NOT AGREE with the chain; payouts are halted"
	case sortie.SolvencyNotChecked:
		return "NOT CHECKED"
	default:
		return clean(string(status))
	}
}

func showMismatches(w io.Writer, solvency sortie.Solvency) {
	if len(solvency.Mismatches) == 0 {
		return
	}
	fmt.Fprintf(w, "\nWhat does not agree (amounts in base units):\n")
	table := newTable(w)
	fmt.Fprintln(table, "  MISSION\tTOKEN\tWHAT\tEXPECTED\tFOUND")
	for _, one := range solvency.Mismatches {
		subject := one.MissionID
		if subject == "" {
			subject = "(factory " + one.Factory.String() + ")"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", clean(subject), clean(string(one.Token)), clean(one.What), clean(one.Expected), clean(one.Found))
	}
	_ = table.Flush()
	if more := solvency.MismatchCount - len(solvency.Mismatches); more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
}

func showTokenBooks(w io.Writer, tokens []sortie.TokenBooks) {
	if len(tokens) == 0 {
		return
	}
	fmt.Fprintln(w, "\nAll missions, as of that block:")
	table := newTable(w)
	fmt.Fprintln(table, "  TOKEN\tFUNDED\tPAID\tDEFERRED\tREMAINING\tREFUNDED\tFACTORY OWES\tFACTORY HOLDS")
	for _, token := range tokens {
		whole := func(units string) string { return formatUnits(units, token.Decimals) }
		optional := func(units *string) string {
			if units == nil {
				return "not read"
			}
			return whole(*units)
		}
		sums := token.Database
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clean(string(token.Token)), whole(sums.FundedBaseUnits), whole(sums.PaidBaseUnits),
			whole(sums.DeferredBaseUnits), whole(sums.RemainingBaseUnits), whole(sums.RefundedBaseUnits), optional(token.ObligationBaseUnits), optional(token.BalanceBaseUnits))
	}
	_ = table.Flush()
}

func showMissionBooks(w io.Writer, solvency sortie.Solvency) {
	if len(solvency.Missions) == 0 {
		fmt.Fprintf(w, "\nNo mission is funded.\n")
		return
	}
	decimals := make(map[sortie.Token]int)
	for _, token := range solvency.Tokens {
		decimals[token.Token] = token.Decimals
	}
	fmt.Fprintln(w, "\nEach mission, compared again now:")
	table := newTable(w)
	fmt.Fprintln(table, "  MISSION\tTOKEN\tFUNDED\tPAID\tDEFERRED\tREMAINING\tREFUNDED\tAGREES")
	for _, mission := range solvency.Missions {
		agrees := "not checked"
		if mission.Agrees != nil {
			agrees = yesOrNo(*mission.Agrees)
		}
		whole := func(units string) string {
			places, known := decimals[mission.Token]
			if !known {
				return clean(units) + " base units"
			}
			return formatUnits(units, places)
		}
		sums := mission.Database
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clean(mission.MissionID), clean(string(mission.Token)), whole(sums.FundedBaseUnits), whole(sums.PaidBaseUnits),
			whole(sums.DeferredBaseUnits), whole(sums.RemainingBaseUnits), whole(sums.RefundedBaseUnits), agrees)
	}
	_ = table.Flush()
	if solvency.Summary.Problem != "" {
		fmt.Fprintf(w, "  %s\n", clean(solvency.Summary.Problem))
	}
}
