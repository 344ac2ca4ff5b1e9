package store

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
)

func duplicatesOf(t testing.TB, db *DB, submission Submission) (exact, near string) {
	t.Helper()
	exact, near, err := db.Duplicates(context.Background(), submission)
	if err != nil {
		t.Fatal(err)
	}
	return exact, near
}

// submitPicture uploads a file with a perceptual hash.
func submitPicture(t testing.TB, db *DB, slots Slots, wallet sortie.Address, hash sortie.Hash, perceptual uint64) Submission {
	t.Helper()
	media := somePicture()
	media.Perceptual = &perceptual
	submission, err := upload(db, mustDeclare(t, db, slots, wallet, drawHash().String()), hash, media)
	if err != nil {
		t.Fatal(err)
	}
	return submission
}

func testDuplicates(t *testing.T, url string) {
	db := open(t, url, Options{})
	roomy := func(s *Slots) { s.Target, s.PerContributor = 1000, 1000 }
	here, elsewhere := publish(t, db, roomy), publish(t, db, roomy)
	hash, perceptual := drawHash(), rand.Uint64()
	early := mustDeclare(t, db, here, contributor(1), "declared first, uploaded last")
	first := submitPicture(t, db, elsewhere, contributor(2), hash, perceptual)
	if exact, near := duplicatesOf(t, db, first); exact != "" || near != "" {
		t.Errorf("duplicates of the first submission: got %q and %q, want none", exact, near)
	}

	second := submitPicture(t, db, here, contributor(3), hash, perceptual^0b111111)
	if exact, near := duplicatesOf(t, db, second); exact != first.ID || near != first.ID {
		t.Errorf("the second is a duplicate of %q and %q, want %s", exact, near, first.ID)
	}
	media := somePicture()
	media.Perceptual = &perceptual
	early, err := upload(db, early, hash, media)
	if err != nil {
		t.Fatal(err)
	}
	if exact, near := duplicatesOf(t, db, early); exact != first.ID || near != first.ID {
		t.Errorf("the one that was declared first is a duplicate of %q and %q, want %s", exact, near, first.ID)
	}
	if exact, near := duplicatesOf(t, db, first); exact != early.ID || near != early.ID {
		t.Errorf("the first, asked again, is a duplicate of %q and %q, want the earliest of the others, %s", exact, near, early.ID)
	}

	// What was rejected stays in the way of others, and not of its contributor.
	hash, perceptual = drawHash(), ^perceptual
	rejected := mustMove(t, db, submitPicture(t, db, here, contributor(4), hash, perceptual), sortie.SubmissionRejected)
	mustMove(t, db, submitPicture(t, db, elsewhere, contributor(4), hash, perceptual), sortie.SubmissionWithdrawn)
	if exact, near := duplicatesOf(t, db, submitPicture(t, db, here, contributor(4), hash, perceptual)); exact != "" || near != "" {
		t.Errorf("duplicates of a second attempt: got %q and %q, want none", exact, near)
	}
	if exact, near := duplicatesOf(t, db, submitPicture(t, db, here, contributor(5), hash, perceptual)); exact != rejected.ID || near != rejected.ID {
		t.Errorf("a copy of a rejected one is a duplicate of %q and %q, want %s", exact, near, rejected.ID)
	}

	testOwnDuplicates(t, db, here, elsewhere)

	// A file that differs in what is not served is the same file.
	media = somePicture()
	media.Perceptual = nil
	hash, served := drawHash(), media.ServedHash
	stripped, err := upload(db, mustDeclare(t, db, here, contributor(7), "stripped"), hash, media)
	if err != nil {
		t.Fatal(err)
	}
	media = somePicture()
	media.Perceptual, media.ServedHash = nil, served
	padded, err := upload(db, mustDeclare(t, db, here, contributor(8), "padded"), drawHash(), media)
	if err != nil {
		t.Fatal(err)
	}
	if exact, near := duplicatesOf(t, db, padded); exact != stripped.ID || near != "" {
		t.Errorf("a copy with other bytes that are not served is a duplicate of %q and %q, want %s", exact, near, stripped.ID)
	}

	flat := mustUpload(t, db, mustDeclare(t, db, here, contributor(6), "without a picture"))
	if exact, near := duplicatesOf(t, db, flat); exact != "" || near != "" {
		t.Errorf("duplicates of a file without a picture: got %q and %q, want none", exact, near)
	}
	if exact, near := duplicatesOf(t, db, mustDeclare(t, db, here, contributor(6), "without a file")); exact != "" || near != "" {
		t.Errorf("duplicates of a submission without a file: got %q and %q, want none", exact, near)
	}
}

