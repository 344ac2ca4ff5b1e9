package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

// watchInterval is the poll interval of a watching command. It uses a third of the rate limit of a
// wallet.
const watchInterval = 1500 * time.Millisecond

// missionState is what `mission status` prints.
type missionState struct {
	At            string               `json:"at"`
	DraftID       string               `json:"draftId"`
	MissionID     string               `json:"missionId"`
	FundingStatus sortie.FundingStatus `json:"fundingStatus"`
	ReviewStatus  sortie.ReviewStatus  `json:"reviewStatus"`
	Published     bool                 `json:"published"`
	NextAction    sortie.NextAction    `json:"nextAction"`

	// Of a published mission, without --watch.
	AcceptedSubmissions *int `json:"acceptedSubmissions,omitempty"`
	TargetCount         int  `json:"targetCount,omitempty"`

	Money *sortie.MissionMoney `json:"money,omitempty"`

	ended sortie.BlockerCode // why it takes no more submissions; empty: it takes some, or unknown
}

func newMissionStatusCmd(client *clientOptions) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status ID",
		Short: "Show the state of a mission; --watch follows it until it is published or refunded",
		Long: `Shows the state of a mission. With --watch it prints a line for every change until the mission is published, rejected
or refunded, also across restarts of the service; with --json it prints one JSON object per line. It polls every second or two, so a
short-lived state may be missed: mission events lists all of them, and mission events --follow also the acceptances, the payouts and
the close that come later.`,
		Args: oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error { return runStatus(cmd, client, args[0], watch) },
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "print a line for every change of funding and review")
	return cmd
}

func runStatus(cmd *cobra.Command, client *clientOptions, id string, watch bool) error {
	api, err := client.open(cmd.Context())
	if err != nil {
		return err
	}
	status, err := api.Mission(cmd.Context(), id)
	if err != nil {
		return client.requestError(err)
	}
	if watch {
		return watchMission(cmd, client, api, status)
	}
	state := stateOf(status)
	if status.Published {
		state.readProgress(cmd.Context(), api)
	}
	return show(cmd, state, func(w io.Writer) { showState(w, client, status, state) })
}

func stateOf(status sortie.MissionStatus) missionState {
	return missionState{
		At: sortie.FormatTime(time.Now()), DraftID: status.DraftID, MissionID: status.MissionID, FundingStatus: status.FundingStatus,
		ReviewStatus: status.ReviewStatus, Published: status.Published, NextAction: status.NextAction,
	}
}

// readProgress reads the number of accepted submissions and the money. It omits what it cannot
// read: the rest of the state is known.
func (s *missionState) readProgress(ctx context.Context, api *sortie.Client) {
	page, err := api.Deliverables(ctx, s.DraftID, sortie.DeliverablesQuery{Limit: 1})
	if err == nil {
		s.AcceptedSubmissions, s.TargetCount = &page.Summary.AcceptedSubmissions, page.Mission.TargetCount
	}
	if doctor, err := api.Doctor(ctx, s.DraftID); err == nil {
		s.Money = doctor.Money
		for _, blocker := range doctor.Blockers {
			if blocker.Code == sortie.BlockerMissionClosed || blocker.Code == sortie.BlockerMissionEnded {
				s.ended = blocker.Code
			}
		}
	}
}

// format returns the state in a word and a sentence, with the number of accepted submissions if it
// is known.
func (s missionState) format(status sortie.MissionStatus) (word, sentence string) {
	word, sentence = formatState(status)
	if s.AcceptedSubmissions == nil {
		return word, sentence
	}
	switch {
	case s.ended == sortie.BlockerMissionClosed:
		word = "closed"
	case *s.AcceptedSubmissions >= s.TargetCount:
		word = "complete"
	case s.ended == sortie.BlockerMissionEnded:
		word = "ended"
	}
	return word, fmt.Sprintf("%d of %d accepted", *s.AcceptedSubmissions, s.TargetCount)
}

// isDecided reports whether funding and review of a mission have ended.
func isDecided(status sortie.MissionStatus) bool {
	return status.Published || status.NextAction == sortie.ActionNone
}

