package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// wantsOutputJSON reports whether the command prints JSON.
func wantsOutputJSON(cmd *cobra.Command) bool {
	asJSON, _ := cmd.Flags().GetBool("json")
	return asJSON
}

// show prints a result as JSON for programs, or as text for people.
func show(cmd *cobra.Command, value any, text func(io.Writer)) error {
	if wantsOutputJSON(cmd) {
		return PrintJSON(cmd.OutOrStdout(), value)
	}
	text(cmd.OutOrStdout())
	return nil
}

// announce prints progress for people on standard error, or nothing with --json.
func announce(cmd *cobra.Command, format string, args ...any) {
	if !wantsOutputJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), format, args...)
	}
}

// PrintJSON writes the result of a --json command.
func PrintJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// printLine writes one JSON object on one line, for programs that read a stream.
func printLine(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// errWriter keeps the first write error. Text is printed without checking errors, and a script must
// not take half of a list for the whole.
type errWriter struct {
	io.Writer
	err error
}

func (w *errWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 2, 4, 2, ' ', 0) }

func row(table *tabwriter.Writer, name, value string) {
	fmt.Fprintf(table, "  %s\t%s\n", name, clean(value))
}

// clean replaces control characters by spaces: text from the service must not move the terminal's
// cursor or add lines.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, text)
}

// programName returns the name that this program was started with, for suggested commands.
func programName() string { return os.Args[0] }

// writeFile replaces a file atomically, after a flush to the disk.
func writeFile(path string, data []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Sync()
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}
