package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

var ratioLine = regexp.MustCompile(`(?m)^Benchmark(\w+)Ratio(?:/(\S+?))?-\d+\s.*?\s([\d.]+) ns/ours\s+([\d.]+) ns/reference\s+([\d.]+) x-cheaper`)

// measureDigests runs the benchmarks of package funding's tests, which have the reference
// implementations.
func (b *bench) measureDigests(ctx context.Context) error {
	output, err := exec.CommandContext(ctx, "go", "test", "./internal/funding", "-run", "^$", "-bench", "Ratio", "-benchtime", "200ms").CombinedOutput()
	lines := ratioLine.FindAllStringSubmatch(string(output), -1)
	if err != nil || len(lines) == 0 {
		return fmt.Errorf("no ratios from go test ./internal/funding: %w: %s", err, output)
	}
	for _, line := range lines {
		name := strings.ToLower(line[1]) + " of " + strings.ReplaceAll(cmp.Or(line[2], "a known draft, and of a new one"), "_", " ")
		value, err := strconv.ParseFloat(line[5], 64)
		if err != nil {
			return err
		}
		b.report.add("by hand, and with the library", result{Name: name, Product: line[3] + " ns", Limit: line[4] + " ns", Value: value})
	}
	return nil
}
