package cli

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
)

func newSolvencyCmd() *cobra.Command {
	client := &clientOptions{devExample: "operator"}
	var limit int
	cmd := &cobra.Command{
		Use:   "solvency",
		Short: "See whether the books agree with the chain, as an operator",
		Long: `Shows the last comparison of the database with the contracts: what every mission was funded with is paid, deferred,
remaining or refunded, on both sides, and each factory holds at least what it owes. The missions listed are compared at
this moment. It ends with exit code 1 unless everything was compared and agrees.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 100 {
				return UsageError("--limit %d: want 1 to 100", limit)
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			solvency, err := api.Solvency(cmd.Context(), sortie.PageQuery{Limit: limit})
			if err != nil {
				return client.requestError(err)
			}
			if err := show(cmd, solvency, func(w io.Writer) { showSolvency(w, client, solvency) }); err != nil {
				return err
			}
			return judgeSolvency(solvency)
		},
	}
	client.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "at most this many missions, up to 100")
	return cmd
}

// judgeSolvency fails unless everything agrees: what was not compared did not pass.
func judgeSolvency(solvency sortie.Solvency) error {
	for _, mission := range solvency.Missions {
		if mission.Agrees != nil && !*mission.Agrees {
			return fmt.Errorf("the books do not agree with the chain: mission %s differs now; payouts halt with the next check, and an operator clears that: %s chain clear", mission.MissionID, program())
		}
	}
	switch solvency.Status {
	case sortie.SolvencyAgrees:
		return nil
	case sortie.SolvencyMismatch:
		return fmt.Errorf("the books do not agree with the chain; find out which side is wrong, correct it, and clear the incident: %s chain clear", program())
	default:
		return errors.New("the books were not compared with the chain as a whole: " + clean(solvency.Problem))
	}
}

func showSolvency(w io.Writer, client *clientOptions, solvency sortie.Solvency) {
	table := newTable(w)
	row(table, "books", solvencyInWords(solvency.Status))
	if solvency.CheckedAt != nil {
		row(table, "checked", ago(*solvency.CheckedAt)+" ago")
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
		fmt.Fprintf(w, "\nNext: %s chain status%s\n", program(), client.identityFlags())
	}
}

func solvencyInWords(status sortie.SolvencyStatus) string {
	switch status {
	case sortie.SolvencyAgrees:
		return "agree with the chain"
	case sortie.SolvencyMismatch:
		return "DO NOT AGREE with the chain; payouts are halted"
	case sortie.SolvencyNotChecked:
		return "not checked, which is not a pass"
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
	fmt.Fprintln(w)
	table := newTable(w)
	fmt.Fprintln(table, "  TOKEN\tFUNDED\tPAID\tDEFERRED\tREMAINING\tREFUNDED\tFACTORY OWES\tFACTORY HOLDS")
	for _, token := range tokens {
		whole := func(units string) string { return wholeTokens(units, token.Decimals) }
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
	fmt.Fprintln(w)
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
			return wholeTokens(units, places)
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

// amountInWords is an amount of a token in whole tokens; of a token of a later version, in base
// units.
func amountInWords(units string, token sortie.Token) string {
	if token != sortie.TokenUSDC && token != sortie.TokenService {
		return strings.TrimSpace(clean(units) + " base units " + clean(string(token)))
	}
	return wholeTokens(units, chain.Decimals(token)) + " " + string(token)
}

// wholeTokens shows base units as people count them.
func wholeTokens(units string, decimals int) string {
	amount, ok := new(big.Int).SetString(units, 10)
	if !ok || decimals < 0 || decimals > 77 {
		return clean(units)
	}
	return sortie.FormatUnits(amount, decimals)
}
