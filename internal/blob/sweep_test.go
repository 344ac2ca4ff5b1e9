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

// unused reports every object as unused.
func unused(_ context.Context, hashes []sortie.Hash) ([]bool, error) {
	return make([]bool, len(hashes)), nil
}

func anHourAgo() time.Time { return time.Now().Add(-time.Hour) }

// age makes an object in a directory three hours old.
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

// An object that another process puts while it is swept is kept, and new.
func TestSweepKeepsObjectsPutByOtherProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects, other := openObjects(t, "file:"+dir), openObjects(t, "file:"+dir)
	_, hash, path := randomFile(t, 1000)
	if err := objects.Put(t.Context(), hash, path); err != nil {
		t.Fatal(err)
	}
	age(t, dir, hash)
	checks := 0
	objects.OnChecked(func() {
		checks++
		if objects.MayPut(hash) {
			t.Error("this process may put the object between its check and its removal")
		}
		if err := other.Put(t.Context(), hash, path); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		if removed, err := objects.Sweep(t.Context(), anHourAgo(), unused); removed != 0 || err != nil {
			t.Errorf("sweep removed %d objects, want 0; error %v", removed, err)
		}
		wantKept(t, objects, hash)
	}
	if checks != 1 {
		t.Errorf("the object was checked for removal %d times, want 1: the put must make it new", checks)
	}
}

// A process that was killed during a sweep may have moved away an object that was just put.
func TestSweepRestoresObjectsOfAnInterruptedSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects := openObjects(t, "file:"+dir)
	_, hash := put(t, objects, 1000)
	path := age(t, dir, hash)
	if err := os.Rename(path, filepath.Join(dir, "condemned", filepath.Base(path)+".XYZ")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "condemned", "README"), nil, 0o600); err != nil { // another program's file
		t.Fatal(err)
	}
	if removed, err := objects.Sweep(t.Context(), anHourAgo(), unused); removed != 0 || err != nil {
		t.Errorf("sweep removed %d objects, want 0; error %v", removed, err)
	}
	wantKept(t, objects, hash)
	age(t, dir, hash)
	if removed, err := objects.Sweep(t.Context(), anHourAgo(), unused); removed != 1 || err != nil {
		t.Error("sweep when it is old again, want 1 removed:", removed, err)
	}
}

// An object that cannot be removed, here a directory with its name, does not stop the sweep.
func TestSweepContinuesAfterErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects := openObjects(t, "file:"+dir)
	unremovable := make([]sortie.Hash, 8)
	for i := range unremovable {
		unremovable[i][31] = byte(i + 1) // the first in order
		digits := hex.EncodeToString(unremovable[i][:])
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
	removed, err := objects.Sweep(t.Context(), soon, unused)
	if removed != 20 || err == nil || !strings.Contains(err.Error(), "a.part") || !strings.Contains(err.Error(), unremovable[0].String()) {
		t.Errorf("removed %d objects, want 20 and the errors of the others: %v", removed, err)
	}
	if err == nil || !strings.HasSuffix(err.Error(), "; and 4 more") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %v, want five errors in one line and \"; and 4 more\"", err)
	}
	for _, hash := range unremovable {
		if has, err := objects.Has(t.Context(), hash); !has || err != nil {
			t.Error("Has of an object that cannot be removed, want true:", has, err)
		}
	}
}

// s3Proxy is a proxy of the S3 server. DELETE requests go to intercept first, which may answer
// them.
func s3Proxy(t *testing.T, intercept func(w http.ResponseWriter, r *http.Request) (answered bool)) string {
	t.Helper()
	target := &url.URL{Scheme: "http", Host: s3Address(t)}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete || !intercept(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return bucketURL(strings.TrimPrefix(server.URL, "http://")) + "&prefix=" + t.Name() + "/"
}

// ageInBucket makes an object three hours old, on the server's disk.
func ageInBucket(t *testing.T, hash sortie.Hash) {
	t.Helper()
	age(t, filepath.Join(sharedS3.dir, "data", bucketName, t.Name()), hash)
}

const conditionHeader = "X-Amz-If-Match-Last-Modified-Time"

// A bucket with conditional removal keeps an object that another process puts before the removal
// arrives.
func TestBucketSweepKeepsObjectsPutByOtherProcesses(t *testing.T) {
	t.Parallel()
	var objects *blob.Objects
	_, hash, path := randomFile(t, 1000)
	var removals atomic.Int64
	other := openObjects(t, bucketURL(s3Address(t))+"&prefix="+t.Name()+"/")
	objects = openObjects(t, s3Proxy(t, func(http.ResponseWriter, *http.Request) bool {
		removals.Add(1)
		if objects.MayPut(hash) {
			t.Error("this process may put the object between its check and its removal")
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
	if removed, err := objects.Sweep(t.Context(), anHourAgo(), unused); removed != 0 || err != nil || removals.Load() != 1 {
		t.Errorf("sweep removed %d objects with %d requests, want 0 with 1; error %v", removed, removals.Load(), err)
	}
	wantKept(t, objects, hash)
}

// Most buckets do not support the condition. It is tried once.
func TestSweepOfABucketWithoutConditions(t *testing.T) {
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
	if removed, err := objects.Sweep(t.Context(), time.Now().Add(time.Hour), unused); removed != 3 || err != nil || tried.Load() != 1 {
		t.Errorf("removed %d objects and tried the condition %d times, want 3 and 1: %v", removed, tried.Load(), err)
	}
}

// A locked object does not stop the sweep; a silent bucket ends it at once.
func TestSweepOfABucketThatRefuses(t *testing.T) {
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
	removed, err := objects.Sweep(t.Context(), time.Now().Add(time.Hour), unused)
	if removed != 4 || !errors.Is(err, blob.ErrUnavailable) || !strings.Contains(err.Error(), first.String()) {
		t.Errorf("sweep removed %d objects, want 4; error %v", removed, err)
	}
	wantKept(t, objects, first)

	put(t, objects, 10)
	silent.Store(true)
	removals.Store(0)
	if removed, err = objects.Sweep(t.Context(), time.Now().Add(time.Hour), unused); removed != 0 || !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("sweep removed %d objects, want 0; error %v", removed, err)
	}
	if tried := removals.Load(); tried > 3 { // of one object
		t.Errorf("%d removals were tried, want at most 3", tried)
	}
}
