package blob_test

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
)

func nobody(_ context.Context, hashes []sortie.Hash) ([]bool, error) {
	return make([]bool, len(hashes)), nil
}

func anHourAgo() time.Time { return time.Now().Add(-time.Hour) }

// age makes an object in a directory old.
func age(t *testing.T, dir string, hash sortie.Hash) string {
	t.Helper()
	digits := hex.EncodeToString(hash[:])
	path := filepath.Join(dir, "sha256", digits[:2], digits)
	old := time.Now().Add(-3 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantKept(t *testing.T, objects *blob.Objects, hash sortie.Hash) {
	t.Helper()
	if err := objects.Check(t.Context(), hash); err != nil {
		t.Error(err)
	}
}

// What another process puts in the moment in which it is swept is there afterwards, and new.
func TestSweepsLoseAgainstPutsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects, other := openObjects(t, "file:"+dir), openObjects(t, "file:"+dir)
	_, hash, path := randomFile(t, 1000)
	if err := objects.Put(t.Context(), hash, path); err != nil {
		t.Fatal(err)
	}
	age(t, dir, hash)
	looks := 0
	objects.OnLooked(func() {
		looks++
		if objects.MayPut(hash) {
			t.Error("this process may put it between the look and the removal")
		}
		if err := other.Put(t.Context(), hash, path); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		if removed, err := objects.Sweep(t.Context(), anHourAgo(), nobody); removed != 0 || err != nil {
			t.Error(removed, err)
		}
		wantKept(t, objects, hash)
	}
	if looks != 1 {
		t.Errorf("%d looks: what was put does not look new", looks)
	}
}

// A process that was killed while it swept may have taken away what was just put.
func TestWhatACutOffSweepTookComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects := openObjects(t, "file:"+dir)
	_, hash := put(t, objects, 1000)
	path := age(t, dir, hash)
	if err := os.Rename(path, filepath.Join(dir, "condemned", filepath.Base(path)+".XYZ")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "condemned", "README"), nil, 0o600); err != nil { // somebody else's file
		t.Fatal(err)
	}
	if removed, err := objects.Sweep(t.Context(), anHourAgo(), nobody); removed != 0 || err != nil {
		t.Error(removed, err)
	}
	wantKept(t, objects, hash)
	age(t, dir, hash)
	if removed, err := objects.Sweep(t.Context(), anHourAgo(), nobody); removed != 1 || err != nil {
		t.Error("when it is old again:", removed, err)
	}
}

