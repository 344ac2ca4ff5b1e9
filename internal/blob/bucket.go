package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/minio/minio-go/v7"
)

const (
	// bucketPatience is how long a call waits for the bucket to send or take another byte.
	bucketPatience = 20 * time.Second
	// probePatience is shorter, because a start waits for it.
	probePatience = 5 * time.Second
	// slowestUpload, in bytes a second, adds to the time that an upload may take.
	slowestUpload = 256 << 10
	// partSize is how much of an upload is in memory at a time: S3 takes no smaller parts.
	partSize = 5 << 20
	// parallelPuts bounds the uploads at a time, and with them the memory for parts.
	parallelPuts = 4
	// signatureLife is how long a presigned request is valid, for clocks that differ.
	signatureLife = 15 * time.Minute
)

// bucket keeps objects in S3. An object is visible only once its last byte has arrived, so no
// temporary names are needed. The bucket should have a life-cycle rule that aborts incomplete
// uploads: a process that is killed leaves the parts of its uploads.
type bucket struct {
	client    minio.Core
	transport *http.Transport
	name      string
	options   bucketOptions
	patience  time.Duration
	puts      chan struct{} // one for each upload under way

	unconditional atomic.Bool // the server does not know the condition of removeOld
}

func openBucket(_ context.Context, address string) (*bucket, error) {
	name, options, err := parseBucketURL(address)
	if err != nil {
		return nil, err
	}
	client, transport, err := options.newClient()
	if err != nil {
		return nil, err
	}
	return &bucket{client: client, transport: transport, name: name, options: options, patience: bucketPatience, puts: make(chan struct{}, parallelPuts)}, nil
}

func (b *bucket) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(b.patience, probePatience))
	defer cancel()
	found, err := b.client.BucketExists(ctx, b.name)
	if statusOf(err)/100 == 4 || err == nil && !found {
		return fmt.Errorf("bucket %q does not exist, or these credentials may not list it", b.name)
	}
	if err != nil {
		return fmt.Errorf("bucket %q at %s: %w", b.name, b.options.host(), bucketError(err))
	}
	return nil
}

func (b *bucket) close() error {
	b.transport.CloseIdleConnections()
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
	err := upload(ctx, b.options.prefix+key, source, verify)
	if err == nil || errors.Is(err, ErrObjectCorrupt) {
		return err
	}
	return bucketError(err)
}

func putOptions(b *bucket) minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: "application/octet-stream", ServerSideEncryption: b.options.sse}
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
	_, err = b.client.PutObject(ctx, b.name, key, bytes.NewReader(content), int64(len(content)), "", hexSum(content), putOptions(b))
	return err
}

// putParts sends an object in parts, which become visible together.
func (b *bucket) putParts(ctx context.Context, key string, source io.Reader, verify func() error) error {
	upload, err := b.client.NewMultipartUpload(ctx, b.name, key, putOptions(b))
	if err != nil {
		return err
	}
	parts, err := b.sendParts(ctx, key, upload, source)
	if err == nil {
		err = verify()
	}
	if err == nil {
		_, err = b.client.CompleteMultipartUpload(ctx, b.name, key, upload, parts, minio.PutObjectOptions{})
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(b.patience, probePatience))
		defer cancel()
		_ = b.client.AbortMultipartUpload(ctx, b.name, key, upload) // the life-cycle rule is the second chance
	}
	return err
}

func (b *bucket) sendParts(ctx context.Context, key, upload string, source io.Reader) ([]minio.CompletePart, error) {
	var parts []minio.CompletePart
	buffer := make([]byte, partSize)
	for number := 1; ; number++ {
		n, err := io.ReadFull(source, buffer)
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		content := buffer[:n]
		part, err := b.client.PutObjectPart(ctx, b.name, key, upload, number, bytes.NewReader(content), int64(n), minio.PutObjectPartOptions{Sha256Hex: hexSum(content)})
		if err != nil {
			return nil, err
		}
		parts = append(parts, minio.CompletePart{PartNumber: number, ETag: part.ETag})
	}
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func (b *bucket) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	if length == 0 {
		object, err := b.stat(ctx, key)
		return io.NopCloser(eof{}), object.Size, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	body := &patientReader{ctx: ctx, cancel: cancel, patience: b.patience}
	body.timer = time.AfterFunc(b.patience, func() { cancel(errSilent) })
	reader, size, err := b.get(ctx, key, offset, length)
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

// get reads a part of an object and gives the size of the whole.
func (b *bucket) get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	var options minio.GetObjectOptions
	switch {
	case length > 0:
		options.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	case offset > 0:
		options.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	reader, object, header, err := b.client.GetObject(ctx, b.name, b.options.prefix+key, options)
	if err != nil {
		return nil, 0, err
	}
	size := object.Size
	if _, total, partial := strings.Cut(header.Get("Content-Range"), "/"); partial {
		if size, err = strconv.ParseInt(total, 10, 64); err != nil {
			return nil, 0, errors.Join(fmt.Errorf("Content-Range: %w", err), reader.Close())
		}
	}
	return reader, size, nil
}

func (*bucket) file(string) (*os.File, error) { return nil, ErrNotLocal }

func (b *bucket) stat(ctx context.Context, key string) (Object, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	object, err := b.client.StatObject(ctx, b.name, b.options.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return Object{}, bucketError(err)
	}
	return Object{Size: object.Size, KeptAt: object.LastModified}, nil
}

func (b *bucket) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	if err := b.client.RemoveObject(ctx, b.name, b.options.prefix+key, minio.RemoveObjectOptions{}); err != nil {
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
	err := b.presigned(ctx, http.MethodDelete, b.options.prefix+key, "X-Amz-If-Match-Last-Modified-Time", keptAt.UTC().Format(http.TimeFormat))
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
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) {
		return 0
	}
	return answer.StatusCode
}

func (b *bucket) list(ctx context.Context, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		options := minio.ListObjectsOptions{Prefix: b.options.prefix + keyPrefix, Recursive: true}
		if after != "" {
			options.StartAfter = b.options.prefix + after
		}
		timer := time.AfterFunc(b.patience, func() { cancel(errSilent) })
		defer timer.Stop()
		for object := range b.client.ListObjectsIter(ctx, b.name, options) {
			timer.Stop() // while the caller works
			if object.Err != nil {
				yield("", bucketError(errors.Join(object.Err, context.Cause(ctx))))
				return
			}
			if !yield(strings.TrimPrefix(object.Key, b.options.prefix), nil) {
				return
			}
			timer.Reset(b.patience)
		}
	}
}

func (*bucket) tidy(context.Context, time.Time) error { return nil }

// bucketError adds the kind of error. It leaves out the URL of a request, which may be signed.
func bucketError(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) && !errors.Is(err, errSilent) {
		err = failed.Err
	}
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
