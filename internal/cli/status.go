package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

// watchInterval is how often a watching command asks: soon enough for a person, and a third of what
// a wallet may ask.
const watchInterval = 1500 * time.Millisecond

// missionState is what `mission status` shows of a mission: where it stands, without what never
// changes.
type missionState struct {
	At            string               `json:"at"`
	DraftID       string               `json:"draftId"`
	MissionID     string               `json:"missionId"`
	FundingStatus sortie.FundingStatus `json:"fundingStatus"`
	ReviewStatus  sortie.ReviewStatus  `json:"reviewStatus"`
	Published     bool                 `json:"published"`
	NextAction    sortie.NextAction    `json:"nextAction"`

	// Of a published mission, without --watch, which follows funding and review.
	AcceptedSubmissions *int `json:"acceptedSubmissions,omitempty"`
	TargetCount         int  `json:"targetCount,omitempty"`

	Money *sortie.MissionMoney `json:"money,omitempty"`

	over sortie.BlockerCode // that says that it takes no more submissions; empty: it does, or that is not known
}

func newMissionStatusCmd(client *clientOptions) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status ID",
		Short: "Show the state of a mission; --watch follows it until it is published or refunded",
		Long: `Shows the state of a mission. With --watch it prints a line for every change until the mission is published, rejected
or refunded, and continues when the service is restarted meanwhile; with --json, one JSON object a line. It looks every second or
two; mission events has what came and went between, and mission events --follow the acceptances, payouts and closing after that.`,
		Args: oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			status, err := api.Mission(cmd.Context(), args[0])
			if err != nil {
				return client.requestError(err)
			}
			if watch {
				return watchMission(cmd, client, api, status)
			}
			state := stateOf(status)
			if status.Published {
				state.count(cmd.Context(), api)
			}
			return show(cmd, state, func(w io.Writer) { showState(w, client, status, state) })
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "print a line for every change of funding and review")
	return cmd
}

func stateOf(status sortie.MissionStatus) missionState {
	return missionState{
		At: sortie.FormatTime(time.Now()), DraftID: status.DraftID, MissionID: status.MissionID, FundingStatus: status.FundingStatus,
		ReviewStatus: status.ReviewStatus, Published: status.Published, NextAction: status.NextAction,
	}
}

// count asks how many submissions are accepted, and where the money is. That a mission is published
// is known without it, so that a failure is nothing to tell.
func (s *missionState) count(ctx context.Context, api *sortie.Client) {
	page, err := api.Deliverables(ctx, s.DraftID, sortie.DeliverablesQuery{Limit: 1})
	if err == nil {
		s.AcceptedSubmissions, s.TargetCount = &page.Summary.AcceptedSubmissions, page.Mission.TargetCount
	}
	if doctor, err := api.Doctor(ctx, s.DraftID); err == nil {
		s.Money = doctor.Money
		for _, blocker := range doctor.Blockers {
			if blocker.Code == sortie.BlockerMissionClosed || blocker.Code == sortie.BlockerMissionEnded {
				s.over = blocker.Code
			}
		}
	}
}

// inWords is where the mission stands, with the numbers there are.
func (s missionState) inWords(status sortie.MissionStatus) (word, sentence string) {
	word, sentence = stateInWords(status)
	if s.AcceptedSubmissions == nil {
		return word, sentence
	}
	switch {
	case s.over == sortie.BlockerMissionClosed:
		word = "closed"
	case *s.AcceptedSubmissions >= s.TargetCount:
		word = "complete"
	case s.over == sortie.BlockerMissionEnded:
		word = "ended"
	}
	return word, fmt.Sprintf("%d of %d accepted", *s.AcceptedSubmissions, s.TargetCount)
}

// isOver reports whether a mission has come to where it stays, as far as funding and review go.
func isOver(status sortie.MissionStatus) bool {
	return status.Published || status.NextAction == sortie.ActionNone
}

// stateInWords says where a mission stands: in a word, and in a sentence.
func stateInWords(status sortie.MissionStatus) (word, sentence string) {
	switch status.NextAction {
	case sortie.ActionSendTransaction:
		return "unfunded", "waiting for your funding transaction"
	case sortie.ActionWaitForConfirmation:
		return "funding", "the funding is in a block and needs more confirmations"
	case sortie.ActionWaitForReview:
		return "in review", "the funding is confirmed; an operator decides about the mission"
	case sortie.ActionWaitForPublication:
		return "approved", "it is published as soon as its funding is final"
	case sortie.ActionFetchDeliverables:
		return "published", "contributors can see it"
	case sortie.ActionWaitForRefund:
		return "rejected", "the money is on its way back"
	case sortie.ActionNone:
		if status.FundingStatus == sortie.FundingRefunded {
			return "refunded", "the mission was rejected, and the money is back"
		}
		return "rejected", "it will not be published; no money was locked"
	default:
		return string(status.ReviewStatus), string(status.NextAction)
	}
}

