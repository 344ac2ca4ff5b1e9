package store

import (
	"strconv"
	"strings"
)

// lookupSize is the number of values in the IN list of a statement. Shorter lists are filled by
// repeating a value, so that each statement is parsed once.
const lookupSize = 64

// placeholders returns a list of parameters for IN, numbered from first.
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

// lookups splits values into the arguments of statements with lookupSize values each.
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
