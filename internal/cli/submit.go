package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
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
		Long: `Reserves a slot of the mission, uploads the file and waits for the verdict.

An interrupted upload continues when the same command runs again: unless given, the idempotency key is derived from the mission, the
file and your wallet. --again submits a file again that was checked and rejected.`,
		Example: `  sortie submit main-entrance-7k2m9x1p photo.jpg --lat 48.8584 --lng 2.2945 --accuracy 8 --wallet contributor1`,
		Args:    twoArgs("the mission id and the file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSubmit(cmd, client, options, args[0], args[1])
		},
	}
	client.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&options.lat, "lat", "", "latitude where it was taken, in degrees (required)")
	flags.StringVar(&options.lng, "lng", "", "longitude where it was taken, in degrees (required)")
	flags.StringVar(&options.accuracy, "accuracy", "", "accuracy of the location in meters (required)")
	flags.StringVar(&options.capturedAt, "captured-at", "", "when it was taken, such as 2026-02-02T15:04:05Z (default the time in the picture, or the modification time of the file)")
	flags.StringVar(&options.contentType, "content-type", "", "content type, such as image/jpeg (default detected)")
	flags.StringVar(&options.key, "idempotency-key", "", "identifies this submission (default derived)")
	flags.BoolVar(&options.again, "again", false, "submit a rejected or withdrawn file again")
	flags.DurationVar(&options.wait, "wait", 2*time.Minute, "how long to wait for the verdict; 0 to return at once")
	return cmd
}

