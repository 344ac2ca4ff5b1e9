package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
)

// A client that leaves must not get back its share of the downloads while its file is still read:
// it could start any number of readings.
func TestVerifyingAFileEndsWithTheCall(t *testing.T) {
	t.Parallel()
	objects, err := blob.OpenObjects(t.Context(), "file:"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 32<<20)
	hash, path := sortie.Hash(sha256.Sum256(content)), filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(path, content, 0o600), objects.Put(t.Context(), hash, path)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	cache, now := newVerifiedCache(), time.Now()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := cache.verify(&leavingContext{Context: ctx}, objects, hash, info, now); err != nil {
		t.Errorf("got error %v, want none: the reading had begun", err)
	}
	if !cache.knows(hash, info, now) {
		t.Error("the call returned before the file was read")
	}
	other := verifiedFile{now.Add(-verifiedFor), info.ModTime(), info.Size()}
	cache.files.Add(hash, other)
	if err := cache.verify(ctx, objects, hash, info, now); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("a client that had left: got error %v, want ErrUnavailable and no reading", err)
	}
}

// leavingContext is the context of a client that leaves right after the call has begun.
type leavingContext struct {
	context.Context
	begun bool
}

func (c *leavingContext) Err() error {
	if !c.begun {
		c.begun = true
		return nil
	}
	return c.Context.Err()
}
