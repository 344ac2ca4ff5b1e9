package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
)

const uploadID = "sub_01hzxk7vw3m8q2r5t9y4n6p0ab"

func openIncoming(t testing.TB, dir string) *blob.Incoming {
	t.Helper()
	incoming, err := blob.OpenIncoming(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := incoming.Close(); err != nil {
			t.Error(err)
		}
	})
	return incoming
}

func openPartial(t testing.TB, incoming *blob.Incoming, id string) *blob.Partial {
	t.Helper()
	partial, err := incoming.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := partial.Close(); err != nil {
			t.Error(err)
		}
	})
	return partial
}

func appendTo(t rapid.TB, partial *blob.Partial, data []byte) {
	t.Helper()
	before := partial.Size()
	n, err := partial.Append(context.Background(), bytes.NewReader(data), int64(len(data)))
	if err != nil || n != int64(len(data)) || partial.Size() != before+n {
		t.Fatalf("append %d bytes to %d: got %d appended, size %d, error %v", len(data), before, n, partial.Size(), err)
	}
}

func finish(t rapid.TB, partial *blob.Partial, want []byte) {
	t.Helper()
	path, hash, err := partial.Finish()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || hash != sortie.Hash(sha256.Sum256(want)) {
		t.Errorf("finished with %d bytes and hash %s, want %d bytes and %x", len(got), hash, len(want), sha256.Sum256(want))
	}
}

// A connection breaks at 99 %, the service is restarted, and the upload continues.
func TestUploadContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, _, _ := randomFile(t, 1<<20)
	cut := len(data) * 99 / 100
	lost := errors.New("connection reset")

	before := openPartial(t, openIncoming(t, dir), uploadID)
	n, err := before.Append(t.Context(), io.MultiReader(bytes.NewReader(data[:cut]), iotest.ErrReader(lost)), int64(len(data)))
	if n != int64(cut) || !errors.Is(err, lost) || errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("append up to a broken connection: got %d bytes, %v, want %d and the reader's error", n, err, cut)
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}

	after := openPartial(t, openIncoming(t, dir), uploadID)
	if after.Size() != int64(cut) {
		t.Fatalf("after a restart the upload has %d bytes, want %d", after.Size(), cut)
	}
	appendTo(t, after, data[cut:])
	finish(t, after, data)
	finish(t, after, data) // after a lost answer
}

// An upload in any sequence of requests, restarts and truncations ends with the right file and
// hash.
func TestUploadsInPieces(t *testing.T) {
	t.Parallel()
	incoming := openIncoming(t, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		partial, err := incoming.Open(uploadID)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := errors.Join(partial.Remove(), partial.Close()); err != nil {
				t.Error(err)
			}
		}()
		var want []byte
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				piece := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "piece")
				appendTo(t, partial, piece)
				want = append(want, piece...)
			},
			"too much": func(t *rapid.T) {
				limit := rapid.IntRange(0, 20).Draw(t, "limit")
				n, err := partial.Append(context.Background(), bytes.NewReader(make([]byte, 50)), int64(limit))
				if n != int64(limit) || err != nil {
					t.Fatalf("append with a limit: got %d bytes, want %d: %v", n, limit, err)
				}
				want = append(want, make([]byte, limit)...)
			},
			"again": func(t *rapid.T) {
				if err := partial.Close(); err != nil {
					t.Fatal(err)
				}
				if partial, err = incoming.Open(uploadID); err != nil {
					t.Fatal(err)
				}
			},
			"start over": func(t *rapid.T) {
				if err := partial.Cut(0); err != nil {
					t.Fatal(err)
				}
				want = nil
			},
			"": func(t *rapid.T) { finish(t, partial, want) },
		})
	})
}

func TestUploadHasOneWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := openIncoming(t, dir), openIncoming(t, dir) // as two processes
	writer := openPartial(t, first, uploadID)
	for _, incoming := range []*blob.Incoming{first, second} {
		if _, err := incoming.Open(uploadID); !errors.Is(err, blob.ErrUploadBusy) {
			t.Errorf("open by a second writer: got %v, want ErrUploadBusy", err)
		}
		other := openPartial(t, incoming, uploadID+"0")
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
	appendTo(t, writer, []byte("half"))
	for range 2 {
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	next := openPartial(t, second, uploadID)
	if next.Size() != 4 {
		t.Errorf("the next writer finds %d bytes, want 4", next.Size())
	}
	if _, err := first.Open(uploadID); !errors.Is(err, blob.ErrUploadBusy) {
		t.Errorf("open after another writer closed twice: got %v, want ErrUploadBusy", err)
	}
}

// Writers open, remove and close an upload concurrently. None may write to a file that another has
// removed.
func TestConcurrentRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, uploadID+".upload")
	var writers atomic.Int64
	var group sync.WaitGroup
	for worker := range 8 {
		incoming := openIncoming(t, dir)
		group.Go(func() {
			for turn := 0; turn < 100; {
				partial, err := incoming.Open(uploadID)
				if errors.Is(err, blob.ErrUploadBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				turn++
				if writers.Add(1) != 1 {
					t.Error("two writers have the upload open, want one")
				}
				if _, err := os.Stat(path); err != nil {
					t.Errorf("stat of the writer's file: %v", err)
				}
				writers.Add(-1)
				if (turn+worker)%2 == 0 {
					err = partial.Remove()
				}
				if err := errors.Join(err, partial.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestUploadIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	incoming := openIncoming(t, filepath.Join(dir, "in", "here"))
	for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a.b", "SUB", "a b", "a\x00", "a\n", "é", strings.Repeat("a", 65), "/etc/passwd"} {
		if _, err := incoming.Open(id); err == nil || errors.Is(err, blob.ErrUploadBusy) {
			t.Errorf("open %q: got %v, want an error for the id", id, err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "outside"), filepath.Join(dir, "in", "here", "linked.upload")); err != nil {
		t.Fatal(err)
	}
	if _, err := incoming.Open("linked"); err == nil {
		t.Error("open through a symbolic link: got no error, want one")
	}
	if _, err := os.Stat(filepath.Join(dir, "outside")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was written outside of the directory:", err)
	}
}

func TestAppendStopsWithItsContext(t *testing.T) {
	t.Parallel()
	partial := openPartial(t, openIncoming(t, t.TempDir()), uploadID)
	ctx, cancel := context.WithCancel(t.Context())
	endless := readerFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, "more"), nil
	})
	if n, err := partial.Append(ctx, endless, 1<<40); n != 4 || !errors.Is(err, context.Canceled) {
		t.Errorf("append with a canceled context: got %d bytes, %v, want 4 and canceled", n, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestTidyRemovesOldUploads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	incoming := openIncoming(t, dir)
	for _, id := range []string{"old", "young", "busy"} {
		partial := openPartial(t, incoming, id)
		appendTo(t, partial, []byte("x"))
		if id != "busy" {
			if err := partial.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	foreign := filepath.Join(dir, "README")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"old.upload", "busy.upload", "README"} {
		if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := incoming.Tidy(time.Now().Add(-24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 3 {
		t.Errorf("left over: %v, %v; want all but the old upload", left, err)
	}
	if got := openPartial(t, incoming, "old").Size(); got != 0 {
		t.Errorf("the old upload has %d bytes, want 0", got)
	}
}

func TestOpenIncomingRefusesBadDirectories(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", writeFile(t, nil), filepath.Join(writeFile(t, nil), "sub")} {
		if _, err := blob.OpenIncoming(dir); err == nil {
			t.Errorf("open %q: got no error, want one", dir)
		}
	}
}
