package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// What can be wrong with an object or the place where objects are kept.
var (
	ErrObjectNotFound = errors.New("no such object")
	ErrObjectCorrupt  = errors.New("the object's bytes are not those of its name")
	ErrUnavailable    = errors.New("the media store cannot be used now")
	ErrNoRoom         = fmt.Errorf("%w: its disk is full", ErrUnavailable)
	ErrNotLocal       = errors.New("the media store is not a directory on this machine")
)

// Objects keeps files under the SHA-256 hash of their bytes. An object is there whole or not at
// all, and never changes. It is safe for use by many at once, in several processes too.
type Objects struct {
	TempDir string // where [Objects.Fetch] puts what it must download; the system's, if empty

	condition
	store   objectStore
	putting [256]sync.RWMutex // by the first byte of the hash: a sweep leaves what is being put
}

// Object is what [Objects.Stat] tells of an object.
type Object struct {
	Hash   sortie.Hash
	Size   int64
	KeptAt time.Time // when it was last put
}

// objectStore is a directory or a bucket. Its keys are those that objectKey makes.
type objectStore interface {
	// probe fails when nothing could be kept now.
	probe(ctx context.Context) error
	// put keeps size bytes of source. It calls verify when it has read them and before anybody can
	// see them.
	put(ctx context.Context, key string, source io.Reader, size int64, verify func() error) error
	open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error)
	file(key string) (*os.File, error)
	stat(ctx context.Context, key string) (Object, error)
	remove(ctx context.Context, key string) error
	// sweep removes an object that was last put before the given time, if it is, and reports
	// whether it did.
	sweep(ctx context.Context, key string, before time.Time) (bool, error)
	list(ctx context.Context, after string) iter.Seq2[string, error]
	tidy(ctx context.Context, before time.Time) error
	close() error
}

