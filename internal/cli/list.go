package cli

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sortie-labs/sortie"
)

// pageSize is the largest page of most lists of the service.
const pageSize = 100

// limitFlag is the --limit of a list. 0 lists everything.
type limitFlag int

func (f *limitFlag) register(flags *pflag.FlagSet, standard int) {
	flags.IntVar((*int)(f), "limit", standard, "list at most this many; 0 lists all")
}

func (f limitFlag) check() error {
	if f < 0 {
		return UsageError("--limit %d: want a positive number, or 0 for all", f)
	}
	return nil
}

// checkPageLimit checks the --limit of a command that shows one page.
func checkPageLimit(limit int) error {
	if limit < 1 || limit > pageSize {
		return UsageError("--limit %d: want 1 to %d", limit, pageSize)
	}
	return nil
}

// page returns the page size to request.
func (f limitFlag) page() int { return min(int(f), pageSize) }

// list prints the elements that the service returns, at most limit of them.
func list[T any](cmd *cobra.Command, client *clientOptions, limit limitFlag,
	all func(context.Context, *sortie.Client) iter.Seq2[T, error], text func(io.Writer, []T),
) error {
	if err := limit.check(); err != nil {
		return err
	}
	api, err := client.open(cmd.Context())
	if err != nil {
		return err
	}
	elements, more, err := firstOf(all(cmd.Context(), api), int(limit))
	if err != nil {
		return client.requestError(err)
	}
	return show(cmd, elements, func(w io.Writer) {
		text(w, elements)
		showMore(w, more)
	})
}

// firstOf returns the first limit elements, and whether there are more. A limit of 0 returns all of
// them.
func firstOf[T any](all iter.Seq2[T, error], limit int) (elements []T, more bool, err error) {
	elements = []T{} // an empty list is [] in JSON
	for element, err := range all {
		if err != nil {
			return nil, false, err
		}
		if limit > 0 && len(elements) == limit {
			return elements, true, nil
		}
		elements = append(elements, element)
	}
	return elements, false, nil
}

func showMore(w io.Writer, more bool) {
	if more {
		fmt.Fprintln(w, "\nThere are more: --limit 0 lists all.")
	}
}
