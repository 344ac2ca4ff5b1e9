package blob_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
)

// stores are the kinds of stores on which the tests run.
var stores = map[string]func(t *testing.T) *blob.Objects{
	"directory": func(t *testing.T) *blob.Objects { return openObjects(t, "file:"+t.TempDir()) },
	"bucket": func(t *testing.T) *blob.Objects {
		return openObjects(t, bucketURL(s3Address(t))+"&prefix="+t.Name()+"/")
	},
}

func openObjects(t *testing.T, address string) *blob.Objects {
	t.Helper()
	objects, err := blob.OpenObjects(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := objects.Close(); err != nil {
			t.Error(err)
		}
	})
	return objects
}

func onEveryStore(t *testing.T, test func(t *testing.T, objects *blob.Objects)) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// randomFile returns random bytes, their hash, and the path of a file with them.
func randomFile(t *testing.T, size int) ([]byte, sortie.Hash, string) {
	t.Helper()
	data := make([]byte, size)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return data, sortie.Hash(sha256.Sum256(data)), writeFile(t, data)
}

func put(t *testing.T, objects *blob.Objects, size int) ([]byte, sortie.Hash) {
	t.Helper()
	data, hash, path := randomFile(t, size)
	if err := objects.Put(t.Context(), hash, path); err != nil {
		t.Fatal(err)
	}
	return data, hash
}

func read(t *testing.T, objects *blob.Objects, hash sortie.Hash, offset, length int64) ([]byte, int64) {
	t.Helper()
	body, size, err := objects.Open(t.Context(), hash, offset, length)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		t.Fatal(err)
	}
	return data, size
}

func TestPutAndOpen(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		data, hash := put(t, objects, 20<<20+17) // more than one part of an upload
		for _, span := range [][2]int64{{0, -1}, {0, 100}, {1000, 65536}, {20 << 20, -1}, {20<<20 + 16, 1}, {20<<20 + 10, 1000}} {
			want := data[span[0]:]
			if span[1] >= 0 {
				want = want[:min(int64(len(want)), span[1])]
			}
			if got, size := read(t, objects, hash, span[0], span[1]); !bytes.Equal(got, want) || size != int64(len(data)) {
				t.Errorf("read %d bytes at %d: got %d bytes of an object of %d, want %d of %d", span[1], span[0], len(got), size, len(want), len(data))
			}
		}
		if got, size := read(t, objects, hash, int64(len(data)), -1); len(got) != 0 || size != int64(len(data)) {
			t.Errorf("read after the end: got %d bytes of an object of %d, want 0 of %d", len(got), size, len(data))
		}
		if err := objects.Check(t.Context(), hash); err != nil {
			t.Error(err)
		}
	})
}

func TestMissingObjects(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		_, hash, _ := randomFile(t, 10)
		if _, _, err := objects.Open(t.Context(), hash, 0, -1); !errors.Is(err, blob.ErrObjectNotFound) || errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("got error %v, want %v", err, blob.ErrObjectNotFound)
		}
		if has, err := objects.Has(t.Context(), hash); has || err != nil {
			t.Errorf("Has: got %t, %v, want false", has, err)
		}
		if err := objects.Delete(t.Context(), hash); err != nil {
			t.Error(err)
		}
		if err := objects.Check(t.Context(), hash); !errors.Is(err, blob.ErrObjectNotFound) {
			t.Errorf("got error %v, want %v", err, blob.ErrObjectNotFound)
		}
	})
}

func TestPutRefusesOtherBytes(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		for _, size := range []int{100, 20 << 20} {
			_, hash, _ := randomFile(t, size)
			_, _, other := randomFile(t, size)
			if err := objects.Put(t.Context(), hash, other); !errors.Is(err, blob.ErrObjectCorrupt) {
				t.Errorf("got error %v, want %v", err, blob.ErrObjectCorrupt)
			}
			if has, err := objects.Has(t.Context(), hash); has || err != nil {
				t.Error("Has after a put with the wrong hash, want false:", has, err)
			}
		}
	})
}

