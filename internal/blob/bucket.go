package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // opens s3://
	"gocloud.dev/gcerrors"
)

const (
	// bucketPatience is how long the bucket may stay silent before a call is given up.
	bucketPatience = 20 * time.Second
	// probePatience is less: a start waits for it.
	probePatience = 5 * time.Second
	// slowestUpload, in bytes a second, is what an upload must at least reach to be waited for.
	slowestUpload = 256 << 10
	// partSize is how much of an upload is held in memory at a time, twice: S3 takes no smaller
	// parts. parallelPuts is how many are under way at once, so that many who finish together do
	// not fill the memory together.
	partSize     = 5 << 20
	parallelPuts = 4
)

// bucket keeps objects in S3. An object appears there when its last byte has come, so no temporary
// names are needed. Pieces of uploads that were cut short are the bucket's to remove: give it a
// life-cycle rule that aborts incomplete uploads.
type bucket struct {
	*blob.Bucket
	name     string
	host     string // that is asked, for the log
	patience time.Duration
	puts     chan struct{} // as many as are under way

	unconditional atomic.Bool // it refuses to remove objects on a condition
}

func openBucket(ctx context.Context, address string) (*bucket, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a URL: want s3://BUCKET?region=REGION") // the error would repeat what may hold a secret
	}
	parsed.RawQuery = withoutChecksums(parsed.Query()).Encode()
	opened, err := blob.OpenBucket(ctx, parsed.String())
	if err != nil {
		return nil, err
	}
	return &bucket{Bucket: opened, name: parsed.Host, host: hostOf(parsed.Query()), patience: bucketPatience, puts: make(chan struct{}, parallelPuts)}, nil
}

func (b *bucket) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(b.patience, probePatience))
	defer cancel()
	accessible, err := b.IsAccessible(ctx)
	if answered(err)/100 == 4 || err == nil && !accessible {
		return fmt.Errorf("there is no bucket %q, or these credentials may not list it", b.name)
	}
	if err != nil {
		return fmt.Errorf("bucket %q at %s: %w", b.name, b.host, bucketFault(err))
	}
	return nil
}

// hostOf is the host that a bucket's URL names, without what may be secret in it. Amazon's needs no
// endpoint.
func hostOf(query url.Values) string {
	endpoint, err := url.Parse(query.Get("endpoint"))
	if err != nil || endpoint.Host == "" {
		return "Amazon S3, region " + strconv.Quote(query.Get("region"))
	}
	return endpoint.Host
}

// withoutChecksums leaves out the newer checksums of S3 unless they are asked for: not every server
// has them, and whoever puts or checks an object compares its own hash of all bytes.
func withoutChecksums(query url.Values) url.Values {
	for _, name := range []string{"request_checksum_calculation", "response_checksum_validation"} {
		if !query.Has(name) {
			query.Set(name, "when_required")
		}
	}
	return query
}

func (b *bucket) close() error { return b.Close() }

func (b *bucket) put(ctx context.Context, key string, source io.Reader, size int64, verify func() error) error {
	select {
	case b.puts <- struct{}{}:
		defer func() { <-b.puts }()
	case <-ctx.Done():
		return bucketFault(ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience+time.Duration(size/slowestUpload)*time.Second)
	defer cancel()
	writer, err := b.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "application/octet-stream", BufferSize: partSize, MaxConcurrency: 1})
	if err != nil {
		return bucketFault(err)
	}
	if _, err = io.Copy(writer, source); err == nil {
		err = verify()
	}
	if err != nil {
		cancel() // closed after its context has ended, the writer takes back what it has sent
		_ = writer.Close()
		if errors.Is(err, ErrObjectCorrupt) {
			return err
		}
		return bucketFault(err)
	}
	if err := writer.Close(); err != nil {
		return bucketFault(err)
	}
	return nil
}

