package links_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
)

const linkedSubmission = "sub_01jz3k8c9v7m2q4r6t8w0x2y4z"

var (
	oldKey = links.Key{ID: "2026a", Secret: []byte(strings.Repeat("o", 32))}
	newKey = links.Key{ID: "2026b", Secret: []byte(strings.Repeat("n", 32))}
	noon   = time.Unix(1_790_000_000, 0)
)

func newKeys(t testing.TB, keys ...links.Key) *links.Keys {
	t.Helper()
	ring, err := links.NewKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// protocolQuery signs a link as the protocol documents it, independently of the package.
func protocolQuery(key links.Key, submissionID, variant string, exp int64) string {
	mac := hmac.New(sha256.New, key.Secret)
	fmt.Fprintf(mac, "v1\n%s\n%s\n%d", submissionID, variant, exp)
	return fmt.Sprintf("exp=%d&kid=%s&sig=%s", exp, key.ID, base64.RawURLEncoding.EncodeToString(mac.Sum(nil)))
}

func TestLinksMatchTheProtocol(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, newKey, oldKey)
	for _, variant := range variants {
		exp := noon.Unix() + 300
		query := keys.Sign(linkedSubmission, variant, exp)
		if want := protocolQuery(newKey, linkedSubmission, variant, exp); query != want {
			t.Errorf("got %s, want %s", query, want)
		}
		if got, err := keys.Verify(linkedSubmission, variant, query, noon); err != nil || got != exp {
			t.Errorf("verify a signed link: got %d, %v, want %d", got, err, exp)
		}
		for _, other := range variants {
			if _, err := keys.Verify(linkedSubmission, other, query, noon); other != variant && sortie.ErrorCode(err) != sortie.CodeMediaURLInvalid {
				t.Errorf("a link for %s used for %s: got %v, want media_url_invalid", variant, other, err)
			}
		}
	}
}

var variants = []string{
	links.VariantOriginal, links.VariantThumbnail, links.VariantReviewOriginal, links.VariantReviewThumbnail, links.VariantUploadPut, links.VariantUploadTus,
}

func TestLinksExpireAndKeysRotate(t *testing.T) {
	t.Parallel()
	exp := noon.Unix() + 300
	before, during, after := newKeys(t, oldKey), newKeys(t, newKey, oldKey), newKeys(t, newKey)
	query := before.Sign(linkedSubmission, links.VariantOriginal, exp)
	for _, row := range []struct {
		name string
		keys *links.Keys
		now  time.Time
		want sortie.Code
	}{
		{"in time", before, noon, ""},
		{"the last second", before, noon.Add(299 * time.Second), ""},
		{"too late", before, noon.Add(300 * time.Second), sortie.CodeMediaURLExpired},
		{"while keys rotate", during, noon, ""},
		{"too late while keys rotate", during, noon.Add(time.Hour), sortie.CodeMediaURLExpired},
		{"after the key was retired", after, noon, sortie.CodeMediaURLInvalid},
	} {
		if _, err := row.keys.Verify(linkedSubmission, links.VariantOriginal, query, row.now); sortie.ErrorCode(err) != row.want {
			t.Errorf("%s: got %v, want code %q", row.name, err, row.want)
		}
	}
}

