package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

type submitOptions struct {
	lat, lng, accuracy string
	capturedAt         string
	contentType        string
	key                string
	again              bool
	wait               time.Duration
}

func newSubmitCmd() *cobra.Command {
	client := &clientOptions{devExample: "contributor1"}
	var options submitOptions
	cmd := &cobra.Command{
		Use:   "submit MISSION FILE",
		Short: "Submit a photo or video to a mission, as a contributor",
		Long: `Reserves a place in the mission, uploads the file and waits for the verdict.

An upload that was interrupted continues where it was when the same command runs again: unless you give one, the idempotency key is
derived from the mission, the file and your wallet. A file that was looked at and rejected is submitted once more with --again.`,
		Example: `  sortie submit main-entrance-7k2m9x1p photo.jpg --lat 48.8584 --lng 2.2945 --accuracy 8 --wallet contributor1`,
		Args:    twoArgs("the mission id and the file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSubmit(cmd, client, options, args[0], args[1])
		},
	}
	client.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&options.lat, "lat", "", "where it was taken: latitude in degrees (required)")
	flags.StringVar(&options.lng, "lng", "", "where it was taken: longitude in degrees (required)")
	flags.StringVar(&options.accuracy, "accuracy", "", "how exact the place is, in meters (required)")
	flags.StringVar(&options.capturedAt, "captured-at", "", "when it was taken, such as 2026-02-02T15:04:05Z; what the picture says, or when the file was last changed, unless given")
	flags.StringVar(&options.contentType, "content-type", "", "what the file is, such as image/jpeg; found in the file unless given")
	flags.StringVar(&options.key, "idempotency-key", "", "identifies this one submission; derived unless given")
	flags.BoolVar(&options.again, "again", false, "submit a file once more that was rejected or withdrawn")
	flags.DurationVar(&options.wait, "wait", 2*time.Minute, "how long to wait for the verdict; 0 does not wait")
	return cmd
}

func twoArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 || args[0] == "" || args[1] == "" {
			return UsageError("%s wants two arguments: %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// check refuses what cannot be sent, before anything is read or asked.
func (o submitOptions) check() error {
	for _, flag := range []struct{ name, value string }{{"lat", o.lat}, {"lng", o.lng}, {"accuracy", o.accuracy}} {
		if flag.value == "" {
			return UsageError("--%s is missing: say where the file was taken with --lat, --lng and --accuracy", flag.name)
		}
	}
	if err := checkDegrees("lat", o.lat, 90); err != nil {
		return err
	}
	if err := checkDegrees("lng", o.lng, 180); err != nil {
		return err
	}
	if meters, err := strconv.ParseFloat(o.accuracy, 64); err != nil || !isNumber(o.accuracy) || meters <= 0 {
		return UsageError("--accuracy %q: want meters, such as 8", o.accuracy)
	}
	if o.wait < 0 {
		return UsageError("--wait %s: want a positive duration such as 2m, or 0", o.wait)
	}
	if o.capturedAt != "" {
		if _, err := time.Parse(time.RFC3339, o.capturedAt); err != nil {
			return UsageError("--captured-at %q: want a time with a zone, such as 2026-02-02T15:04:05Z", o.capturedAt)
		}
	}
	return nil
}

func checkDegrees(flag, text string, limit float64) error {
	if degrees, err := strconv.ParseFloat(text, 64); err != nil || !isNumber(text) || degrees < -limit || degrees > limit {
		return UsageError("--%s %q: want degrees from -%g to %g", flag, text, limit, limit)
	}
	return nil
}

// isNumber reports whether JSON could hold the text as a number: it is sent as it is written.
func isNumber(text string) bool {
	_, err := json.Marshal(json.Number(text))
	return err == nil
}

// checkMissionID tells those who have a creator's id, which contributors cannot use, where to find
// the other.
func checkMissionID(id, command string) error {
	if strings.HasPrefix(id, "draft_") {
		return UsageError("%s is a draft id, and %s wants the mission id, which %s missions lists", clean(id), command, program())
	}
	return nil
}

// submitResult is what `submit --json` prints.
type submitResult struct {
	sortie.Submission
	UploadedBytes int64 `json:"uploadedBytes"` // by this run
}

func runSubmit(cmd *cobra.Command, client *clientOptions, options submitOptions, missionID, path string) error {
	if err := options.check(); err != nil {
		return err
	}
	if err := checkMissionID(missionID, "submit"); err != nil {
		return err
	}
	ctx := cmd.Context()
	file, err := openMedia(path, options.contentType)
	if err != nil {
		return err
	}
	defer file.Close()
	api, _, err := client.open(ctx)
	if err != nil {
		return err
	}
	mission, err := api.OpenMission(ctx, missionID)
	if err != nil {
		return client.requestError(err)
	}
	if err := file.checkAge(mission, options); err != nil {
		return err
	}
	announce(cmd, "Submitting %s to %q, which pays %s %s.\n", path, clean(definitionOf(mission).Title), mission.Reward.Amount, mission.Reward.Token)
	if err := file.hash(ctx, cmd); err != nil {
		return err
	}
	declaration := file.declaration(options)
	if options.capturedAt == "" {
		announce(cmd, "Taken at %s, %s; --captured-at says otherwise.\n", declaration.CapturedAt, file.takenBy)
	}
	declared, err := declare(ctx, api, missionID, declaration, options)
	if err != nil {
		return withNextSlot(client.requestError(err))
	}
	result := submitResult{}
	if declared.Upload != nil {
		result.UploadedBytes, err = upload(cmd, api, *declared.Upload, file)
		if err != nil {
			return interrupted(ctx, client.requestError(err), currentReservation(ctx, api, declared))
		}
	} else {
		announce(cmd, "It has been uploaded before, as %s.\n", declared.SubmissionID)
	}
	result.Submission, err = verdict(cmd, client, api, declared.SubmissionID, options.wait)
	if err != nil {
		return err
	}
	if err := show(cmd, result, func(w io.Writer) { showMySubmission(w, client, result.Submission) }); err != nil {
		return err
	}
	if result.Status == sortie.SubmissionRejected {
		return Failed(ExitFailure, fmt.Errorf("the submission was rejected: %s", remedy(result.Submission)))
	}
	return nil
}

// withNextSlot adds to the refusal of a full mission when a slot may be free.
func withNextSlot(err error) error {
	var refused *sortie.Error
	if errors.As(err, &refused) && refused.Code == sortie.CodeMissionFull {
		if next, known := refused.Details["nextSlotAt"].(string); known {
			return Failed(exitCodeOf(err), fmt.Errorf("%w (a slot may be free at %s)", err, clean(next)))
		}
	}
	return err
}

// remedy is what helps after a rejection. Its reason is not repeated: it stands above, or in the
// JSON. The same file again helps only where what was said about it was wrong, or what arrived was
// not the file.
func remedy(rejected sortie.Submission) string {
	if rejected.VerifiedAt == nil {
		return "the file was not checked; run the same command again"
	}
	told, other := false, false
	for _, check := range rejected.Checks {
		switch {
		case check.Passed:
		case check.Name == "declared_hash":
			return "the file changed while it was sent; --again submits it once more"
		case check.Name == "area" || check.Name == "captured_in_window":
			told = true
		default:
			other = true
		}
	}
	if told && !other {
		return "if the place or the time was given wrongly, correct it and add --again; otherwise send another file"
	}
	return "send another file"
}

// announce tells a person what happens; a program is told the result.
func announce(cmd *cobra.Command, format string, args ...any) {
	if asJSON, _ := cmd.Flags().GetBool("json"); !asJSON {
		fmt.Fprintf(cmd.ErrOrStderr(), format, args...)
	}
}

// declare reserves a place for the file, or finds the one that an earlier run reserved. The key of
// a submission that is over leads to the next one's, so that whoever runs the same command again
// finds the last.
func declare(ctx context.Context, api *sortie.Client, missionID string, declaration sortie.Declaration, options submitOptions) (sortie.SubmissionDeclared, error) {
	key := cmp.Or(options.key, derivedKey([]byte(missionID+"\n"+declaration.SHA256+"\n"+api.Wallet().String())))
	for {
		declared, err := api.Declare(ctx, missionID, declaration, key)
		id := declared.SubmissionID
		var conflict *sortie.Error
		if errors.As(err, &conflict) && conflict.Code == sortie.CodeIdempotencyConflict {
			id, _ = conflict.Details["submissionId"].(string)
		}
		if id == "" || options.key != "" || declared.Upload != nil {
			return declared, err
		}
		before, readErr := api.MySubmission(ctx, id)
		if readErr != nil {
			return declared, cmp.Or(err, readErr)
		}
		switch over := before.Status == sortie.SubmissionRejected || before.Status == sortie.SubmissionWithdrawn; {
		case over && (options.again || before.VerifiedAt == nil): // what nobody looked at, such as an expired reservation, does not count
			key = derivedKey([]byte(key + "\n" + id))
		case before.Status == sortie.SubmissionRejected && err != nil:
			return declared, Failed(ExitConflict, fmt.Errorf("this file was submitted before, as %s, and is rejected (%s): %s", id, clean(before.Reason), remedy(before)))
		case over && err != nil:
			return declared, Failed(ExitConflict, fmt.Errorf("this file was submitted before, as %s, and is %s: --again submits it once more", id, before.Status))
		case err != nil:
			return declared, Failed(ExitConflict, fmt.Errorf("this file was submitted before, as %s, with another place or time; that one is %s", id, before.Status))
		default:
			return declared, nil
		}
	}
}

// upload sends the file, or what is left of it.
func upload(cmd *cobra.Command, api *sortie.Client, links sortie.UploadLinks, file *mediaFile) (sent int64, err error) {
	var first, reached atomic.Int64
	first.Store(-1)
	bar := startProgress(cmd, func() progressState {
		done := reached.Load()
		return progressState{
			doing: "Uploading", done: float64(done) / float64(file.size), text: fmt.Sprintf("%s of %s", inBytes(done), inBytes(file.size)),
			bytes: done, left: file.size - done,
		}
	})
	err = api.UploadResumable(cmd.Context(), links, file, file.size, func(sent int64) {
		first.CompareAndSwap(-1, sent)
		reached.Store(sent)
	})
	bar.stop()
	if err != nil {
		return 0, err
	}
	sent = file.size - max(0, first.Load())
	if sent == file.size {
		announce(cmd, "Uploaded %s.\n", inBytes(sent))
	} else {
		announce(cmd, "Uploaded the last %s of %s.\n", inBytes(sent), inBytes(file.size))
	}
	return sent, nil
}

// currentReservation is what was declared with the end that the reservation has by now: it moved
// while bytes arrived. Where the service does not tell, it is the end that the reservation began
// with.
func currentReservation(ctx context.Context, api *sortie.Client, declared sortie.SubmissionDeclared) sortie.SubmissionDeclared {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if submission, err := api.MySubmission(ctx, declared.SubmissionID); err == nil && submission.SlotReservedUntil != nil {
		declared.SlotReservedUntil = *submission.SlotReservedUntil
	}
	return declared
}

// interrupted says that nothing is lost yet, where that is so.
func interrupted(ctx context.Context, err error, declared sortie.SubmissionDeclared) error {
	if ctx.Err() != nil {
		return Failed(ExitInterrupted, fmt.Errorf("interrupted; run the same command until %s to go on where it was", declared.SlotReservedUntil))
	}
	var final *sortie.Error
	if errors.As(err, &final) && !isPassing(err) {
		return err
	}
	return Failed(exitCodeOf(err), fmt.Errorf("the upload of %s was interrupted: %w; run the same command until %s to go on where it was",
		declared.SubmissionID, err, declared.SlotReservedUntil))
}

// verdict waits until the submission was looked at, as long as its contributor wants to.
func verdict(cmd *cobra.Command, client *clientOptions, api *sortie.Client, id string, patience time.Duration) (submission sortie.Submission, err error) {
	submission, err = api.MySubmission(cmd.Context(), id)
	if err != nil {
		return submission, client.requestError(err)
	}
	if submission.Status != sortie.SubmissionPending || patience == 0 {
		return submission, nil
	}
	announce(cmd, "It is being checked...\n")
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	err = poll(ctx, cmd, client, func(ctx context.Context) (done bool, err error) {
		now, err := api.MySubmission(ctx, id)
		if err != nil {
			return false, err
		}
		submission = now
		return submission.Status != sortie.SubmissionPending, nil
	})
	switch {
	case err != nil && cmd.Context().Err() != nil:
		return submission, Failed(ExitInterrupted, fmt.Errorf("interrupted; the file is uploaded, and this says what becomes of it: %s submissions mine %s%s",
			program(), id, client.identityFlags()))
	case ctx.Err() != nil:
		return submission, nil // still pending, and it says so
	}
	return submission, err
}