func (b *bucket) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	body := &patientReader{ctx: ctx, cancel: cancel, patience: b.patience}
	body.timer = time.AfterFunc(b.patience, func() { cancel(errSilent) })
	reader, err := b.NewRangeReader(ctx, key, offset, length, nil)
	body.timer.Stop()
	if err == nil {
		body.reader = reader
		return body, reader.Size(), nil
	}
	err = errors.Join(err, context.Cause(ctx))
	cancel(nil)
	if !isBehindEnd(err) {
		return nil, 0, bucketFault(err)
	}
	object, err := b.stat(context.WithoutCancel(ctx), key)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(eof{}), object.Size, nil
}

// isBehindEnd reports whether a bucket refused to read because the object ends before. It calls
// that an error.
func isBehindEnd(err error) bool { return answered(err) == http.StatusRequestedRangeNotSatisfiable }

func (*bucket) file(string) (*os.File, error) { return nil, ErrNotLocal }

func (b *bucket) stat(ctx context.Context, key string) (Object, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	attributes, err := b.Attributes(ctx, key)
	if err != nil {
		return Object{}, bucketFault(err)
	}
	return Object{Size: attributes.Size, KeptAt: attributes.ModTime}, nil
}

func (b *bucket) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	if err := b.Delete(ctx, key); err != nil {
		return bucketFault(err)
	}
	return nil
}

// sweep asks for the removal of what it has looked at, by the time of its last put: a put of the
// same bytes gives the same ETag. Directory buckets and some other servers know that condition.
// Elsewhere a window remains for puts by other processes, from the look to the removal a round trip
// later. What is lost in it must be the very bytes of an object that nobody has used or put for an
// hour, and the loss is told: to the check, which hands the submission to a person, or to whoever
// asks for the file. Markers that both sides look for would close the window, for two more requests
// with each put.
func (b *bucket) sweep(ctx context.Context, key string, before time.Time) (bool, error) {
	object, err := b.stat(ctx, key)
	if err == nil && !object.KeptAt.Before(before) {
		return false, nil
	}
	if err == nil {
		err = b.removeOld(ctx, key, object.KeptAt)
	}
	switch status := answered(err); {
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

// removeOld removes an object unless it was put again after the given time, where the bucket lets
// us say so.
func (b *bucket) removeOld(ctx context.Context, key string, keptAt time.Time) error {
	if b.unconditional.Load() {
		return b.remove(ctx, key)
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	err := b.DeleteWithOptions(ctx, key, &blob.DeleteOptions{BeforeDelete: func(as func(any) bool) error {
		var request *s3.DeleteObjectInput
		if as(&request) {
			request.IfMatchLastModifiedTime = &keptAt
		}
		return nil
	}})
	if status := answered(err); status == http.StatusBadRequest || status == http.StatusNotImplemented {
		err = b.remove(ctx, key)
		b.unconditional.Store(err == nil)
		return err
	}
	if err != nil {
		return bucketFault(err)
	}
	return nil
}

// answered is the status of the answer that an error is about; 0 if there was none.
func answered(err error) int {
	var answer interface{ HTTPStatusCode() int }
	if !errors.As(err, &answer) {
		return 0
	}
	return answer.HTTPStatusCode()
}

func (b *bucket) list(ctx context.Context, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		pages := b.List(&blob.ListOptions{Prefix: keyPrefix, BeforeList: func(as func(any) bool) error {
			var request *s3.ListObjectsV2Input
			if as(&request) && after != "" {
				behind := strings.TrimSuffix(*request.Prefix, keyPrefix) + after // the URL may name a prefix of its own
				request.StartAfter = &behind
			}
			return nil
		}})
		for {
			object, err := b.next(ctx, pages)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield("", bucketFault(err))
				return
			}
			if !yield(object.Key, nil) {
				return
			}
		}
	}
}

func (b *bucket) next(ctx context.Context, pages *blob.ListIterator) (*blob.ListObject, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	return pages.Next(ctx)
}

func (*bucket) tidy(context.Context, time.Time) error { return nil }

// bucketFault says what kind of fault an error of the bucket is.
func bucketFault(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %w", ErrObjectNotFound, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

var errSilent = errors.New("the bucket fell silent")

// patientReader gives up when the bucket falls silent in the middle of an object. Whoever reads may
// take its time.
type patientReader struct {
	reader *blob.Reader
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
		err = bucketFault(errors.Join(err, context.Cause(r.ctx)))
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