// check checks the flags before a file is read or a request sent.
func (o submitOptions) check() error {
	for _, flag := range []struct{ name, value string }{{"lat", o.lat}, {"lng", o.lng}, {"accuracy", o.accuracy}} {
		if flag.value == "" {
			return UsageError("--%s is missing: give the location of the file with --lat, --lng and --accuracy", flag.name)
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

// isNumber reports whether the text is a JSON number. It is sent as written.
func isNumber(text string) bool {
	_, err := json.Marshal(json.Number(text))
	return err == nil
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
	if err := refuseDraftID(missionID, "submit"); err != nil {
		return err
	}
	ctx := cmd.Context()
	file, err := openMedia(path, options.contentType)
	if err != nil {
		return err
	}
	defer file.Close()
	api, err := client.open(ctx)
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
	announce(cmd, "Submitting %s to %q, which pays %s %s.\n", path, clean(decodeDefinition(mission).Title), mission.Reward.Amount, mission.Reward.Token)
	if err := file.hash(ctx, cmd); err != nil {
		return err
	}
	declaration := file.declaration(options)
	if options.capturedAt == "" {
		announce(cmd, "Taken at %s, %s; override it with --captured-at.\n", declaration.CapturedAt, file.takenBy)
	}
	declared, err := declare(ctx, api, missionID, declaration, options)
	if err != nil {
		return fullMissionError(client.requestError(err))
	}
	result := submitResult{}
	if declared.Upload != nil {
		result.UploadedBytes, err = upload(cmd, api, *declared.Upload, file)
		if err != nil {
			return uploadError(ctx, client.requestError(err), currentReservation(ctx, api, declared))
		}
	} else {
		announce(cmd, "It was uploaded before, as %s.\n", declared.SubmissionID)
	}
	result.Submission, err = verdict(cmd, client, api, declared.SubmissionID, options.wait)
	if err != nil {
		return err
	}
	if err := show(cmd, result, func(w io.Writer) {
		showMySubmission(w, client, result.Submission)
		showNextOfSubmission(w, client, result.Submission)
	}); err != nil {
		return err
	}
	if result.Status == sortie.SubmissionRejected {
		return Failed(ExitFailure, fmt.Errorf("the submission was rejected: %s", rejectionAdvice(result.Submission)))
	}
	return nil
}

// fullMissionError adds to the error of a full mission when a slot may be free.
func fullMissionError(err error) error {
	var refused *sortie.Error
	if errors.As(err, &refused) && refused.Code == sortie.CodeMissionFull {
		if next, known := refused.Details["nextSlotAt"].(string); known {
			return Failed(exitCodeOf(err), fmt.Errorf("%w (a slot may be free at %s)", err, clean(next)))
		}
	}
	return err
}

// rejectionAdvice returns advice after a rejection. The same file can be accepted only if its
// declaration was wrong or the upload was damaged.
func rejectionAdvice(rejected sortie.Submission) string {
	if rejected.VerifiedAt == nil {
		return "the file was not checked; run the same command again"
	}
	declaredWrong, other := false, false
	for _, check := range rejected.Checks {
		switch {
		case check.Passed:
		case check.Name == "declared_hash":
			return "the file changed during the upload; --again submits it again"
		case check.Name == "area" || check.Name == "captured_in_window":
			declaredWrong = true
		default:
			other = true
		}
	}
	if declaredWrong && !other {
		return "if the location or the time was given wrong, correct it and add --again; otherwise send another file"
	}
	return "send another file"
}

// declare reserves a slot for the file, or finds the reservation of an earlier run. The idempotency
// key of a resubmission is derived from the ended submission, so that the same command always finds
// the last one.
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
		switch ended := before.Status == sortie.SubmissionRejected || before.Status == sortie.SubmissionWithdrawn; {
		case ended && (options.again || before.VerifiedAt == nil): // one without checks, such as an expired reservation, does not count
			key = derivedKey([]byte(key + "\n" + id))
		case before.Status == sortie.SubmissionRejected && err != nil:
			return declared, Failed(ExitConflict, fmt.Errorf("this file was submitted before, as %s, and is rejected (%s): %s", id, clean(before.Reason), rejectionAdvice(before)))
		case ended && err != nil:
			return declared, Failed(ExitConflict, fmt.Errorf("this file was submitted before, as %s, and is %s: --again submits it again", id, before.Status))
		case err != nil:
			return declared, Failed(ExitConflict, fmt.Errorf("this file was submitted before, as %s, with another location or time; that one is %s", id, before.Status))
		default:
			return declared, nil
		}
	}
}

// upload sends the file, or the rest of it.
func upload(cmd *cobra.Command, api *sortie.Client, links sortie.UploadLinks, file *mediaFile) (sent int64, err error) {
	var first, reached atomic.Int64
	first.Store(-1)
	bar := startProgress(cmd, func() progressState {
		done := reached.Load()
		return progressState{
			doing: "Uploading", done: float64(done) / float64(file.size), text: fmt.Sprintf("%s of %s", formatBytes(done), formatBytes(file.size)),
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
		announce(cmd, "Uploaded %s.\n", formatBytes(sent))
	} else {
		announce(cmd, "Uploaded the last %s of %s.\n", formatBytes(sent), formatBytes(file.size))
	}
	return sent, nil
}

// currentReservation updates the end of the reservation, which is extended while bytes arrive. It
// keeps the first end if the service does not answer.
func currentReservation(ctx context.Context, api *sortie.Client, declared sortie.SubmissionDeclared) sortie.SubmissionDeclared {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if submission, err := api.MySubmission(ctx, declared.SubmissionID); err == nil && submission.SlotReservedUntil != nil {
		declared.SlotReservedUntil = *submission.SlotReservedUntil
	}
	return declared
}

// uploadError adds the time until which an interrupted upload can be continued.
func uploadError(ctx context.Context, err error, declared sortie.SubmissionDeclared) error {
	if ctx.Err() != nil {
		return Failed(ExitInterrupted, fmt.Errorf("interrupted; run the same command before %s to continue", declared.SlotReservedUntil))
	}
	var final *sortie.Error
	if errors.As(err, &final) && !isTemporary(err) {
		return err
	}
	return Failed(exitCodeOf(err), fmt.Errorf("the upload of %s was interrupted: %w; run the same command before %s to continue",
		declared.SubmissionID, err, declared.SlotReservedUntil))
}

// verdict waits until the submission is checked, at most for the given time.
func verdict(cmd *cobra.Command, client *clientOptions, api *sortie.Client, id string, timeout time.Duration) (submission sortie.Submission, err error) {
	submission, err = api.MySubmission(cmd.Context(), id)
	if err != nil {
		return submission, client.requestError(err)
	}
	if submission.Status != sortie.SubmissionPending || timeout == 0 {
		return submission, nil
	}
	announce(cmd, "Waiting for the checks...\n")
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
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
		return submission, Failed(ExitInterrupted, fmt.Errorf("interrupted; the file is uploaded. See its status with %s", client.suggest("submissions mine %s", id)))
	case ctx.Err() != nil:
		return submission, nil // still pending
	}
	return submission, err
}
