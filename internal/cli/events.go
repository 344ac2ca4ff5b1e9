package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

// eventList is what `mission events --json` prints.
type eventList struct {
	Events     []sortie.Event `json:"events"`
	NextCursor string         `json:"nextCursor"` // for --after
}

type eventsOptions struct {
	after  string
	follow bool
}

func newMissionEventsCmd(client *clientOptions) *cobra.Command {
	var options eventsOptions
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List the events of your missions, oldest first",
		Long: `Lists the events of your missions, oldest first. The list ends with a cursor: --after CURSOR continues from there. With
--follow it continues until you stop it; with --json it prints one JSON object per line.`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runEvents(cmd, client, options) },
	}
	cmd.Flags().StringVar(&options.after, "after", "", "list only events after this cursor")
	cmd.Flags().BoolVarP(&options.follow, "follow", "f", false, "continue until interrupted")
	return cmd
}

func runEvents(cmd *cobra.Command, client *clientOptions, options eventsOptions) error {
	api, err := client.open(cmd.Context())
	if err != nil {
		return err
	}
	if options.follow {
		return followEvents(cmd, client, api, options.after)
	}
	events := eventList{Events: []sortie.Event{}, NextCursor: options.after}
	err = eachNewEvent(cmd.Context(), api, &events.NextCursor, func(event sortie.Event) error {
		events.Events = append(events.Events, event)
		return nil
	})
	if err != nil {
		return client.requestError(err)
	}
	return show(cmd, events, func(w io.Writer) { showEvents(w, client, events) })
}

// eachNewEvent visits the events after the cursor, and moves the cursor when all events of a page
// were visited.
func eachNewEvent(ctx context.Context, api *sortie.Client, cursor *string, visit func(sortie.Event) error) error {
	for {
		page, err := api.Events(ctx, sortie.PageQuery{Cursor: *cursor, Limit: pageSize})
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
	asJSON := wantsOutputJSON(cmd)
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

func showEvents(w io.Writer, client *clientOptions, events eventList) {
	for _, event := range events.Events {
		fmt.Fprintln(w, eventLine(event))
	}
	if len(events.Events) == 0 {
		fmt.Fprintln(w, "No events.")
	}
	fmt.Fprintf(w, "\nNext: %s\n", client.suggest("mission events --after %s", events.NextCursor))
}

func eventLine(event sortie.Event) string {
	at := event.CreatedAt
	if parsed, err := time.Parse(time.RFC3339, at); err == nil {
		at = parsed.Local().Format(time.DateTime)
	}
	subject := event.DraftID
	if subject == "" { // an event of a payout to this wallet by another creator's mission
		subject = event.MissionID
	}
	return strings.TrimRight(fmt.Sprintf("%s  %-19s  %s  %s", at, clean(string(event.Type)), clean(subject), clean(formatEventData(event.Data))), " ")
}

// eventData has the fields of the data of all event types.
type eventData struct {
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

// formatEventData returns the data of an event in one line, without the ids of its mission.
func formatEventData(encoded json.RawMessage) string {
	var data eventData
	if json.Unmarshal(encoded, &data) != nil {
		return "" // of a later version
	}
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(data.SubmissionID != "", "%s", data.SubmissionID)
	add(data.AmountBaseUnits != "", "%s to %s", formatAmount(data.AmountBaseUnits, data.Token), data.Recipient)
	if data.PaidSubmissions != nil {
		add(true, "%d paid, %s", *data.PaidSubmissions, formatAmount(data.PaidBaseUnits, data.Token))
	}
	add(data.Deferred > 0, "%d deferred", data.Deferred)
	add(data.Unpaid > 0, "%d unpaid", data.Unpaid)
	add(data.EndsAt != "", "ended at %s", data.EndsAt)
	add(data.RefundBaseUnits != "", "%s refunded", formatAmount(data.RefundBaseUnits, data.Token))
	add(data.RefundDeferred, "the refund is a deferred credit; sortie claim pays it")
	switch {
	case data.BlockNumber != nil && data.TransactionHash != nil:
		add(true, "block %d, %s", *data.BlockNumber, data.TransactionHash)
	case data.TransactionHash != nil:
		add(true, "%s", data.TransactionHash)
	}
	add(data.Reason != "", "%q", data.Reason)
	return strings.Join(parts, "; ")
}
