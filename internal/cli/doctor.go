package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newMissionDoctorCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor ID",
		Short: "Explain what blocks a mission, who must act, and what you can do",
		Args:  oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.Doctor, error) {
				return api.Doctor(ctx, args[0])
			}, showDoctor)
		},
	}
}

func showDoctor(w io.Writer, doctor sortie.Doctor) {
	fmt.Fprintf(w, "%s\n\n", clean(doctor.Summary))
	table := newTable(w)
	row(table, "health", string(doctor.Health))
	row(table, "waits for", formatParty(doctor.WaitingOn))
	row(table, "funding", formatFunding(doctor.Funding))
	if doctor.Funding.TransactionHash != nil {
		row(table, "transaction", doctor.Funding.TransactionHash.String())
	}
	if doctor.Money != nil {
		row(table, "money", formatMoney(*doctor.Money))
	}
	_ = table.Flush()
	if len(doctor.Blockers) > 0 {
		lead := "What blocks it:"
		if doctor.WaitingOn == sortie.PartyNone {
			lead = "Note:"
		}
		fmt.Fprintf(w, "\n%s\n", lead)
		for _, blocker := range doctor.Blockers {
			fmt.Fprintf(w, "  - %s (%s)\n", clean(blocker.Message), blocker.Code)
		}
	}
	if len(doctor.Actions) > 0 {
		fmt.Fprintf(w, "\nWhat you can do:\n")
		for _, action := range doctor.Actions {
			fmt.Fprintf(w, "  - %s\n", clean(action))
		}
	}
}

func formatParty(party sortie.Party) string {
	switch party {
	case sortie.PartyCreator:
		return "you, its creator"
	case sortie.PartyChain:
		return "the chain"
	case sortie.PartyOperator:
		return "an operator"
	case sortie.PartyNone:
		return "nothing"
	default:
		return string(party)
	}
}

// formatFunding returns the block and the confirmations of a funding.
func formatFunding(depth sortie.FundingDepth) string {
	if !depth.Seen || depth.BlockNumber == nil {
		return "not on the chain"
	}
	final := "not final yet"
	if depth.Locked {
		final = "final"
	}
	return fmt.Sprintf("in block %d, %s (%d needed for the review), %s", *depth.BlockNumber, formatCount(depth.Confirmations, "confirmation"), depth.Required, final)
}

// formatMoney returns the money of a mission in one line.
func formatMoney(money sortie.MissionMoney) string {
	whole := func(units string) string { return formatUnits(units, money.Decimals) }
	text := fmt.Sprintf("%s of %s %s spent, %s committed, %s left", whole(money.Spent), whole(money.Funded), money.Token, whole(money.Committed), whole(money.Left))
	if money.Refunded != "0" {
		text += fmt.Sprintf(", %s refunded", whole(money.Refunded))
	}
	return text
}
