package mission

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Small objects compare names by strings.EqualFold, large ones by foldName: both must agree on
// every character.
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
			t.Fatalf("foldName(%q): got %q, want an equal name", name, folded)
		}
		if unicode.SimpleFold(r) == r {
			if folded != name {
				t.Fatalf("foldName(%q), which has one case: got %q, want it unchanged", name, folded)
			}
			continue
		}
		other, known := first[folded]
		if !known {
			first[folded] = name
		} else if !strings.EqualFold(name, other) {
			t.Fatalf("foldName of the different names %q and %q: got %q for both, want different ones", name, other, folded)
		}
		if again := foldName(string(unicode.SimpleFold(r))); again != folded {
			t.Fatalf("foldName of the other case of %q: got %q, want %q", name, again, folded)
		}
	}
}