// formatState returns the state of a mission in a word and a sentence.
func formatState(status sortie.MissionStatus) (word, sentence string) {
	switch status.NextAction {
	case sortie.ActionSendTransaction:
		return "unfunded", "waiting for your funding transaction"
	case sortie.ActionWaitForConfirmation:
		return "funding", "the funding is in a block and needs more confirmations"
	case sortie.ActionWaitForReview:
		return "in review", "the funding is confirmed; an operator reviews the mission"
	case sortie.ActionWaitForPublication:
		return "approved", "it is published as soon as its funding is final"
	case sortie.ActionFetchDeliverables:
		return "published", "contributors can see it"
	case sortie.ActionWaitForRefund:
		return "rejected", "the refund is in progress"
	case sortie.ActionNone:
		if status.FundingStatus == sortie.FundingRefunded {
			return "refunded", "the mission was rejected and its money refunded"
		}
		return "rejected", "it will not be published; no money was locked"
	default:
		return string(status.ReviewStatus), string(status.NextAction)
	}
}

func showState(w io.Writer, client *clientOptions, status sortie.MissionStatus, state missionState) {
	word, sentence := state.format(status)
	table := newTable(w)
	row(table, "draft", status.DraftID)
	row(table, "mission", status.MissionID)
	row(table, "title", status.NormalizedMission.Title)
	row(table, "state", word+": "+sentence)
	if state.Money != nil {
		row(table, "money", formatMoney(*state.Money))
	}
	_ = table.Flush()
	showNext(w, client, status)
}

// showNext suggests the next command for a mission.
func showNext(w io.Writer, client *clientOptions, status sortie.MissionStatus) {
	lead, command, rest := "Next:", "status", " --watch"
	switch {
	case status.NextAction == sortie.ActionSendTransaction:
		command, rest = "fund", ""
	case status.Published:
		command, rest = "pull", " DIR"
	case isDecided(status):
		lead, command, rest = "Why: ", "doctor", ""
	}
	fmt.Fprintf(w, "\n%s %s\n", lead, client.suggest("mission %s %s%s", command, status.DraftID, rest))
}

// watchMission prints the state and a line for each change.
func watchMission(cmd *cobra.Command, client *clientOptions, api *sortie.Client, status sortie.MissionStatus) error {
	asJSON, explained := wantsOutputJSON(cmd), false
	announce(cmd, "Watching %s, %q. Stop with Ctrl-C.\n", status.DraftID, clean(status.NormalizedMission.Title))
	report := func(status sortie.MissionStatus) error {
		if asJSON {
			return printLine(cmd.OutOrStdout(), stateOf(status))
		}
		word, sentence := formatState(status)
		if status.ReviewStatus == sortie.ReviewRejected && !explained {
			explained = true
			sentence += rejectionReason(cmd.Context(), api, status.DraftID)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %-9s  %s\n", time.Now().Format(time.TimeOnly), word, sentence)
		if status.Published {
			fmt.Fprintf(cmd.ErrOrStderr(), "Submissions, payouts and the close: %s\n", client.suggest("mission events --follow"))
		}
		return err
	}
	if err := report(status); err != nil || isDecided(status) {
		return err
	}
	known := status.NextAction
	return poll(cmd.Context(), cmd, client, func(ctx context.Context) (done bool, err error) {
		status, err := api.Mission(ctx, status.DraftID)
		if err != nil || status.NextAction == known {
			return false, err
		}
		known = status.NextAction
		return isDecided(status), report(status)
	})
}

// rejectionReason returns the reason of a rejection, or "" if it cannot be read.
func rejectionReason(ctx context.Context, api *sortie.Client, id string) string {
	doctor, err := api.Doctor(ctx, id)
	if err != nil {
		return ""
	}
	for _, blocker := range doctor.Blockers {
		if blocker.Code == sortie.BlockerMissionRejected {
			return ". " + clean(blocker.Message)
		}
	}
	return ""
}

// poll calls ask until it is done or interrupted. It continues after temporary errors.
func poll(ctx context.Context, cmd *cobra.Command, client *clientOptions, ask func(context.Context) (done bool, err error)) error {
	ticker, failing := time.NewTicker(watchInterval), false
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		done, err := ask(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isTemporary(err) && !failing:
			failing = true
			announce(cmd, "%s does not answer as expected; retrying...\n", client.url)
		case err != nil && !isTemporary(err):
			return client.requestError(err)
		case err == nil && failing:
			failing = false
			announce(cmd, "%s answers again.\n", client.url)
		}
		if done && err == nil {
			return nil
		}
	}
}

// isTemporary reports whether a retry may succeed: the service is unreachable, overloaded or being
// restarted.
func isTemporary(err error) bool {
	var unreachable *url.Error
	var coded *sortie.Error
	switch {
	case errors.As(err, &coded):
		status := coded.Code.HTTPStatus()
		return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
	case errors.As(err, &unreachable):
		return true
	default:
		return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, sortie.ErrStalled)
	}
}