func TestOtherSpellingsOfLinksAreInvalid(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, newKey, oldKey)
	exp := noon.Unix() + 300
	query := keys.Sign(linkedSubmission, links.VariantOriginal, exp)
	parts := strings.Split(query, "&")
	signature := strings.TrimPrefix(parts[2], "sig=")
	last := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", signature[42])
	sameBytes := signature[:42] + string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last^1])
	for name, mutated := range map[string]string{
		"empty":                           "",
		"another order":                   parts[2] + "&" + parts[0] + "&" + parts[1],
		"repeated":                        query + "&" + parts[2],
		"another parameter":               query + "&x=1",
		"another parameter before":        "x=1&" + query,
		"the same bytes in base64":        parts[0] + "&" + parts[1] + "&sig=" + sameBytes,
		"padded":                          query + "=",
		"escaped":                         strings.Replace(query, "exp", "%65xp", 1),
		"upper case":                      strings.Replace(query, "exp=", "EXP=", 1),
		"zeros before the time":           strings.Replace(query, "exp=", "exp=0", 1),
		"plus before the time":            strings.Replace(query, "exp=", "exp=+", 1),
		"time as a fraction":              strings.Replace(query, "&kid", ".0&kid", 1),
		"no key":                          strings.Replace(query, "kid="+newKey.ID, "kid=", 1),
		"the other key":                   strings.Replace(query, newKey.ID, oldKey.ID, 1),
		"unknown key":                     strings.Replace(query, newKey.ID, "2026c", 1),
		"no signature":                    parts[0] + "&" + parts[1] + "&sig=",
		"too long":                        query + strings.Repeat("a", 1<<16),
		"signature of another time":       strings.Replace(keys.Sign(linkedSubmission, links.VariantOriginal, exp+1), fmt.Sprint(exp+1), fmt.Sprint(exp), 1),
		"signature of another submission": keys.Sign(linkedSubmission+"x", links.VariantOriginal, exp),
		"signature of the thumbnail":      keys.Sign(linkedSubmission, links.VariantThumbnail, exp),
		"signature of a submission with the variant in it": protocolQuery(newKey, linkedSubmission+"\noriginal", "", exp),
	} {
		if _, err := keys.Verify(linkedSubmission, links.VariantOriginal, mutated, noon); sortie.ErrorCode(err) != sortie.CodeMediaURLInvalid {
			t.Errorf("%s: got %v, want media_url_invalid", name, err)
		}
	}
	for name, subject := range map[string][2]string{
		"no submission": {"", links.VariantOriginal}, "no variant": {linkedSubmission, ""}, "line feed in the submission": {linkedSubmission + "\n", links.VariantOriginal},
		"line feed in the variant": {linkedSubmission, "original\n1"}, "path": {"../" + linkedSubmission, links.VariantOriginal}, "other variant": {linkedSubmission, "Original"},
	} {
		query := protocolQuery(newKey, subject[0], subject[1], exp)
		if _, err := keys.Verify(subject[0], subject[1], query, noon); sortie.ErrorCode(err) != sortie.CodeMediaURLInvalid {
			t.Errorf("%s: got %v, want media_url_invalid", name, err)
		}
	}
}

// A million random changes to a valid link: none is accepted.
func TestMutatedLinksAreInvalid(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, newKey, oldKey)
	query := keys.Sign(linkedSubmission, links.VariantOriginal, noon.Unix()+300)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range 1_000_000 {
		submission, variant, mutated := mutate(random, linkedSubmission), links.VariantOriginal, query
		switch random.IntN(4) {
		case 0:
			variant = links.VariantThumbnail
		case 1, 2:
			submission, mutated = linkedSubmission, mutate(random, query)
		}
		if submission == linkedSubmission && variant == links.VariantOriginal && mutated == query {
			continue
		}
		if _, err := keys.Verify(submission, variant, mutated, noon); sortie.ErrorCode(err) != sortie.CodeMediaURLInvalid {
			t.Fatalf("seed %d, mutation %d: %s/%s?%s: got %v, want media_url_invalid", seed, i, submission, variant, mutated, err)
		}
	}
}

// mutate changes, removes, inserts, repeats or swaps some bytes.
func mutate(random *rand.Rand, text string) string {
	data := []byte(text)
	for range 1 + random.IntN(3) {
		at := random.IntN(len(data))
		switch random.IntN(6) {
		case 0:
			data[at] ^= 1 << random.IntN(8)
		case 1:
			data[at] = "ABCZabcz019-_=&%+.\n\x00"[random.IntN(20)]
		case 2:
			data = append(data[:at:at], data[at+1:]...)
		case 3:
			data = append(data[:at:at], append([]byte{"Aa0_&="[random.IntN(6)]}, data[at:]...)...)
		case 4:
			data = append(data, data[at:]...)
		case 5:
			other := random.IntN(len(data))
			data[at], data[other] = data[other], data[at]
		}
		if len(data) == 0 {
			return ""
		}
	}
	return string(data)
}

func TestNewKeysRefusesBadKeys(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]links.Key{
		"no keys": nil, "short secret": {{ID: "a", Secret: make([]byte, 31)}}, "no id": {{Secret: make([]byte, 32)}}, "id with other characters": {{ID: "a&b", Secret: make([]byte, 32)}},
		"long id": {{ID: strings.Repeat("a", 33), Secret: make([]byte, 32)}}, "same id": {oldKey, {ID: oldKey.ID, Secret: newKey.Secret}},
		"same secret": {oldKey, {ID: "other", Secret: oldKey.Secret}},
	} {
		_, err := links.NewKeys(keys...)
		if err == nil {
			t.Errorf("%s: got no error, want one", name)
		} else if strings.Contains(err.Error(), "oooo") {
			t.Errorf("%s: the error contains the secret: %v", name, err)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	keys := newKeys(b, newKey, oldKey)
	buffer := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		buffer = keys.AppendQuery(buffer[:0], linkedSubmission, links.VariantOriginal, 1_790_000_300)
	}
}

func BenchmarkVerify(b *testing.B) {
	keys := newKeys(b, newKey, oldKey)
	query := keys.Sign(linkedSubmission, links.VariantOriginal, noon.Unix()+300)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keys.Verify(linkedSubmission, links.VariantOriginal, query, noon); err != nil {
			b.Fatal(err)
		}
	}
}