func showState(w io.Writer, client *clientOptions, status sortie.MissionStatus, state missionState) {
	word, sentence := state.inWords(status)
	table := newTable(w)
	row(table, "draft", status.DraftID)
	row(table, "mission", status.MissionID)
	row(table, "title", status.NormalizedMission.Title)
	row(table, "state", word+": "+sentence)
	if state.Money != nil {
		row(table, "money", moneyInWords(*state.Money))
	}
	_ = table.Flush()
	showNext(w, client, status)
}

// showNext names the command that brings a mission on, or says why there is none.
func showNext(w io.Writer, client *clientOptions, status sortie.MissionStatus) {
	lead, command, rest := "Next:", "status", " --watch"
	switch {
	case status.NextAction == sortie.ActionSendTransaction:
		command, rest = "fund", ""
	case status.Published:
		command, rest = "pull", " DIR"
	case isOver(status):
		lead, command, rest = "Why: ", "doctor", ""
	}
	fmt.Fprintf(w, "\n%s %s mission %s %s%s%s\n", lead, program(), command, status.DraftID, rest, client.identityFlags())
}

// watchMission prints a line for each change, the present state first.
func watchMission(cmd *cobra.Command, client *clientOptions, api *sortie.Client, status sortie.MissionStatus) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	if !asJSON {
		fmt.Fprintf(cmd.ErrOrStderr(), "Watching %s, %q. Stop with Ctrl-C.\n", status.DraftID, clean(status.NormalizedMission.Title))
	}
	saidWhy := false
	report := func(status sortie.MissionStatus) error {
		if asJSON {
			return printLine(cmd.OutOrStdout(), stateOf(status))
		}
		word, sentence := stateInWords(status)
		if status.ReviewStatus == sortie.ReviewRejected && !saidWhy {
			saidWhy = true
			sentence += reasonOf(cmd.Context(), api, status.DraftID)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %-9s  %s\n", time.Now().Format(time.TimeOnly), word, sentence)
		if status.Published {
			fmt.Fprintf(cmd.ErrOrStderr(), "Submissions, payouts and the closing: %s mission events --follow%s\n", program(), client.identityFlags())
		}
		return err
	}
	if err := report(status); err != nil || isOver(status) {
		return err
	}
	known := status.NextAction
	return poll(cmd.Context(), cmd, client, func(ctx context.Context) (done bool, err error) {
		status, err := api.Mission(ctx, status.DraftID)
		if err != nil || status.NextAction == known {
			return false, err
		}
		known = status.NextAction
		return isOver(status), report(status)
	})
}

// reasonOf is why a mission was rejected, as far as the service says.
func reasonOf(ctx context.Context, api *sortie.Client, id string) string {
	doctor, err := api.Doctor(ctx, id)
	if err != nil {
		return "" // the state itself is known
	}
	for _, blocker := range doctor.Blockers {
		if blocker.Code == sortie.BlockerMissionRejected {
			return ". " + clean(blocker.Message)
		}
	}
	return ""
}

// poll asks again and again, until it is done or somebody interrupts. A service that is away is
// asked again when it is back.
func poll(ctx context.Context, cmd *cobra.Command, client *clientOptions, ask func(context.Context) (done bool, err error)) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	tell := func(format string, args ...any) {
		if !asJSON {
			fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
		}
	}
	ticker, away := time.NewTicker(watchInterval), false
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
		case isPassing(err) && !away:
			away = true
			tell("%s does not answer as it should; trying again until it does...", client.url)
		case err != nil && !isPassing(err):
			return client.requestError(err)
		case err == nil && away:
			away = false
			tell("%s is back.", client.url)
		}
		if done && err == nil {
			return nil
		}
	}
}

// isPassing reports whether an error is of the kind that ends by itself: the service is away,
// overloaded or being restarted.
func isPassing(err error) bool {
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

// printLine writes one JSON object on a line of its own, for programs that read a stream.
func printLine(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}
