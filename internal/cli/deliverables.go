package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newMissionPullCmd(client *clientOptions) *cobra.Command {
	var parallel int
	cmd := &cobra.Command{
		Use:   "pull ID DIR",
		Short: "Download all accepted submissions into a directory",
		Long: `Downloads the media of every accepted submission into a directory, one file each, and lists them in manifest.jsonl in the
order of acceptance. Every file is compared with its hash. Run it again to continue an interrupted run or to get new files; files that
are there are not downloaded again. A file that you changed is downloaded again. The file of a revoked acceptance moves to revoked/.`,
		Example: `  sortie mission pull draft_... entrances --wallet creator`,
		Args:    twoArgs("the draft id or mission id, and a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if parallel < 1 || parallel > 16 {
				return UsageError("--parallel %d: want 1 to 16", parallel)
			}
			api, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			return runPull(cmd, client, api, args[0], args[1], parallel)
		},
	}
	cmd.Flags().IntVar(&parallel, "parallel", 4, "download this many files at once, up to 16")
	return cmd
}

// pullResult is what `mission pull --json` prints.
type pullResult struct {
	MissionID        string        `json:"missionId"`
	DraftID          string        `json:"draftId"`
	Directory        string        `json:"directory"`
	Manifest         string        `json:"manifest"`
	Accepted         int           `json:"accepted"`   // submissions
	Downloaded       int           `json:"downloaded"` // files of this run
	Changed          int           `json:"changed"`    // of those, files that had other bytes before
	Unchanged        int           `json:"unchanged"`  // files that were there before
	TransferredBytes int64         `json:"transferredBytes"`
	Revoked          []string      `json:"revoked"` // submissions whose files were moved to revoked/
	Failed           []pullFailure `json:"failed"`
}

// pullFailure is a file that could not be downloaded.
type pullFailure struct {
	SubmissionID string `json:"submissionId"`
	Error        string `json:"error"`
}

func runPull(cmd *cobra.Command, client *clientOptions, api *sortie.Client, id, directory string, parallel int) error {
	ctx := cmd.Context()
	puller := &puller{api: api, id: id, parallel: parallel}
	first, err := puller.firstPage(ctx) // before the directory is created
	if err != nil {
		return unpublishedError(ctx, client, api, id, client.requestError(err))
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return UsageError("DIR: %w", err)
	}
	folder, err := openFolder(directory, first.Mission.MissionID)
	if err != nil {
		return err
	}
	defer folder.close()
	puller.folder = folder
	bar := startProgress(cmd, puller.progress)
	result, err := puller.pull(ctx, first)
	bar.stop()
	result.MissionID, result.DraftID, result.Directory = first.Mission.MissionID, first.Mission.DraftID, directory
	result.Manifest = filepath.Join(directory, manifestName)
	if err != nil {
		return pullError(ctx, client, result, err)
	}
	if err := show(cmd, result, func(w io.Writer) { showPulled(w, first.Mission.Title, result) }); err != nil {
		return err
	}
	if len(result.Failed) > 0 {
		return Failed(ExitFailure, fmt.Errorf("%s could not be downloaded", formatCount(len(result.Failed), "file")))
	}
	return nil
}

// unpublishedError adds the state of a mission that has no deliverables.
func unpublishedError(ctx context.Context, client *clientOptions, api *sortie.Client, id string, err error) error {
	if sortie.ErrorCode(err) != sortie.CodeMissionNotPublished {
		return err
	}
	status, statusErr := api.Mission(ctx, id)
	if statusErr != nil {
		return err
	}
	if status.ReviewStatus == sortie.ReviewRejected {
		return sortie.NewError(sortie.CodeMissionNotPublished, "this mission was rejected and has no deliverables; see why with %s",
			client.suggest("mission doctor %s", status.DraftID))
	}
	word, sentence := formatState(status)
	return sortie.NewError(sortie.CodeMissionNotPublished, "this mission is not published, so there are no deliverables yet; it is %s: %s", word, sentence)
}

// pullError adds what is kept when a run ends early.
func pullError(ctx context.Context, client *clientOptions, result pullResult, err error) error {
	code := exitCodeOf(client.requestError(err))
	if ctx.Err() != nil {
		code, err = ExitInterrupted, errors.New("interrupted")
	}
	return Failed(code, fmt.Errorf("%w; %s and parts of others are kept: run it again to continue", err, formatCount(result.Downloaded+result.Unchanged, "file")))
}

func showPulled(w io.Writer, title string, result pullResult) {
	switch {
	case result.Accepted == 0:
		fmt.Fprintf(w, "Nothing was accepted for %q yet.\n", clean(title))
	case result.Downloaded == 0 && len(result.Failed) == 0:
		fmt.Fprintf(w, "%s of %q in %s: nothing is new, and all hashes match.\n", formatCount(result.Unchanged, "file"), clean(title), result.Directory)
	default:
		fmt.Fprintf(w, "Downloaded %s (%s) of %q to %s", formatCount(result.Downloaded, "file"), formatBytes(result.TransferredBytes), clean(title), result.Directory)
		if result.Unchanged > 0 {
			fmt.Fprintf(w, "; %s there before", wereOrWas(result.Unchanged))
		}
		if result.Changed > 0 {
			fmt.Fprintf(w, "; %s changed here and downloaded again", wereOrWas(result.Changed))
		}
		fmt.Fprintln(w, ". All hashes match.")
	}
	for _, id := range result.Revoked {
		fmt.Fprintf(w, "  no longer accepted: %s, moved to %s\n", id, filepath.Join(result.Directory, revokedName))
	}
	for _, failure := range result.Failed {
		fmt.Fprintf(w, "  failed: %s: %s\n", clean(failure.SubmissionID), clean(failure.Error))
	}
}

func wereOrWas(n int) string {
	if n == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", n)
}
