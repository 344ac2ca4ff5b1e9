package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

const (
	demoTimeout  = 10 * time.Minute // enough for a slow machine
	demoInterval = 200 * time.Millisecond
)

// StartDev runs `sortie dev` on free ports until ctx ends, and calls onReady when it answers.
type StartDev func(ctx context.Context, data string, stderr io.Writer, onReady func(ReadyFile)) error

// NewDemoCmd makes the command `sortie demo`, which runs its service with start.
func NewDemoCmd(start StartDev) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run through everything once: from a draft to a paid contributor and downloaded deliverables",
		Long: `Starts the service, a chain, contracts and funded wallets in this process, and runs the commands of a creator, an operator and a
contributor: a mission is created, funded, reviewed and published; a photo is submitted and accepted; the contributor is paid on the
chain; the creator downloads the photo, and the mission is closed. Everything is removed at the end, unless --dir names a directory
to keep it in.`,
		Example: `  sortie demo --dir demo`,
		Args:    NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, start, dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "keep the photo, the deliverables and the service's data in this new or empty directory")
	return cmd
}

// demoResult is what `demo --json` prints.
type demoResult struct {
	DraftID         string     `json:"draftId"`
	MissionID       string     `json:"missionId"`
	SubmissionID    string     `json:"submissionId"`
	Payout          string     `json:"payout"` // its status
	AmountBaseUnits string     `json:"amountBaseUnits"`
	TransactionHash string     `json:"transactionHash"` // that paid the contributor
	Deliverables    string     `json:"deliverables,omitempty"`
	Seconds         float64    `json:"seconds"`
	Steps           []demoStep `json:"steps"`
}

type demoStep struct {
	Did     string  `json:"did"`
	Seconds float64 `json:"seconds"` // since the start
}

func runDemo(cmd *cobra.Command, start StartDev, dir string) (err error) {
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), demoTimeout, errDemoLate)
	defer cancel()
	d := &demo{cmd: cmd, dir: dir, start: time.Now()}
	if dir == "" {
		if d.dir, err = os.MkdirTemp("", "sortie-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	} else if err := useEmpty(dir); err != nil {
		return err
	}
	stop, err := d.startService(ctx, start)
	if err != nil {
		return err
	}
	err = d.runSteps(ctx)
	if stopErr := stop(); err == nil {
		err = stopErr
	}
	if errors.Is(context.Cause(ctx), errDemoLate) {
		err = Failed(ExitFailure, errDemoLate)
	}
	if err != nil {
		return err
	}
	d.result.Seconds = time.Since(d.start).Seconds()
	if dir != "" {
		d.result.Deliverables = filepath.Join(d.dir, demoDeliverables)
	}
	return show(cmd, d.result, func(w io.Writer) {
		fmt.Fprintf(w, "\nFrom nothing to a paid contributor and a closed mission in %.1f s. Try it yourself: %s dev\n", d.result.Seconds, programName())
	})
}

var errDemoLate = fmt.Errorf("the demo did not end within %s; run %s dev and follow the README to see where it waits", demoTimeout, programName())

// useEmpty creates a directory, or uses one that is empty.
func useEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return UsageError("--dir: %w", err)
	}
	found, err := os.ReadDir(dir)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%s is not empty; name a new directory", dir)
	}
	if err != nil {
		return UsageError("--dir: %w", err)
	}
	return nil
}

// The contents of the demo's directory.
const (
	demoData         = "service"
	demoPhoto        = "photo.jpg"
	demoDeliverables = "deliverables"
)

// demo runs the commands of all parties in this process.
type demo struct {
	cmd    *cobra.Command
	dir    string
	ready  ReadyFile
	start  time.Time
	result demoResult
}

// startService runs `sortie dev` on free ports. Stop ends it and returns its error.
func (d *demo) startService(ctx context.Context, start StartDev) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan ReadyFile, 1), make(chan error, 1)
	go func() {
		ended <- start(ctx, filepath.Join(d.dir, demoData), d.cmd.ErrOrStderr(), func(file ReadyFile) { ready <- file })
	}()
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case d.ready = <-ready:
		d.record("The service, a chain, the contracts and funded wallets run at %s.", d.ready.BaseURL)
		return stop, nil
	case err := <-ended:
		cancel()
		if err == nil {
			err = ctx.Err()
		}
		return nil, err
	}
}

// record adds a step to the result, and prints it unless --json is given.
func (d *demo) record(format string, args ...any) {
	step := demoStep{Did: fmt.Sprintf(format, args...), Seconds: time.Since(d.start).Seconds()}
	d.result.Steps = append(d.result.Steps, step)
	if !wantsOutputJSON(d.cmd) {
		fmt.Fprintf(d.cmd.OutOrStdout(), "%6.1f s  %s\n", step.Seconds, step.Did)
	}
}

// run runs a command of this program with a development wallet, and decodes its output.
func (d *demo) run(ctx context.Context, wallet string, answer any, args ...string) error {
	args = append(args, "--wallet", wallet, "--url", d.ready.BaseURL, "--json")
	var stdout, stderr bytes.Buffer
	noEnvironment := func(string) (string, bool) { return "", false }
	if code := (Program{LookupEnv: noEnvironment, Stdout: &stdout, Stderr: &stderr}).Run(ctx, args); code != int(ExitOK) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return Failed(ExitCode(code), fmt.Errorf("sortie %s: %s", strings.Join(args, " "), clean(strings.TrimSpace(stderr.String()))))
	}
	if err := json.Unmarshal(stdout.Bytes(), answer); err != nil {
		return fmt.Errorf("sortie %s printed no JSON: %w", strings.Join(args, " "), err)
	}
	return nil
}