func TestPutTwiceAndDelete(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		data, hash, path := randomFile(t, 1000)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := objects.Put(t.Context(), hash, path); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got, _ := read(t, objects, hash, 0, -1); !bytes.Equal(got, data) {
			t.Error("the object has other bytes than were put")
		}
		if err := objects.Delete(t.Context(), hash); err != nil {
			t.Fatal(err)
		}
		if has, err := objects.Has(t.Context(), hash); has || err != nil {
			t.Errorf("Has: got %t, %v, want false", has, err)
		}
	})
}

func TestListIsOrdered(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		var want []sortie.Hash
		for range 20 {
			_, hash := put(t, objects, 10)
			want = append(want, hash)
		}
		slices.SortFunc(want, func(a, b sortie.Hash) int { return bytes.Compare(a[:], b[:]) })
		for _, from := range []int{0, 7, 19, 20} {
			after := sortie.Hash{}
			if from > 0 {
				after = want[from-1]
			}
			var got []sortie.Hash
			for hash, err := range objects.List(t.Context(), after) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, hash)
			}
			if !slices.Equal(got, want[from:]) {
				t.Errorf("list after %d objects: got %d hashes, want %d in order", from, len(got), len(want)-from)
			}
		}
	})
}

func TestSweepRemovesUnusedObjects(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		_, used := put(t, objects, 10)
		_, unused := put(t, objects, 10)
		inUse := func(_ context.Context, hashes []sortie.Hash) (answer []bool, err error) {
			for _, hash := range hashes {
				answer = append(answer, hash == used)
			}
			return answer, nil
		}
		if removed, err := objects.Sweep(t.Context(), time.Now().Add(-time.Hour), inUse); removed != 0 || err != nil {
			t.Error("sweep of new objects, want 0 removed:", removed, err)
		}
		if removed, err := objects.Sweep(t.Context(), time.Now().Add(time.Hour), inUse); removed != 1 || err != nil {
			t.Error("sweep of old objects, want 1 removed:", removed, err)
		}
		for hash, want := range map[sortie.Hash]bool{used: true, unused: false} {
			if has, err := objects.Has(t.Context(), hash); has != want || err != nil {
				t.Errorf("Has: got %t, %v, want %t", has, err, want)
			}
		}
		fault := errors.New("the database is unavailable")
		if _, err := objects.Sweep(t.Context(), time.Now().Add(time.Hour), func(context.Context, []sortie.Hash) ([]bool, error) { return nil, fault }); !errors.Is(err, fault) {
			t.Errorf("got error %v, want %v", err, fault)
		}
		if has, err := objects.Has(t.Context(), used); !has || err != nil {
			t.Error("Has after a sweep without answers, want true:", has, err)
		}
	})
}

func TestCanceledPut(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		_, hash, path := randomFile(t, 12<<20)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := objects.Put(ctx, hash, path); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want %v", err, context.Canceled)
		}
		if !objects.Working() {
			t.Error("Working after a canceled put: got false, want true")
		}
		if has, err := objects.Has(t.Context(), hash); has || err != nil {
			t.Errorf("Has: got %t, %v, want false", has, err)
		}
	})
}

func TestFileOfADirectoryOnly(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		data, hash := put(t, objects, 1000)
		file, err := objects.File(hash)
		if errors.Is(err, blob.ErrNotLocal) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if got, err := io.ReadAll(file); !bytes.Equal(got, data) || err != nil {
			t.Error(err)
		}
	})
}

// Fetch returns a file with the object's bytes from every store and leaves no temporary files.
func TestFetch(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		objects.TempDir = t.TempDir()
		data, hash := put(t, objects, 20<<20+17)
		path, done, err := objects.Fetch(t.Context(), hash)
		if err != nil {
			t.Fatal(err)
		}
		if got := readFile(t, path); !bytes.Equal(got, data) {
			t.Errorf("fetched %d bytes that differ from the object", len(got))
		}
		done()
		if err := objects.Check(t.Context(), hash); err != nil {
			t.Error("check after the fetch:", err)
		}
		_, missing, _ := randomFile(t, 10)
		if _, _, err := objects.Fetch(t.Context(), missing); !errors.Is(err, blob.ErrObjectNotFound) {
			t.Error("fetch of a missing object, want ErrObjectNotFound:", err)
		}
		if left, err := os.ReadDir(objects.TempDir); len(left) != 0 || err != nil {
			t.Errorf("left over: %v, %v", left, err)
		}
	})
}

