package ingest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// Names under which this program acts as a reader of files that was taken over.
const (
	attackingChild  = "attacking-child"
	bombingChild    = "bombing-child"
	attackingFFmpeg = fakePrefix + "attack"
)

func init() {
	fakes["attack"] = func() {
		if worked := escapes(); len(worked) > 0 {
			fmt.Fprintln(os.Stderr, "escaped:", strings.Join(worked, ", "))
			os.Exit(1)
		}
		startShell()
		fmt.Fprintln(os.Stderr, "isolated")
		os.Exit(1)
	}
	otherMains[attackedService] = runAttackedService
}

// attackedService is the argument with which this program is a service whose readers of files are
// taken over.
const attackedService = "attacked-service"

// siteReport is the report of such a service.
type siteReport struct {
	Missing     []string // result of CheckIsolation
	Check       string
	NotIsolated bool

	Child, ChildBomb, FFmpeg string // output of the attackers
	Picture, Video           string // errors for valid files
}

func runAttackedService(args []string) int {
	dir, place := args[0], args[1]
	isolation, err := ingest.ParseIsolation(args[2])
	if err == nil {
		err = enter(place)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	config := ingest.Config{TempDir: dir, Isolation: isolation, Timeout: 2 * time.Minute, Executable: file("child"), FFmpeg: file(fakePrefix + "shows-nothing")}
	ctx := context.Background()
	var report siteReport
	report.Missing, err = ingest.New(config).CheckIsolation(ctx)
	report.Check, report.NotIsolated = fmt.Sprint(err), errors.Is(err, ingest.ErrNotIsolated)
	_, err = ingest.New(config).Ingest(ctx, file("photo.jpg"), "image/jpeg")
	report.Picture = fmt.Sprint(err)
	honest := ingest.New(config)
	honest.SetStillMemory(fakeMemory)
	_, err = honest.Ingest(ctx, file("video.mp4"), "video/mp4")
	report.Video = fmt.Sprint(err)

	config.FFmpeg = file(attackingFFmpeg)
	attacked := ingest.New(config)
	attacked.SetStillMemory(fakeMemory)
	attacked.OnStderr(func(stderr string) { report.FFmpeg = cmp.Or(report.FFmpeg, strings.TrimSpace(stderr)) }) // it is started twice
	_, _ = attacked.Ingest(ctx, file("video.mp4"), "video/mp4")
	for name, result := range map[string]*string{attackingChild: &report.Child, bombingChild: &report.ChildBomb} {
		config.Executable = file(name)
		_ = os.WriteFile(file(secretFile), []byte("secret"), 0o600) // an earlier attack may have deleted it
		_, err = ingest.New(config).Ingest(ctx, file("photo.jpg"), "image/jpeg")
		*result = fmt.Sprint(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(report)
	return 0
}

// The environments in which a service can run.
const (
	onTheMachine         = "on the machine"
	inAContainer         = "in a container"
	withoutLandlock      = "in a container whose profile does not know Landlock"
	withoutSystemFilters = "in a container whose profile refuses seccomp"
)

func enter(place string) error {
	switch place {
	case inAContainer:
		return ingest.EnterContainer()
	case withoutLandlock:
		return ingest.EnterContainer(unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF)
	case withoutSystemFilters:
		return ingest.EnterContainer(unix.SYS_SECCOMP)
	}
	return nil
}

// runSite runs an attacked service as an ordinary user.
func runSite(t *testing.T, place string, isolation ingest.Isolation) (report siteReport) {
	t.Helper()
	if raceDetector {
		t.Skip("a program with the race detector needs more memory than a child has")
	}
	dir := newSite(t)
	service := exec.Command(filepath.Join(dir, "child"), attackedService, dir, place, isolation.String())
	var stderr bytes.Buffer
	service.Stderr = &stderr
	if os.Getuid() == 0 {
		service.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
	}
	output, err := service.Output()
	if err != nil || json.Unmarshal(output, &report) != nil {
		t.Fatalf("the service ended with %v and the output %s%s", err, output, &stderr)
	}
	return report
}

const ordinaryUser = 65534

// newSite returns a directory of the ordinary user with this program under its names, media files,
// and a secret.
func newSite(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sortie-site-*") // t.TempDir can be entered by its owner only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "child")
	copyProgram(t, program)
	for _, name := range []string{attackingChild, bombingChild, attackingFFmpeg, fakePrefix + "shows-nothing"} {
		if err := os.Link(program, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{
		"photo.jpg": specimen.JPEG(specimen.Picture(10, 10, 1)), "video.mp4": specimen.File("plain.mp4"), secretFile: []byte("secret"),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() != 0 {
		return dir
	}
	for _, name := range []string{".", "child", "photo.jpg", "video.mp4", secretFile} {
		if err := os.Chown(filepath.Join(dir, name), ordinaryUser, ordinaryUser); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func copyProgram(t *testing.T, path string) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	syscall.ForkLock.RLock() // a process that is started now would keep the program open for writing, so that it could not be run
	defer syscall.ForkLock.RUnlock()
	program, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err == nil {
		_, err = io.Copy(program, self)
		err = errors.Join(err, program.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Code that took over a child or ffmpeg reaches nothing, even where the kernel lets a user trace
// its own processes.
func TestAttackersAreIsolated(t *testing.T) {
	t.Parallel()
	for _, place := range []string{onTheMachine, inAContainer} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			report := runSite(t, place, ingest.IsolationRequired)
			if report.Check != "<nil>" || len(report.Missing) > 0 || report.Picture != "<nil>" || report.Video != "<nil>" {
				t.Errorf("got the check %q, missing %q, picture %q, video %q, want no error", report.Check, report.Missing, report.Picture, report.Video)
			}
			if report.FFmpeg != "isolated" {
				t.Errorf("ffmpeg: got %q, want %q", report.FFmpeg, "isolated")
			}
			for name, result := range map[string]string{"the child": report.Child, "the child with threads": report.ChildBomb} {
				if result == "<nil>" || strings.Contains(result, "escaped") {
					t.Errorf("%s: got %q, want an error without an escape", name, result)
				}
			}
			if want := "exit status 4"; !strings.Contains(report.Child, want) {
				t.Errorf("the child: got %q, want %q", report.Child, want)
			}
		})
	}
}

// The attacks are real: without isolation they work.
func TestAttacksWorkWithoutIsolation(t *testing.T) {
	t.Parallel()
	report := runSite(t, onTheMachine, ingest.IsolationOff)
	if report.Check != "<nil>" || len(report.Missing) != 1 {
		t.Errorf("got the check %q and %q, want no error and one missing layer", report.Check, report.Missing)
	}
	for name, result := range map[string]string{"ffmpeg": report.FFmpeg, "the child": report.Child} {
		for _, attack := range []string{"read the keystore", "read the parent's memory", "trace the parent", "signal the parent", "start a process", "open an Internet socket"} {
			if !strings.Contains(result, attack) {
				t.Errorf("%s: got %q, want %q to work", name, result, attack)
			}
		}
	}
	if !strings.Contains(report.ChildBomb, "escaped") {
		t.Errorf("threads: got %q, want them to start", report.ChildBomb)
	}
}

// A missing layer is always reported.
func TestMissingLayersOfIsolation(t *testing.T) {
	t.Parallel()
	t.Run("Landlock, required", func(t *testing.T) {
		t.Parallel()
		report := runSite(t, withoutLandlock, ingest.IsolationRequired)
		if !report.NotIsolated || report.Picture != "<nil>" || !strings.Contains(report.Video, ingest.ErrNotIsolated.Error()) {
			t.Errorf("got the check %q, picture %q, video %q, want a refusal of the check and the video", report.Check, report.Picture, report.Video)
		}
		if report.FFmpeg == "" || strings.Contains(report.FFmpeg, "escaped") || strings.Contains(report.FFmpeg, "isolated") {
			t.Errorf("ffmpeg: got %q, want it not to be started", report.FFmpeg)
		}
	})
	t.Run("Landlock, best effort", func(t *testing.T) {
		t.Parallel()
		report := runSite(t, withoutLandlock, ingest.IsolationBestEffort)
		if report.Check != "<nil>" || len(report.Missing) != 1 || report.Video != "<nil>" {
			t.Errorf("got the check %q, missing %q, video %q, want one missing layer and no error", report.Check, report.Missing, report.Video)
		}
		allowed := []string{"read the system's users", "read the keystore"}
		for escape := range strings.SplitSeq(strings.TrimPrefix(report.FFmpeg, "escaped: "), ", ") {
			if strings.HasPrefix(report.FFmpeg, "escaped") && !slices.Contains(allowed, escape) && !strings.Contains(escape, "open the parent's") && !strings.Contains(escape, "list the parent's") {
				t.Errorf("ffmpeg: got %q, want the filter of system calls to hold", escape)
			}
		}
	})
	t.Run("seccomp, required", func(t *testing.T) {
		t.Parallel()
		report := runSite(t, withoutSystemFilters, ingest.IsolationRequired)
		if !report.NotIsolated || !strings.Contains(report.Picture, ingest.ErrNotIsolated.Error()) || !strings.Contains(report.Child, ingest.ErrNotIsolated.Error()) {
			t.Errorf("got the check %q, picture %q, child %q, want a refusal of each", report.Check, report.Picture, report.Child)
		}
	})
	t.Run("seccomp, best effort", func(t *testing.T) {
		t.Parallel()
		report := runSite(t, withoutSystemFilters, ingest.IsolationBestEffort)
		if report.Check != "<nil>" || len(report.Missing) != 1 || report.Picture != "<nil>" {
			t.Errorf("got the check %q, missing %q, picture %q, want one missing layer and no error", report.Check, report.Missing, report.Picture)
		}
	})
}

// The real ffmpeg works in isolation.
func TestFFmpegWorksInIsolation(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg")
	}
	ingester := newIngester(t, func(c *ingest.Config) { c.FFmpeg = ffmpeg })
	if err := ingester.CheckFFmpeg(t.Context()); err != nil {
		t.Errorf("start ffmpeg: got %v, want no error", err)
	}
	for name, mediaType := range map[string]string{"plain.mp4": "video/mp4", "phone.mov": "video/quicktime"} {
		result, err := ingester.Ingest(t.Context(), writeFile(t, specimen.File(name)), mediaType)
		if err != nil || result.Thumbnail == "" || result.Doubt != nil {
			t.Errorf("%s: got %v, thumbnail %q, doubt %v, want a thumbnail", name, err, result.Thumbnail, result.Doubt)
		}
	}
}

// A file that is not a program is reported before the first video.
func TestCheckFFmpegReportsBadPrograms(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"a file that is not a program": writeFile(t, []byte("x")), "a program that fails": "/bin/false"} {
		ingester := newIngester(t, func(c *ingest.Config) { c.FFmpeg = program })
		if err := ingester.CheckFFmpeg(t.Context()); err == nil {
			t.Errorf("CheckFFmpeg with %s: got no error, want one", name)
		}
	}
}