// What cannot be removed, here a directory in the place of an object, does not keep the others.
func TestSweepsGoOnBehindWhatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects := openObjects(t, "file:"+dir)
	stubborn := make([]sortie.Hash, 8)
	for i := range stubborn {
		stubborn[i][31] = byte(i + 1) // the first in order
		digits := hex.EncodeToString(stubborn[i][:])
		if err := os.MkdirAll(filepath.Join(dir, "sha256", digits[:2], digits, "something"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(dir, "incoming", "a.part", "something")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		put(t, objects, 10)
	}
	soon := time.Now().Add(time.Hour)
	removed, err := objects.Sweep(t.Context(), soon, nobody)
	if removed != 20 || err == nil || !strings.Contains(err.Error(), "a.part") || !strings.Contains(err.Error(), stubborn[0].String()) {
		t.Errorf("removed %d of 20: %v", removed, err)
	}
	if err == nil || !strings.HasSuffix(err.Error(), "; and 4 more") || strings.Contains(err.Error(), "\n") {
		t.Errorf("it tells too much: %v", err)
	}
	for _, hash := range stubborn {
		if has, err := objects.Has(t.Context(), hash); !has || err != nil {
			t.Error("it was hidden:", has, err)
		}
	}
}

// s3Proxy stands before the S3 server. Requests to remove something go through meet first, which
// may answer instead.
func s3Proxy(t *testing.T, meet func(w http.ResponseWriter, r *http.Request) (answered bool)) string {
	t.Helper()
	behind := &url.URL{Scheme: "http", Host: s3Address(t)}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind)
		r.Out.Host = r.In.Host // it is signed
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete || !meet(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return bucketURL(strings.TrimPrefix(server.URL, "http://")) + "&prefix=" + t.Name() + "/"
}

// ageInBucket makes an object of a test old, on the server's disk.
func ageInBucket(t *testing.T, hash sortie.Hash) {
	t.Helper()
	age(t, filepath.Join(sharedS3.dir, "data", bucketName, t.Name()), hash)
}

const conditionHeader = "X-Amz-If-Match-Last-Modified-Time"

// A bucket that can compare times keeps what another process puts before the removal arrives.
func TestBucketsKeepWhatIsPutBeforeItIsRemoved(t *testing.T) {
	t.Parallel()
	var objects *blob.Objects
	_, hash, path := randomFile(t, 1000)
	var removals atomic.Int64
	other := openObjects(t, bucketURL(s3Address(t))+"&prefix="+t.Name()+"/")
	objects = openObjects(t, s3Proxy(t, func(http.ResponseWriter, *http.Request) bool {
		removals.Add(1)
		if objects.MayPut(hash) {
			t.Error("this process may put it between the look and the removal")
		}
		if err := other.Put(t.Context(), hash, path); err != nil {
			t.Error(err)
		}
		return false
	}))
	if err := objects.Put(t.Context(), hash, path); err != nil {
		t.Fatal(err)
	}
	ageInBucket(t, hash)
	if removed, err := objects.Sweep(t.Context(), anHourAgo(), nobody); removed != 0 || err != nil || removals.Load() != 1 {
		t.Error(removed, err, removals.Load())
	}
	wantKept(t, objects, hash)
}

// Most buckets do not know the condition. It is tried once.
func TestBucketsThatKnowNoConditionsAreSwept(t *testing.T) {
	t.Parallel()
	var tried atomic.Int64
	objects := openObjects(t, s3Proxy(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get(conditionHeader) == "" {
			return false
		}
		tried.Add(1)
		w.WriteHeader(http.StatusNotImplemented)
		return true
	}))
	for range 3 {
		put(t, objects, 10)
	}
	if removed, err := objects.Sweep(t.Context(), time.Now().Add(time.Hour), nobody); removed != 3 || err != nil || tried.Load() != 1 {
		t.Errorf("removed %d, tried %d: %v", removed, tried.Load(), err)
	}
}

// An object that is locked does not keep the others; a bucket that says nothing ends the sweep at
// once.
func TestSweepsOfABucketThatRefuses(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	var locked atomic.Value
	var removals atomic.Int64
	objects := openObjects(t, s3Proxy(t, func(w http.ResponseWriter, r *http.Request) bool {
		removals.Add(1)
		if silent.Load() {
			panic(http.ErrAbortHandler)
		}
		if !strings.HasSuffix(r.URL.Path, locked.Load().(string)) {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	}))
	var hashes []sortie.Hash
	for range 5 {
		_, hash := put(t, objects, 10)
		hashes = append(hashes, hash)
	}
	first := slices.MinFunc(hashes, func(a, b sortie.Hash) int { return strings.Compare(a.String(), b.String()) })
	locked.Store(hex.EncodeToString(first[:]))
	removed, err := objects.Sweep(t.Context(), time.Now().Add(time.Hour), nobody)
	if removed != 4 || !errors.Is(err, blob.ErrUnavailable) || !strings.Contains(err.Error(), first.String()) {
		t.Error(removed, err)
	}
	wantKept(t, objects, first)

	put(t, objects, 10)
	silent.Store(true)
	removals.Store(0)
	if removed, err = objects.Sweep(t.Context(), time.Now().Add(time.Hour), nobody); removed != 0 || !errors.Is(err, blob.ErrUnavailable) {
		t.Error(removed, err)
	}
	if tried := removals.Load(); tried > 3 { // of one object
		t.Errorf("%d removals were tried", tried)
	}
}