// repeatUntil runs a command until isWanted accepts its output.
func repeatUntil[T any](ctx context.Context, d *demo, wallet string, isWanted func(T) bool, args ...string) (answer T, err error) {
	ticker := time.NewTicker(demoInterval)
	defer ticker.Stop()
	for {
		answer = *new(T)
		if err := d.run(ctx, wallet, &answer, args...); err != nil || isWanted(answer) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-ticker.C:
		}
	}
}

func (d *demo) runSteps(ctx context.Context) error {
	for _, step := range []func(context.Context) error{d.createAndFund, d.review, d.submit, d.pay, d.deliver} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) createAndFund(ctx context.Context) error {
	var draft sortie.DraftCreated
	if err := d.run(ctx, "creator", &draft, "mission", "create", "--title", "Photo of the main entrance", "--reward", "2.5", "--count", "1"); err != nil {
		return err
	}
	d.result.DraftID, d.result.MissionID = draft.DraftID, draft.MissionID
	d.record("creator: mission create  -> draft %s, 2.5 USDC for one photo; nothing is locked yet", draft.DraftID)
	var funded fundResult
	trust := filepath.Join(d.dir, demoData, ReadyFileName)
	if err := d.run(ctx, "creator", &funded, "mission", "fund", draft.DraftID, "--yes", "--trust", trust); err != nil {
		return err
	}
	d.record("creator: mission fund    -> 2.5 USDC locked in the contract, transaction %s", funded.Transaction)
	return nil
}

func (d *demo) review(ctx context.Context) error {
	id := d.result.DraftID
	_, err := repeatUntil(ctx, d, "creator", func(state missionState) bool { return state.ReviewStatus == sortie.ReviewInReview }, "mission", "status", id)
	if err != nil {
		return err
	}
	d.record("service: the funding is confirmed; the mission is in review")
	var review sortie.Review
	if err := d.run(ctx, "operator", &review, "review", "approve", id); err != nil {
		return err
	}
	d.record("operator: review approve -> approved by %s", review.Decision.DecidedBy)
	if _, err = repeatUntil(ctx, d, "creator", func(state missionState) bool { return state.Published }, "mission", "status", id); err != nil {
		return err
	}
	d.record("service: the funding is final, and mission %s is published", d.result.MissionID)
	return nil
}

func (d *demo) submit(ctx context.Context) error {
	photo := filepath.Join(d.dir, demoPhoto)
	if err := takePhoto(photo); err != nil {
		return err
	}
	var submitted submitResult
	err := d.run(ctx, "contributor1", &submitted, "submit", d.result.MissionID, photo, "--lat", "48.8584", "--lng", "2.2945", "--accuracy", "8")
	if err != nil {
		return err
	}
	d.result.SubmissionID = submitted.SubmissionID
	d.record("contributor1: submit     -> %s is %s; checks: %s", submitted.SubmissionID, submitted.Status, formatChecks(submitted.Checks))
	return nil
}

// takePhoto writes a random picture, so that it is not a duplicate.
func takePhoto(path string) error {
	picture := image.NewRGBA(image.Rect(0, 0, 640, 480))
	var corners [4]float64
	for i := range corners {
		corners[i] = rand.Float64() * 255
	}
	for y := range 480 {
		for x := range 640 {
			right, down := float64(x)/640, float64(y)/480
			shade := corners[0]*(1-right)*(1-down) + corners[1]*right*(1-down) + corners[2]*(1-right)*down + corners[3]*right*down
			picture.Set(x, y, color.RGBA{R: uint8(shade), G: uint8(255 - shade), B: uint8(rand.IntN(64)), A: 255})
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(jpeg.Encode(file, picture, nil), file.Close())
}

func (d *demo) pay(ctx context.Context) error {
	paid, err := repeatUntil(ctx, d, "contributor1", func(s sortie.Submission) bool {
		return s.Payout.Status == sortie.PayoutPaid
	}, "submissions", "mine", d.result.SubmissionID)
	if err != nil {
		return err
	}
	d.result.Payout, d.result.AmountBaseUnits = string(paid.Payout.Status), paid.Payout.AmountBaseUnits
	if paid.Payout.TransactionHash != nil {
		d.result.TransactionHash = paid.Payout.TransactionHash.String()
	}
	d.record("service: contributor1 is paid %s in a final block, transaction %s", formatAmount(paid.Payout.AmountBaseUnits, paid.Payout.Token), d.result.TransactionHash)
	return nil
}

func (d *demo) deliver(ctx context.Context) error {
	var pulled pullResult
	if err := d.run(ctx, "creator", &pulled, "mission", "pull", d.result.DraftID, filepath.Join(d.dir, demoDeliverables)); err != nil {
		return err
	}
	d.record("creator: mission pull    -> %s, hashes compared, location removed", formatCount(pulled.Downloaded, "photo"))
	_, err := repeatUntil(ctx, d, "creator", func(list eventList) bool {
		return len(list.Events) > 0 && list.Events[len(list.Events)-1].Type == sortie.EventMissionCompleted
	}, "mission", "events")
	if err == nil {
		d.record("service: everything is paid, and the mission is closed on the chain")
	}
	return err
}
