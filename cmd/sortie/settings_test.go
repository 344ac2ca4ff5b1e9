package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/setting"
)

func TestSettingsAreReportedByTheirFlags(t *testing.T) {
	t.Parallel()
	commands := []*cobra.Command{newServeCmd(), newDevCmd(), newContractsDeployCmd()}
	for name, flag := range settingFlags {
		known := false
		for _, cmd := range commands {
			known = known || cmd.Flags().Lookup(flag) != nil
		}
		if !known {
			t.Errorf("setting %q: got flag --%s, want a flag of serve, dev or contracts deploy", name, flag)
		}
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"with a value":    {&setting.Error{Name: setting.USDC, Value: "0x1", Err: errors.New("no contract")}, "--usdc 0x1: no contract"},
		"without a value": {&setting.Error{Name: setting.RPC, Err: errors.New("given twice")}, "--rpc: given twice"},
		"wrapped":         {fmt.Errorf("open: %w", &setting.Error{Name: setting.Listen, Err: errors.New("in use")}), "--listen: in use"},
		"a reset":         {fmt.Errorf("another chain: %w", devnet.ErrReset), "another chain: remove the chain data (--reset)"},
		"another error":   {errors.New("disk full"), "disk full"},
	} {
		got := withFlag(c.err)
		if got.Error() != c.want || !errors.Is(got, c.err) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