// testOwnDuplicates checks that a contributor cannot be paid twice for one picture, for each way to
// recognize it.
func testOwnDuplicates(t *testing.T, db *DB, here, elsewhere Slots) {
	t.Helper()
	const wallet = 9
	for _, status := range []sortie.SubmissionStatus{sortie.SubmissionPending, sortie.SubmissionFlagged, sortie.SubmissionAccepted} {
		uploaded, perceptual := drawHash(), rand.Uint64()
		media := somePicture()
		media.Perceptual = &perceptual
		own, err := upload(db, mustDeclare(t, db, here, contributor(wallet), drawHash().String()), uploaded, media)
		if err != nil {
			t.Fatal(err)
		}
		if status != sortie.SubmissionPending {
			mustMove(t, db, own, status)
		}
		again := func(hash sortie.Hash, change func(*SubmissionMedia)) Submission {
			media := somePicture()
			media.Perceptual = nil
			change(media)
			copied, err := upload(db, mustDeclare(t, db, elsewhere, contributor(wallet), drawHash().String()), hash, media)
			if err != nil {
				t.Fatal(err)
			}
			return copied
		}
		same := again(uploaded, func(*SubmissionMedia) {})
		if exact, _ := duplicatesOf(t, db, same); exact != own.ID {
			t.Errorf("one's own file, %s before, is a duplicate of %q, want %s", status, exact, own.ID)
		}
		served := again(drawHash(), func(m *SubmissionMedia) { m.ServedHash = own.Media.ServedHash })
		if exact, _ := duplicatesOf(t, db, served); exact != own.ID {
			t.Errorf("what is served of one's own file, %s before, is a duplicate of %q, want %s", status, exact, own.ID)
		}
		alike := again(drawHash(), func(m *SubmissionMedia) { m.Perceptual = &perceptual })
		if _, near := duplicatesOf(t, db, alike); near != own.ID {
			t.Errorf("one's own picture, %s before, is like %q, want %s", status, near, own.ID)
		}
	}
}

// testManyLookalikes finds one submission among thousands of similar pictures that do not count,
// with a bounded number of rows read at once.
func testManyLookalikes(t *testing.T, url string) {
	const many = maxLookalikeRows + 500
	db := open(t, url, Options{})
	slots := publish(t, db, func(s *Slots) { s.Target, s.PerContributor = 1000, 1000 })
	perceptual := rand.Uint64() &^ 0b111111 // so that the other one is after all of them
	mustTx(t, db, func(tx *Tx) error {
		for i := range many {
			if err := tx.indexPerceptual(fmt.Sprintf("sub_%026d", i), perceptual); err != nil { // of no submission
				return err
			}
		}
		return nil
	})
	mine := submitPicture(t, db, slots, contributor(1), drawHash(), perceptual)
	if _, near := duplicatesOf(t, db, mine); near != "" {
		t.Errorf("near duplicate: got %q, want none: it does not count", near)
	}
	found, err := read(context.Background(), db, func(r reader) ([]string, error) {
		ids, all, err := r.lookalikes(perceptual)
		if all {
			t.Error("these are said to be all")
		}
		return ids, err
	})
	if err != nil || len(found) > maxLookalikeRows {
		t.Errorf("lookalikes: got %d at once, error %v; want at most the limit", len(found), err)
	}
	other := submitPicture(t, db, slots, contributor(2), drawHash(), perceptual^0b111111)
	if _, near := duplicatesOf(t, db, mine); near != other.ID {
		t.Errorf("a picture is a duplicate of %q, want %s", near, other.ID)
	}
}

// TestNearDuplicatesAreComplete checks that the probed words find every near hash, and no other.
func TestNearDuplicatesAreComplete(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t), Options{})
	slots := publish(t, db, func(s *Slots) { s.Target = 1_000_000 })
	submitted := 0
	rapid.Check(t, func(rt *rapid.T) {
		perceptual := rapid.Uint64().Draw(rt, "perceptual")
		other := perceptual
		for _, bit := range rapid.SliceOfNDistinct(rapid.IntRange(0, 63), 0, 12, rapid.ID[int]).Draw(rt, "bits") {
			other ^= 1 << bit
		}
		stored := submitPicture(t, db, slots, contributor(submitted), drawHash(), perceptual)
		submitted++
		found, err := read(context.Background(), db, func(r reader) ([]string, error) {
			ids, _, err := r.lookalikes(other)
			return ids, err
		})
		if err != nil {
			rt.Fatal(err)
		}
		isFound := false
		for _, id := range found {
			isFound = isFound || id == stored.ID
		}
		if distance := bits.OnesCount64(perceptual ^ other); isFound != (distance <= nearDistance) {
			rt.Fatalf("hashes %064b and %064b, %d bits apart: got found %t, want the opposite", perceptual, other, distance, isFound)
		}
	})
}

// TestProbesAreComplete is the same for the words alone, and for many more hashes.
func TestProbesAreComplete(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for range 20_000 {
		perceptual := random.Uint64()
		other := perceptual
		for range nearDistance + 1 { // one more than is asked for
			other ^= 1 << random.IntN(64)
		}
		asked := make(map[any]bool, wordProbes)
		for _, word := range probes(other) {
			asked[word] = true
		}
		met := false
		for number := range wordCount {
			met = met || asked[perceptualWord(perceptual, number)]
		}
		if !met || len(asked) != wordProbes {
			t.Fatalf("hashes %064b and %064b: got no common word among %d, want one", perceptual, other, len(asked))
		}
	}
}
