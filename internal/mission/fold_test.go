package mission

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Few names are compared by strings.EqualFold and many by their folding: both must agree on every
// character.
func TestFoldingIsThatOfEqualFold(t *testing.T) {
	t.Parallel()
	first := map[string]string{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		name := string(r)
		folded := foldName(name)
		if !strings.EqualFold(name, folded) {
			t.Fatalf("%q folds to %q, which is another name", name, folded)
		}
		if unicode.SimpleFold(r) == r {
			if folded != name {
				t.Fatalf("%q has no other case and folds to %q", name, folded)
			}
			continue
		}
		other, known := first[folded]
		if !known {
			first[folded] = name
		} else if !strings.EqualFold(name, other) {
			t.Fatalf("%q and %q are different and fold to %q", name, other, folded)
		}
		if again := foldName(string(unicode.SimpleFold(r))); again != folded {
			t.Fatalf("%q folds to %q, its other case to %q", name, folded, again)
		}
	}
}
