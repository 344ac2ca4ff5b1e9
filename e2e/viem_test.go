package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A creator's developer has the documents and viem, and nothing of ours.
func TestFirstMissionWithViem(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := os.Stat("viem/node_modules/viem"); err != nil {
		install := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
		install.Dir = "viem"
		if output, err := install.CombinedOutput(); err != nil {
			t.Fatalf("npm ci in e2e/viem: %v\n%s", err, output)
		}
	}
	dev := startDev(t)
	output, err := exec.CommandContext(ctx, "node", "viem/first-mission.mjs", dev.path, "../spec/vectors.json").CombinedOutput()
	if err != nil || !strings.Contains(string(output), "funded photo-of-the-main-entrance-") {
		t.Fatalf("%v\n%s", err, output)
	}
}