// OpenObjects opens the store that a URL names: file:DIR for a directory, which is made if it does
// not exist, or s3://BUCKET?region=...&endpoint=... for a bucket, which must exist. It fails when
// nothing could be kept there. A bucket that merely cannot be reached is opened all the same, not
// [Objects.Working]: everything else need not wait for it.
func OpenObjects(ctx context.Context, url string) (*Objects, error) {
	o := &Objects{}
	var err error
	scheme, rest, _ := strings.Cut(url, ":")
	switch {
	case scheme == "file":
		o.store, err = openDirectory(strings.TrimPrefix(rest, "//"))
	case scheme == "s3" && strings.HasPrefix(rest, "//"):
		o.store, err = openBucket(url)
	default:
		return nil, fmt.Errorf("media store %.20q: want file:DIR or s3://BUCKET", scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("open media store: %w", err)
	}
	if err := o.Probe(ctx); err != nil && (scheme == "file" || !errors.Is(err, ErrUnavailable)) {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// Probe fails when nothing could be kept now: with [ErrUnavailable] unless somebody must change
// something first.
func (o *Objects) Probe(ctx context.Context) error {
	if err := o.noted(o.store.probe(ctx)); err != nil {
		return fmt.Errorf("try the media store: %w", err)
	}
	return nil
}

// Close gives back what the store holds on to.
func (o *Objects) Close() error { return o.store.close() }

const keyPrefix = "sha256/"

// TempPattern names the temporary directories of downloaded objects and of ingest results, so that
// one sweep of the directory removes both.
const TempPattern = "sortie-media-*"

// objectKey spreads objects over 256 directories by the first byte of their hash.
func objectKey(hash sortie.Hash) string {
	digits := hex.EncodeToString(hash[:])
	return keyPrefix + digits[:2] + "/" + digits
}

// parseKey is the reverse of objectKey. Of what others put into the store it says false.
func parseKey(key string) (hash sortie.Hash, ok bool) {
	digits := key[strings.LastIndexByte(key, '/')+1:]
	n, err := hex.Decode(hash[:], []byte(digits[:min(len(digits), 2*len(hash))]))
	return hash, err == nil && n == len(hash) && objectKey(hash) == key
}

// Put keeps the file at path, if its bytes have the hash: [ErrObjectCorrupt] if not. When it
// returns, the object survives a power cut. Putting what is already there is allowed, and makes it
// new in the eyes of [Objects.Sweep].
func (o *Objects) Put(ctx context.Context, hash sortie.Hash, path string) error {
	source, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("keep object: %w", err)
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return fmt.Errorf("keep object: %w", err)
	}
	sum := sha256.New()
	verify := func() error {
		if sortie.Hash(sum.Sum(nil)) != hash {
			return ErrObjectCorrupt
		}
		return nil
	}
	putting := &o.putting[hash[0]]
	putting.RLock()
	defer putting.RUnlock()
	if err := o.noted(o.store.put(ctx, objectKey(hash), io.TeeReader(source, sum), info.Size(), verify)); err != nil {
		return fmt.Errorf("keep object %s: %w", hash, err)
	}
	return nil
}

// Open reads an object from offset on, length bytes or, if length is negative, to its end. It gives
// the size of the whole object too. An offset behind the end gives an empty reader.
func (o *Objects) Open(ctx context.Context, hash sortie.Hash, offset, length int64) (body io.ReadCloser, size int64, err error) {
	if body, size, err = o.store.open(ctx, objectKey(hash), max(0, offset), length); o.noted(err) != nil {
		return nil, 0, fmt.Errorf("open object %s: %w", hash, err)
	}
	return body, size, nil
}

// File opens an object as a file, which the kernel can send by itself. It gives [ErrNotLocal]
// unless objects are kept in a directory.
func (o *Objects) File(hash sortie.Hash) (*os.File, error) {
	file, err := o.store.file(objectKey(hash))
	if o.noted(err) != nil {
		return nil, fmt.Errorf("open object %s: %w", hash, err)
	}
	return file, nil
}

// Stat tells of an object without reading it. It gives [ErrObjectNotFound] when it is not kept.
func (o *Objects) Stat(ctx context.Context, hash sortie.Hash) (Object, error) {
	object, err := o.store.stat(ctx, objectKey(hash))
	if o.noted(err) != nil {
		return Object{}, fmt.Errorf("look for object %s: %w", hash, err)
	}
	object.Hash = hash
	return object, nil
}

// Delete removes an object. One that is not there is no error.
func (o *Objects) Delete(ctx context.Context, hash sortie.Hash) error {
	if err := o.store.remove(ctx, objectKey(hash)); err != nil && !errors.Is(err, ErrObjectNotFound) {
		return fmt.Errorf("delete object %s: %w", hash, err)
	}
	return nil
}

// Check reads a whole object and gives [ErrObjectCorrupt] when its bytes are no longer those of its
// name.
func (o *Objects) Check(ctx context.Context, hash sortie.Hash) error {
	body, _, err := o.Open(ctx, hash, 0, -1)
	if err != nil {
		return err
	}
	defer body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return fmt.Errorf("read object %s: %w: %w", hash, ErrUnavailable, err)
	}
	if sortie.Hash(sum.Sum(nil)) != hash {
		return fmt.Errorf("check object %s: %w", hash, ErrObjectCorrupt)
	}
	return nil
}

// List goes through the hashes of all objects behind the given one, in order. The zero hash begins
// at the beginning.
func (o *Objects) List(ctx context.Context, after sortie.Hash) iter.Seq2[sortie.Hash, error] {
	return func(yield func(sortie.Hash, error) bool) {
		from := ""
		if after != (sortie.Hash{}) {
			from = objectKey(after)
		}
		for key, err := range o.store.list(ctx, from) {
			if err != nil {
				yield(sortie.Hash{}, fmt.Errorf("list objects: %w", err))
				return
			}
			if hash, ok := parseKey(key); ok && !yield(hash, nil) {
				return
			}
		}
	}
}
