package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// installViem makes sure that viem and tus-js-client are in viem/node_modules.
var installViem = sync.OnceValue(func() error {
	_, errViem := os.Stat("viem/node_modules/viem")
	_, errTus := os.Stat("viem/node_modules/tus-js-client")
	if errViem == nil && errTus == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
	install.Dir = "viem"
	if output, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in e2e/viem: %w\n%s", err, output)
	}
	return nil
})

// A creator can use the API with viem and the documents alone.
func TestFirstMissionWithViem(t *testing.T) {
	t.Parallel()
	skipShort(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := installViem(); err != nil {
		t.Fatal(err)
	}
	dev := startDev(t)
	output, err := exec.CommandContext(ctx, "node", "viem/first-mission.mjs", dev.path, "../spec/vectors.json").CombinedOutput()
	if err != nil || !strings.Contains(string(output), "funded photo-of-the-main-entrance-") {
		t.Fatalf("run first-mission.mjs: %v\n%s", err, output)
	}
}

// A contributor can use the API with viem and tus-js-client.
func TestFirstDeliverablesWithViemAndTus(t *testing.T) {
	t.Parallel()
	skipShort(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := installViem(); err != nil {
		t.Fatal(err)
	}
	dev, directory := startDev(t), t.TempDir()
	arguments := []string{"viem/first-deliverables.mjs", dev.path}
	for name, photo := range map[string][]byte{
		"1.jpg": specimen.JPEG(specimen.Picture(640, 480, 1)), "2.png": specimen.PNG(specimen.Picture(320, 240, 2)), "3.jpg": specimen.JPEG(specimen.Picture(480, 640, 3)),
	} {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, photo, 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, path)
	}
	output, err := exec.CommandContext(ctx, "node", arguments...).CombinedOutput()
	if err != nil || !strings.Contains(string(output), "delivered 3 submissions of the-tower-from-the-river-") {
		t.Fatalf("run first-deliverables.mjs: %v\n%s", err, output)
	}
}

// documentedPrograms writes the programs of the documentation to a directory, each under the name
// that the text gives it.
func documentedPrograms(t *testing.T) (directory string) {
	t.Helper()
	text, err := os.ReadFile("../spec/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Info struct{ Description string }
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	directory = t.TempDir()
	modules, err := filepath.Abs("viem/node_modules")
	if err == nil {
		err = os.Symlink(modules, filepath.Join(directory, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)Save this as `([a-z]+\\.mjs)`.*?```js\n(.*?)```").FindAllStringSubmatch(document.Info.Description, -1)
	for _, program := range programs {
		if err := os.WriteFile(filepath.Join(directory, program[1]), []byte(program[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// The programs of the documentation, copied as they are, take a mission from its definition to its
// deliverables.
func TestDocumentedPrograms(t *testing.T) {
	t.Parallel()
	skipShort(t)
	if err := installViem(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := &programs{t: t, ctx: ctx, dev: startDev(t), directory: documentedPrograms(t)}
	ready, err := os.ReadFile(p.dev.path)
	if err != nil {
		t.Fatal(err)
	}
	p.write("ready.json", ready)
	draft, _, _ := strings.Cut(p.run("creator", "create.mjs"), " ")
	if again, _, _ := strings.Cut(p.run("creator", "create.mjs"), " "); again != draft {
		t.Errorf("run twice, create.mjs made two drafts: %s and %s", draft, again)
	}
	if output := p.run("creator", "fund.mjs", draft); !strings.Contains(output, "funded in block") {
		t.Errorf("fund.mjs: %s", output)
	}
	approved, operator := make(chan error, 1), p.dev.key(t, "operator")
	go func() { approved <- approveWhenFunded(ctx, p.dev, draft, operator) }()
	output := p.run("creator", "follow.mjs", draft)
	if err := <-approved; err != nil {
		t.Error(err)
	}
	if !strings.Contains(output, "fetch_deliverables\n") || !strings.Contains(output, "The mission is published") {
		t.Errorf("follow.mjs: %s", output)
	}
	p.contributeAndFetch(draft)
}

// programs are those of the documentation, in a directory of their own.
type programs struct {
	t         *testing.T
	ctx       context.Context
	dev       ready
	directory string
}

func (p *programs) write(name string, data []byte) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.directory, name), data, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// run returns the output of a program that runs with the key of a role.
func (p *programs) run(role, program string, args ...string) string {
	p.t.Helper()
	command := exec.CommandContext(p.ctx, "node", append([]string{program}, args...)...)
	command.Dir = p.directory
	command.Env = append(os.Environ(), "BASE_URL="+p.dev.BaseURL, "PRIVATE_KEY="+p.dev.key(p.t, role))
	output, err := command.CombinedOutput()
	if err != nil {
		p.t.Fatalf("run %s: %v\n%s", program, err, output)
	}
	return string(output)
}

// contributeAndFetch submits a photo to the only mission, twice, and fetches it.
func (p *programs) contributeAndFetch(draft string) {
	p.t.Helper()
	client, err := sortie.NewPublicClient(p.dev.BaseURL)
	if err != nil {
		p.t.Fatal(err)
	}
	feed, err := client.Feed(p.ctx, sortie.FeedQuery{})
	if err != nil || len(feed.Missions) != 1 {
		p.t.Fatalf("the feed has %d missions: %v", len(feed.Missions), err)
	}
	photo := photo(1).data
	p.write("photo.jpg", photo)
	for range 2 {
		if output := p.run("contributor1", "submit.mjs", feed.Missions[0].MissionID, "photo.jpg", "48.85837", "2.29448"); !strings.HasPrefix(output, "accepted 100 ") {
			p.t.Errorf("submit.mjs: %s", output)
		}
	}
	output := p.run("creator", "pull.mjs", draft)
	submission, _, _ := strings.Cut(output, " ")
	fetched, err := os.ReadFile(filepath.Join(p.directory, submission+".jpeg"))
	if err != nil || !strings.HasSuffix(output, fmt.Sprintf(" image/jpeg %d\n", len(fetched))) || strings.Count(output, "\n") != 1 {
		p.t.Errorf("pull.mjs: %s: %v", output, err)
	}
}

// approveWhenFunded approves the mission as the operator when it is in review.
func approveWhenFunded(ctx context.Context, dev ready, id, secret string) error {
	key, err := sortie.ParseKey(secret)
	if err != nil {
		return err
	}
	client, err := sortie.NewClient(dev.BaseURL, key)
	if err != nil {
		return err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := client.Approve(ctx, id, "")
		if sortie.ErrorCode(err) != sortie.CodeWrongState {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
