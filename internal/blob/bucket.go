package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sortie-labs/sortie/internal/s3"
)

const (
	// bucketPatience is how long a call waits for the bucket to send or take another byte.
	bucketPatience = 20 * time.Second
	// probePatience is shorter, because a start waits for it.
	probePatience = 5 * time.Second
	// slowestUpload, in bytes a second, adds to the time that an upload may take.
	slowestUpload = 256 << 10
	// partSize is how much of an upload is in memory at a time: S3 takes no smaller parts.
	partSize = s3.MinPart
	// parallelPuts bounds the uploads at a time, and with them the memory for parts.
	parallelPuts = 4
)

// bucket keeps objects in S3. An object is visible only once its last byte has arrived, so no
// temporary names are needed. The bucket should have a life-cycle rule that aborts incomplete
// uploads: a process that is killed leaves the parts of its uploads.
type bucket struct {
	client   *s3.Client
	name     string
	prefix   string // of every key
	patience time.Duration
	puts     chan struct{} // one for each upload under way

	unconditional atomic.Bool // the server does not know the condition of removeOld
}

func openBucket(address string) (*bucket, error) {
	parsed, err := parseBucketURL(address)
	if err != nil {
		return nil, err
	}
	client, err := s3.New(parsed.Config)
	if err != nil {
		return nil, err
	}
	return &bucket{client: client, name: parsed.Bucket, prefix: parsed.prefix, patience: bucketPatience, puts: make(chan struct{}, parallelPuts)}, nil
}

func (b *bucket) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(b.patience, probePatience))
	defer cancel()
	err := b.client.Check(ctx)
	if statusOf(err)/100 == 4 {
		return fmt.Errorf("bucket %q does not exist, or these credentials may not list it", b.name)
	}
	if err != nil {
		return fmt.Errorf("bucket %q at %s: %w", b.name, b.client.Host(), bucketError(err))
	}
	return nil
}

func (b *bucket) close() error {
	b.client.Close()
	return nil
}

func (b *bucket) put(ctx context.Context, key string, source io.Reader, size int64, verify func() error) error {
	select {
	case b.puts <- struct{}{}:
		defer func() { <-b.puts }()
	case <-ctx.Done():
		return bucketError(ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience+time.Duration(size/slowestUpload)*time.Second)
	defer cancel()
	upload := b.putWhole
	if size > partSize {
		upload = b.putParts
	}
	err := upload(ctx, b.prefix+key, source, verify)
	if err == nil || errors.Is(err, ErrObjectCorrupt) {
		return err
	}
	return bucketError(err)
}

// putWhole sends an object of at most a part's size in one request.
func (b *bucket) putWhole(ctx context.Context, key string, source io.Reader, verify func() error) error {
	content, err := io.ReadAll(source)
	if err != nil {
		return err
	}
	if err := verify(); err != nil {
		return err
	}
	return b.client.Put(ctx, key, content)
}

// putParts sends an object in parts, which become visible together.
func (b *bucket) putParts(ctx context.Context, key string, source io.Reader, verify func() error) error {
	upload, err := b.client.NewUpload(ctx, key)
	if err != nil {
		return err
	}
	if err = sendParts(ctx, upload, source); err == nil {
		err = verify()
	}
	if err == nil {
		err = upload.Complete(ctx)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(b.patience, probePatience))
		defer cancel()
		_ = upload.Abort(ctx) // the life-cycle rule removes what this leaves
	}
	return err
}

