package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newMissionDoctorCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor ID",
		Short: "Say what holds a mission up, whose turn it is, and what you can do",
		Args:  oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			doctor, err := api.Doctor(cmd.Context(), args[0])
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, doctor, func(w io.Writer) { showDoctor(w, doctor) })
		},
	}
}

func showDoctor(w io.Writer, doctor sortie.Doctor) {
	fmt.Fprintf(w, "%s\n\n", clean(doctor.Summary))
	table := newTable(w)
	row(table, "health", string(doctor.Health))
	row(table, "waits for", partyInWords(doctor.WaitingOn))
	row(table, "funding", depthInWords(doctor.Funding))
	if doctor.Funding.TransactionHash != nil {
		row(table, "transaction", doctor.Funding.TransactionHash.String())
	}
	if doctor.Money != nil {
		row(table, "money", moneyInWords(*doctor.Money))
	}
	_ = table.Flush()
	if len(doctor.Blockers) > 0 {
		lead := "What holds it up:"
		if doctor.WaitingOn == sortie.PartyNone {
			lead = "What to know:"
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

func partyInWords(party sortie.Party) string {
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

// depthInWords says where in the chain a funding is.
func depthInWords(depth sortie.FundingDepth) string {
	if !depth.Seen || depth.BlockNumber == nil {
		return "not on the chain"
	}
	final := "not final yet"
	if depth.Locked {
		final = "final"
	}
	return fmt.Sprintf("in block %d, %s (%d needed for the review), %s", *depth.BlockNumber, counted(depth.Confirmations, "confirmation"), depth.Required, final)
}

// counted is a number and what it counts.
func counted[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// eventList is what `mission events --json` prints.
type eventList struct {
	Events     []sortie.Event `json:"events"`
	NextCursor string         `json:"nextCursor"` // for --after
}

func newMissionEventsCmd(client *clientOptions) *cobra.Command {
	var after string
	var follow bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List what happened to your missions, oldest first",
		Long: `Lists what happened to your missions, oldest first. It ends with a cursor: --after CURSOR continues from there. With --follow
it continues until you stop it; with --json, one JSON object a line.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			if follow {
				return followEvents(cmd, client, api, after)
			}
			list := eventList{Events: []sortie.Event{}, NextCursor: after}
			err = eachNewEvent(cmd.Context(), api, &list.NextCursor, func(event sortie.Event) error {
				list.Events = append(list.Events, event)
				return nil
			})
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, list, func(w io.Writer) { showEvents(w, client, list) })
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "only what happened after this cursor")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue until interrupted")
	return cmd
}

// eachNewEvent visits the events after the cursor, and moves it behind each page whose events were
// all visited.
func eachNewEvent(ctx context.Context, api *sortie.Client, cursor *string, visit func(sortie.Event) error) error {
	for {
		page, err := api.Events(ctx, sortie.PageQuery{Cursor: *cursor, Limit: 100})
		if err != nil {
			return err
		}
		for _, event := range page.Events {
			if err := visit(event); err != nil {
				return err
			}
		}
		*cursor = page.Summary.NextCursor
		if len(page.Events) == 0 {
			return nil
		}
	}
}

func followEvents(cmd *cobra.Command, client *clientOptions, api *sortie.Client, cursor string) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	visit := func(event sortie.Event) error {
		if asJSON {
			return printLine(cmd.OutOrStdout(), event)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), eventLine(event))
		return err
	}
	if err := eachNewEvent(cmd.Context(), api, &cursor, visit); err != nil {
		return client.requestError(err)
	}
	return poll(cmd.Context(), cmd, client, func(ctx context.Context) (bool, error) { return false, eachNewEvent(ctx, api, &cursor, visit) })
}

func showEvents(w io.Writer, client *clientOptions, list eventList) {
	for _, event := range list.Events {
		fmt.Fprintln(w, eventLine(event))
	}
	if len(list.Events) == 0 {
		fmt.Fprintln(w, "Nothing happened.")
	}
	fmt.Fprintf(w, "\nNext: %s mission events --after %s%s\n", program(), list.NextCursor, client.identityFlags())
}

func eventLine(event sortie.Event) string {
	at := event.CreatedAt
	if parsed, err := time.Parse(time.RFC3339, at); err == nil {
		at = parsed.Local().Format(time.DateTime)
	}
	subject := event.DraftID
	if subject == "" { // a mission of another wallet, which pays this one
		subject = event.MissionID
	}
	return strings.TrimRight(fmt.Sprintf("%s  %-19s  %s  %s", at, clean(string(event.Type)), clean(subject), clean(factsInWords(event.Data))), " ")
}

// factsInWords is what an event says beside the ids.
func factsInWords(data json.RawMessage) string {
	var facts struct {
		TransactionHash *sortie.Hash `json:"transactionHash"`
		BlockNumber     *uint64      `json:"blockNumber"`
		Reason          string       `json:"reason"`
		RefundBaseUnits string       `json:"refundBaseUnits"`
		RefundDeferred  bool         `json:"refundDeferred"`
		SubmissionID    string       `json:"submissionId"`
		Recipient       string       `json:"recipient"`
		AmountBaseUnits string       `json:"amountBaseUnits"`
		Token           sortie.Token `json:"token"`
		EndsAt          string       `json:"endsAt"`
		PaidSubmissions *int         `json:"paidSubmissions"`
		PaidBaseUnits   string       `json:"paidBaseUnits"`
		Deferred        int          `json:"deferredSubmissions"`
		Unpaid          int          `json:"unpaidSubmissions"`
	}
	if json.Unmarshal(data, &facts) != nil {
		return "" // of a later version
	}
	var parts []string
	if facts.SubmissionID != "" {
		parts = append(parts, facts.SubmissionID)
	}
	if facts.AmountBaseUnits != "" {
		parts = append(parts, fmt.Sprintf("%s to %s", amountInWords(facts.AmountBaseUnits, facts.Token), facts.Recipient))
	}
	if facts.PaidSubmissions != nil {
		parts = append(parts, fmt.Sprintf("%d paid, %s", *facts.PaidSubmissions, amountInWords(facts.PaidBaseUnits, facts.Token)))
	}
	if facts.Deferred > 0 {
		parts = append(parts, fmt.Sprintf("%d deferred", facts.Deferred))
	}
	if facts.Unpaid > 0 {
		parts = append(parts, fmt.Sprintf("%d unpaid", facts.Unpaid))
	}
	if facts.EndsAt != "" {
		parts = append(parts, "ended at "+facts.EndsAt)
	}
	if facts.RefundBaseUnits != "" {
		parts = append(parts, amountInWords(facts.RefundBaseUnits, facts.Token)+" back")
	}
	if facts.RefundDeferred {
		parts = append(parts, "waiting in the contract to be claimed")
	}
	switch {
	case facts.BlockNumber != nil && facts.TransactionHash != nil:
		parts = append(parts, fmt.Sprintf("block %d, %s", *facts.BlockNumber, facts.TransactionHash))
	case facts.TransactionHash != nil:
		parts = append(parts, facts.TransactionHash.String())
	}
	if facts.Reason != "" {
		parts = append(parts, strconv.Quote(facts.Reason))
	}
	return strings.Join(parts, "; ")
}
