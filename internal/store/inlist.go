package store

import (
	"strconv"
	"strings"
)

// lookupSize is how many values a statement looks up at once. Fewer are filled up by repeating one
// of them, so that each statement is parsed once.
const lookupSize = 64

// placeholders is a list of parameters for IN, numbered from first.
func placeholders(first, count int) string {
	var list strings.Builder
	for i := range count {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString("$" + strconv.Itoa(first+i))
	}
	return list.String()
}

// lookups cuts values into the arguments of statements that look up lookupSize of them.
func lookups[T any](values []T, run func(args []any) error) error {
	for len(values) > 0 {
		args := make([]any, lookupSize)
		for i := range args {
			args[i] = values[min(i, len(values)-1)]
		}
		if err := run(args); err != nil {
			return err
		}
		values = values[min(lookupSize, len(values)):]
	}
	return nil
}