func TestStat(t *testing.T) {
	onEveryStore(t, func(t *testing.T, objects *blob.Objects) {
		_, hash := put(t, objects, 1234)
		if object, err := objects.Stat(t.Context(), hash); err != nil || object.Hash != hash || object.Size != 1234 || time.Since(object.KeptAt) > time.Hour {
			t.Errorf("stat: got hash %s, size %d, time %s, error %v; want %s, 1234, now", object.Hash, object.Size, object.KeptAt, err, hash)
		}
		_, missing, _ := randomFile(t, 10)
		if _, err := objects.Stat(t.Context(), missing); !errors.Is(err, blob.ErrObjectNotFound) {
			t.Error("stat of a missing object, want ErrObjectNotFound:", err)
		}
	})
}

func TestCheckFindsAFlippedBit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects := openObjects(t, "file:"+dir)
	_, hash := put(t, objects, 1000)
	file, err := objects.File(hash)
	if err != nil {
		t.Fatal(err)
	}
	data := readFile(t, file.Name())
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	data[500] ^= 1
	if err := os.WriteFile(file.Name(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := objects.Check(t.Context(), hash); !errors.Is(err, blob.ErrObjectCorrupt) {
		t.Errorf("got error %v, want %v", err, blob.ErrObjectCorrupt)
	}
}

// An interrupted write leaves a file that is not listed as an object and that a sweep removes.
func TestSweepRemovesInterruptedWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects := openObjects(t, "file:"+dir)
	_, hash := put(t, objects, 10)
	left := filepath.Join(dir, "incoming", "123.part")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sha256", "README"), nil, 0o600); err != nil { // another program's file
		t.Fatal(err)
	}
	listed := 0
	for _, err := range objects.List(t.Context(), sortie.Hash{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
	}
	all := func(_ context.Context, hashes []sortie.Hash) ([]bool, error) {
		return slices.Repeat([]bool{true}, len(hashes)), nil
	}
	if _, err := objects.Sweep(t.Context(), time.Now().Add(time.Hour), all); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) || listed != 1 {
		t.Errorf("stat of the interrupted write: got %v, want that it does not exist; listed %d objects, want 1", err, listed)
	}
	if has, err := objects.Has(t.Context(), hash); !has || err != nil {
		t.Errorf("Has: got %t, %v, want true", has, err)
	}
}

func TestOpenObjectsRefusesBadStores(t *testing.T) {
	t.Parallel()
	file := writeFile(t, nil)
	for _, address := range []string{"", "file:", "/var/media", "ftp://x", "file:" + file, "file:" + file + "/sub"} {
		if _, err := blob.OpenObjects(t.Context(), address); err == nil {
			t.Errorf("open %q: got no error, want one", address)
		}
	}
	missing := "s3://no-such-bucket?region=us-east-1&use_path_style=true&endpoint=http://" + s3Address(t)
	if _, err := blob.OpenObjects(t.Context(), missing); err == nil {
		t.Error("open a bucket that does not exist: got no error, want one")
	}
	if _, err := blob.OpenObjects(t.Context(), bucketURL(s3Address(t))+"&anonymous=true"); err == nil || errors.Is(err, blob.ErrUnavailable) {
		t.Error("open a bucket without permission, want an error other than ErrUnavailable:", err)
	}
}

// Concurrent puts wait for each other, since each holds parts of its file in memory.
func TestBucketLimitsConcurrentPuts(t *testing.T) {
	t.Parallel()
	proxy := newFaultyProxy(t, s3Address(t))
	objects := openObjects(t, bucketURL(proxy.address())+"&prefix="+t.Name()+"/")
	_, hash, path := randomFile(t, 6<<20)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if err := objects.Put(t.Context(), hash, path); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	proxy.mu.Lock()
	defer proxy.mu.Unlock()
	if proxy.most > 8 {
		t.Errorf("16 concurrent puts used %d connections, want at most 8", proxy.most)
	}
}

// A service starts while its bucket cannot be reached, and works later.
func TestBucketUnreachableAtStart(t *testing.T) {
	t.Parallel()
	proxy := newFaultyProxy(t, s3Address(t))
	proxy.silent.Store(true)
	objects := openObjects(t, bucketURL(proxy.address())+"&prefix="+t.Name()+"/")
	if objects.Working() {
		t.Error("Working without a connection: got true, want false")
	}
	proxy.silent.Store(false)
	if err := objects.Probe(t.Context()); err != nil || !objects.Working() {
		t.Error("probe with a connection:", err)
	}
	put(t, objects, 1000)
}

