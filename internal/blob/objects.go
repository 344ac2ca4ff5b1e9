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

// Errors of objects and of the store.
var (
	ErrObjectNotFound = errors.New("no such object")
	ErrObjectCorrupt  = errors.New("the object's bytes do not match its hash")
	ErrUnavailable    = errors.New("the media store is unavailable")
	ErrNoRoom         = fmt.Errorf("%w: its disk is full", ErrUnavailable)
	ErrNotLocal       = errors.New("the media store is not a directory on this machine")
)

// Objects stores files under the SHA-256 hash of their bytes. An object exists completely or not at
// all, and never changes. It is safe for concurrent use, also by several processes.
type Objects struct {
	TempDir string // directory of downloads of [Objects.Fetch]; the system's, if empty

	condition
	store   objectStore
	putting [256]sync.RWMutex // by the first byte of the hash: keeps a sweep from removing what is being put
}

// Object is the result of [Objects.Stat].
type Object struct {
	Hash   sortie.Hash
	Size   int64
	KeptAt time.Time // when it was last put
}

// objectStore is a directory or a bucket. Keys are made by objectKey.
type objectStore interface {
	// probe fails if nothing can be stored now.
	probe(ctx context.Context) error
	// put stores size bytes of source. It calls verify after it has read them and before the object
	// becomes visible.
	put(ctx context.Context, key string, source io.Reader, size int64, verify func() error) error
	open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error)
	file(key string) (*os.File, error)
	stat(ctx context.Context, key string) (Object, error)
	// sweep removes an object if it was last put before the given time, and reports whether it did.
	sweep(ctx context.Context, key string, before time.Time) (bool, error)
	list(ctx context.Context, after string) iter.Seq2[string, error]
	tidy(ctx context.Context, before time.Time) error
	close() error
}

// OpenObjects opens the store of a URL: file:DIR for a directory, which is created if it does not
// exist, or s3://BUCKET?region=...&endpoint=... for a bucket, which must exist. It fails if nothing
// can be stored there. A bucket that cannot be reached is opened nevertheless, with
// [Objects.Working] false, so that the service can start.
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

// Probe fails if nothing can be stored now: with [ErrUnavailable] if a retry may succeed without a
// change of the configuration.
func (o *Objects) Probe(ctx context.Context) error {
	if err := o.noted(o.store.probe(ctx)); err != nil {
		return fmt.Errorf("probe the media store: %w", err)
	}
	return nil
}

// Close releases the store.
func (o *Objects) Close() error { return o.store.close() }

const keyPrefix = "sha256/"

// TempPattern is the name pattern of temporary directories of downloads and of ingest results.
// ingest.Ingester.Tidy removes both.
const TempPattern = "sortie-media-*"

// objectKey distributes objects over 256 directories by the first byte of their hash.
func objectKey(hash sortie.Hash) string {
	digits := hex.EncodeToString(hash[:])
	return keyPrefix + digits[:2] + "/" + digits
}

// parseKey is the inverse of objectKey. It reports false for other files in the store.
func parseKey(key string) (hash sortie.Hash, ok bool) {
	digits := key[strings.LastIndexByte(key, '/')+1:]
	n, err := hex.Decode(hash[:], []byte(digits[:min(len(digits), 2*len(hash))]))
	return hash, err == nil && n == len(hash) && objectKey(hash) == key
}

// Put stores the file at path if its bytes have the hash, or else returns [ErrObjectCorrupt]. When
// it returns, the object survives a power cut. Putting an existing object makes it new for
// [Objects.Sweep].
func (o *Objects) Put(ctx context.Context, hash sortie.Hash, path string) error {
	source, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("put object: %w", err)
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return fmt.Errorf("put object: %w", err)
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
		return fmt.Errorf("put object %s: %w", hash, err)
	}
	return nil
}

// Open reads length bytes of an object from offset, or to its end if length is negative. It also
// returns the size of the object. An offset after the end returns an empty reader.
func (o *Objects) Open(ctx context.Context, hash sortie.Hash, offset, length int64) (body io.ReadCloser, size int64, err error) {
	if body, size, err = o.store.open(ctx, objectKey(hash), max(0, offset), length); o.noted(err) != nil {
		return nil, 0, fmt.Errorf("open object %s: %w", hash, err)
	}
	return body, size, nil
}

// File opens an object as a file, which the kernel can send. It returns [ErrNotLocal] unless the
// store is a directory.
func (o *Objects) File(hash sortie.Hash) (*os.File, error) {
	file, err := o.store.file(objectKey(hash))
	if o.noted(err) != nil {
		return nil, fmt.Errorf("open object %s: %w", hash, err)
	}
	return file, nil
}

// Stat returns the size and the time of an object, or [ErrObjectNotFound].
func (o *Objects) Stat(ctx context.Context, hash sortie.Hash) (Object, error) {
	object, err := o.store.stat(ctx, objectKey(hash))
	if o.noted(err) != nil {
		return Object{}, fmt.Errorf("stat object %s: %w", hash, err)
	}
	object.Hash = hash
	return object, nil
}

// Check reads an object and returns [ErrObjectCorrupt] if its bytes do not match its hash.
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

// List iterates over the hashes of all objects after the given one, in order. The zero hash starts
// at the first object.
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
