package mission_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie/internal/mission"
)

func drawEntropy(t *rapid.T) (entropy mission.Entropy) {
	copy(entropy[:], rapid.SliceOfN(rapid.Byte(), len(entropy), len(entropy)).Draw(t, "entropy"))
	return entropy
}

func TestTimedIDs(t *testing.T) {
	t.Parallel()
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	rapid.Check(t, func(t *rapid.T) {
		entropy := drawEntropy(t)
		now := time.UnixMilli(rapid.Int64Range(0, 1<<48-1).Draw(t, "now"))
		id := mission.NewDraftID(entropy, now)
		if !mission.ValidDraftID(id) || mission.ValidSubmissionID(id) || mission.ValidMissionID(id) {
			t.Fatalf("NewDraftID: got %s, want a valid draft id that is no other id", id)
		}
		if sub := mission.NewSubmissionID(entropy, now); !mission.ValidSubmissionID(sub) || sub[len("sub_"):] != id[len("draft_"):] {
			t.Fatalf("NewSubmissionID: got %s, want a valid submission id with the suffix of %s", sub, id)
		}
		value := new(big.Int)
		for _, c := range id[len("draft_"):] {
			value.Add(value.Lsh(value, 5), big.NewInt(int64(strings.IndexRune(alphabet, c))))
		}
		want := new(big.Int).Lsh(big.NewInt(now.UnixMilli()), 80)
		if want.Add(want, new(big.Int).SetBytes(entropy[:])); value.Cmp(want) != 0 {
			t.Fatalf("value of id %s: got %x, want %x", id, value, want)
		}
	})
	earlier := mission.NewDraftID(mission.Entropy{255, 255, 255, 255}, time.UnixMilli(1770000000000))
	later := mission.NewDraftID(mission.Entropy{}, time.UnixMilli(1770000000001))
	if earlier >= later {
		t.Errorf("order of ids: got %s before %s, want the earlier first", later, earlier)
	}
}

func TestMissionID(t *testing.T) {
	t.Parallel()
	for title, slug := range map[string]string{
		"Photo of the main entrance":       "photo-of-the-main-entrance",
		"  --Photo!! (of) the_entrance?? ": "photo-of-the-entrance",
		"Café Zoë, Smørrebrød & Straße":    "cafe-zoe-smorrebrod-strasse",
		"STRAẞE ÆRØ Łódź İstanbul þorn":    "strasse-aero-lodz-istanbul-thorn",
		"Cafe\u0301":                       "cafe",
		"Don't – l’été":                    "dont-lete",
		"市場の写真":                            "mission",
		"Фото 2026":                        "mission",
		"東京 Tower":                         "tower",
		"🙂🙂🙂":                              "mission",
		"2026":                             "mission",
		"24/7 shop":                        "24-7-shop",
		"Ｆｕｌｌ ｗｉｄｔｈ":                       "full-width",
		strings.Repeat("a", 120):           strings.Repeat("a", 48),
		strings.Repeat("a", 47) + " bcd":   strings.Repeat("a", 47),
		strings.Repeat("ß", 60):            strings.Repeat("s", 48),
		strings.Repeat("a ", 60):           strings.Repeat("a-", 23) + "a",
	} {
		got := mission.NewMissionID(title, mission.Entropy{0, 0x44, 0x32, 0x14, 0xc7})
		if want := slug + "-01234567"; got != want {
			t.Errorf("mission id of %q: got %s, want %s", title, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := mission.NewMissionID(rapid.String().Draw(t, "title"), drawEntropy(t))
		if !mission.ValidMissionID(id) || len(id) > 64 {
			t.Fatalf("NewMissionID: got %q, want a valid id of at most 64 bytes", id)
		}
	})
}

func TestIDForms(t *testing.T) {
	t.Parallel()
	if !mission.ValidDraftID("draft_01jh2k3m4n5p6q7r8s9t0v1w2x") || !mission.ValidSubmissionID("sub_01jh2k3m4n5p6q7r8s9t0v1w2x") {
		t.Error("valid draft and submission ids: got false, want true")
	}
	for _, bad := range []string{
		"", "draft_", "draft_01jh2k3m4n5p6q7r8s9t0v1w2", "draft_01jh2k3m4n5p6q7r8s9t0v1w2xx", "draft_01JH2K3M4N5P6Q7R8S9T0V1W2X",
		"draft_01jh2k3m4n5p6q7r8s9t0v1w2i", "draft_01jh2k3m4n5p6q7r8s9t0v1w2\u0445", "draft_01jh2k3m4n5p6q7r8s9t0v1w/x", "Draft_01jh2k3m4n5p6q7r8s9t0v1w2x",
		"draft_" + strings.Repeat("0", 10_000), "draft_01jh2k3m4n5p6q7r8s9t0v1w2\x00", "draft_..%2f3m4n5p6q7r8s9t0v1w2x",
	} {
		if mission.ValidDraftID(bad) || mission.ValidSubmissionID(strings.Replace(bad, "draft_", "sub_", 1)) {
			t.Errorf("ValidDraftID or ValidSubmissionID of %.60q: got true, want false", bad)
		}
	}
	if !mission.ValidMissionID("a-01234567") || !mission.ValidMissionID(strings.Repeat("a", 48)+"-zzzzzzzz") {
		t.Error("valid mission ids: got false, want true")
	}
	for _, bad := range []string{
		"", "-01234567", "01234567", "a-0123456", "a-0123456i", "A-01234567", "a--01234567", "a--b-01234567", "-a-01234567", "a_b-01234567",
		strings.Repeat("a", 49) + "-01234567", "a/b-01234567", "é-01234567", "a-01234567 ", "drafts", "preview",
	} {
		if mission.ValidMissionID(bad) {
			t.Errorf("ValidMissionID(%.60q): got true, want false", bad)
		}
	}
}