func sendParts(ctx context.Context, upload *s3.Upload, source io.Reader) error {
	buffer := make([]byte, partSize)
	for {
		n, err := io.ReadFull(source, buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if err := upload.Add(ctx, buffer[:n]); err != nil {
			return err
		}
	}
}

func (b *bucket) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	if length == 0 {
		object, err := b.stat(ctx, key)
		return io.NopCloser(eof{}), object.Size, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	body := &patientReader{ctx: ctx, cancel: cancel, patience: b.patience}
	body.timer = time.AfterFunc(b.patience, func() { cancel(errSilent) })
	reader, size, err := b.client.Get(ctx, b.prefix+key, offset, length)
	body.timer.Stop()
	if err == nil {
		body.reader = reader
		return body, size, nil
	}
	err = errors.Join(err, context.Cause(ctx))
	cancel(nil)
	if statusOf(err) != http.StatusRequestedRangeNotSatisfiable {
		return nil, 0, bucketError(err)
	}
	object, err := b.stat(context.WithoutCancel(ctx), key) // the object ends before offset
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(eof{}), object.Size, nil
}

func (*bucket) file(string) (*os.File, error) { return nil, ErrNotLocal }

func (b *bucket) stat(ctx context.Context, key string) (Object, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	size, modified, err := b.client.Stat(ctx, b.prefix+key)
	if err != nil {
		return Object{}, bucketError(err)
	}
	return Object{Size: size, KeptAt: modified}, nil
}

func (b *bucket) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	if err := b.client.Delete(ctx, b.prefix+key); err != nil {
		return bucketError(err)
	}
	return nil
}

// sweep removes an object on the condition that its time of the last put is still the one that it
// has read: a put of the same bytes gives the same ETag. Directory buckets and some other servers
// know that condition. Elsewhere a put by another process can be lost if it happens between the
// reading and the removal, one round trip later. What is lost then are the bytes of an object that
// no one used or put for an hour, and the loss is reported: to the check, which leaves the
// submission to an operator, or to the client that asks for the file. Markers that both sides read
// would prevent it, for two more requests with each put.
func (b *bucket) sweep(ctx context.Context, key string, before time.Time) (bool, error) {
	object, err := b.stat(ctx, key)
	if err == nil && !object.KeptAt.Before(before) {
		return false, nil
	}
	if err == nil {
		err = b.removeOld(ctx, key, object.KeptAt)
	}
	switch status := statusOf(err); {
	case err == nil:
		return true, nil
	case status == http.StatusPreconditionFailed: // put again
		return false, nil
	case status == 0:
		return false, fmt.Errorf("%w: %w", errSilent, err)
	default:
		return false, err
	}
}

// removeOld removes an object unless it was put again after the given time, where the server knows
// that condition.
func (b *bucket) removeOld(ctx context.Context, key string, keptAt time.Time) error {
	if b.unconditional.Load() {
		return b.remove(ctx, key)
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	err := b.client.DeleteIfModifiedAt(ctx, b.prefix+key, keptAt)
	if status := statusOf(err); status == http.StatusBadRequest || status == http.StatusNotImplemented {
		err = b.remove(ctx, key)
		b.unconditional.Store(err == nil)
		return err
	}
	if err != nil {
		return bucketError(err)
	}
	return nil
}

// statusOf is the HTTP status of the answer that an error is about; 0 if there was no answer.
func statusOf(err error) int {
	var answer *s3.Error
	if !errors.As(err, &answer) {
		return 0
	}
	return answer.Status
}

func (b *bucket) list(ctx context.Context, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if after != "" {
			after = b.prefix + after
		}
		for key, err := range b.client.List(ctx, b.prefix+keyPrefix, after, b.patience) {
			if err != nil {
				yield("", bucketError(err))
				return
			}
			if !yield(strings.TrimPrefix(key, b.prefix), nil) {
				return
			}
		}
	}
}

func (*bucket) tidy(context.Context, time.Time) error { return nil }

// bucketError adds the kind of an error.
func bucketError(err error) error {
	if statusOf(err) == http.StatusNotFound {
		return fmt.Errorf("%w: %w", ErrObjectNotFound, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

var errSilent = errors.New("the bucket does not answer")

// patientReader fails when the bucket sends nothing for a while. Its reader may be slow.
type patientReader struct {
	reader io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer

	patience time.Duration
}

func (r *patientReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.patience)
	n, err := r.reader.Read(p)
	r.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = bucketError(errors.Join(err, context.Cause(r.ctx)))
	}
	return n, err
}

func (r *patientReader) Close() error {
	r.timer.Stop()
	r.cancel(nil)
	return r.reader.Close()
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