// A store that cannot be reached is distinguished from one without the object.
func TestBucketUnreachable(t *testing.T) {
	t.Parallel()
	proxy := newFaultyProxy(t, s3Address(t))
	objects := openObjects(t, bucketURL(proxy.address())+"&prefix="+t.Name()+"/")
	_, hash := put(t, objects, 1000)
	_, other, path := randomFile(t, 1000)
	proxy.refuse()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := objects.Has(ctx, hash); !errors.Is(err, blob.ErrUnavailable) {
		t.Error("has, want ErrUnavailable:", err)
	}
	if _, _, err := objects.Open(ctx, hash, 0, -1); !errors.Is(err, blob.ErrUnavailable) {
		t.Error("open, want ErrUnavailable:", err)
	}
	if err := objects.Put(ctx, other, path); !errors.Is(err, blob.ErrUnavailable) {
		t.Error("put, want ErrUnavailable:", err)
	}
	for _, err := range objects.List(ctx, sortie.Hash{}) {
		if !errors.Is(err, blob.ErrUnavailable) {
			t.Error("list, want ErrUnavailable:", err)
		}
	}
	if objects.Working() {
		t.Error("Working without a connection: got true, want false")
	}
}

func TestSilentBucket(t *testing.T) {
	t.Parallel()
	proxy := newFaultyProxy(t, s3Address(t))
	objects := openObjects(t, bucketURL(proxy.address())+"&prefix="+t.Name()+"/")
	_, hash := put(t, objects, 20<<20)
	objects.SetPatience(10 * time.Second)
	body, _, err := objects.Open(t.Context(), hash, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	proxy.silent.Store(true)
	if _, err := io.Copy(io.Discard, body); !errors.Is(err, blob.ErrUnavailable) {
		t.Error("read from a silent server, want ErrUnavailable:", err)
	}
	objects.SetPatience(100 * time.Millisecond)
	if _, _, err := objects.Open(t.Context(), hash, 0, -1); !errors.Is(err, blob.ErrUnavailable) {
		t.Error("open on a silent server, want ErrUnavailable:", err)
	}
	if _, err := objects.Has(t.Context(), hash); !errors.Is(err, blob.ErrUnavailable) {
		t.Error("has on a silent server, want ErrUnavailable:", err)
	}
}

// An S3 server that dies during a transfer, in either direction, leaves no partial object.
func TestBucketThatDiesDuringATransfer(t *testing.T) {
	t.Parallel()
	server := s3Address(t)
	proxy := newFaultyProxy(t, server)
	objects := openObjects(t, bucketURL(proxy.address())+"&prefix="+t.Name()+"/")
	objects.TempDir = t.TempDir()
	_, hash := put(t, objects, 20<<20)
	objects.SetPatience(2 * time.Second)
	_, other, path := randomFile(t, 40<<20)

	proxy.dieAfter(10 << 20)
	if _, _, err := objects.Fetch(t.Context(), hash); !errors.Is(err, blob.ErrUnavailable) {
		t.Error("fetch, want ErrUnavailable:", err)
	}
	if left, err := os.ReadDir(objects.TempDir); len(left) != 0 || err != nil {
		t.Errorf("left over: %v, %v", left, err)
	}

	proxy = newFaultyProxy(t, server)
	proxy.dieAfter(20 << 20)
	objects = openObjects(t, bucketURL(proxy.address())+"&prefix="+t.Name()+"/")
	objects.SetPatience(2 * time.Second)
	if err := objects.Put(t.Context(), other, path); !errors.Is(err, blob.ErrUnavailable) {
		t.Error("put, want ErrUnavailable:", err)
	}
	again := openObjects(t, bucketURL(server)+"&prefix="+t.Name()+"/")
	if has, err := again.Has(t.Context(), other); has || err != nil {
		t.Errorf("Has after an interrupted put: got %v, %v, want false", has, err)
	}
	if err := again.Put(t.Context(), other, path); err != nil {
		t.Error("put again:", err)
	}
}
