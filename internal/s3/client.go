package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// attempts is how often a request is sent before its failure counts, with a pause that doubles
	// from firstPause.
	attempts   = 3
	firstPause = 100 * time.Millisecond
	// maxDecoded bounds an answer in XML: a page of a list has a thousand keys of at most 1 KiB.
	maxDecoded = 8 << 20
	// emptySum is the SHA-256 of no bytes.
	emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// Config says which bucket a client uses.
type Config struct {
	Bucket      string
	Region      string
	Endpoint    *url.URL // of another server than Amazon's; its user is ignored
	PathStyle   bool     // the bucket is in the path, not in the host
	PlainHTTP   bool
	Dualstack   bool // Amazon's endpoints for IPv6
	FIPS        bool // Amazon's endpoints with validated cryptography
	Accelerate  bool // Amazon's endpoints near the client
	Encryption  string
	KMSKey      string
	Credentials Provider
}

// Client talks to one bucket. It is safe for concurrent use.
type Client struct {
	config    Config
	base      url.URL // of the bucket, without a slash at the end
	transport *http.Transport
}

// New makes a client. It sends nothing.
func New(config Config) (*Client, error) {
	if config.Region == "" {
		if config.Endpoint == nil {
			return nil, errors.New("the region is missing: add ?region=REGION, or set AWS_REGION")
		}
		config.Region = "us-east-1"
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	transport.MaxIdleConnsPerHost = 16
	return &Client{config: config, base: config.base(), transport: transport}, nil
}

// base is the URL of the bucket.
func (c Config) base() url.URL {
	base := url.URL{Scheme: "https", Host: c.amazonHost()}
	if c.Endpoint != nil {
		base = url.URL{Scheme: c.Endpoint.Scheme, Host: c.Endpoint.Host, Path: strings.TrimSuffix(c.Endpoint.Path, "/")}
	}
	if c.PlainHTTP {
		base.Scheme = "http"
	}
	if c.PathStyle || base.Scheme == "https" && strings.Contains(c.Bucket, ".") { // no certificate has two levels
		base.Path += "/" + c.Bucket
	} else {
		base.Host = c.Bucket + "." + base.Host
	}
	return base
}

func (c Config) amazonHost() string {
	host := "s3"
	if c.FIPS {
		host += "-fips"
	}
	if c.Accelerate {
		host += "-accelerate"
	}
	if c.Dualstack {
		host += ".dualstack"
	}
	if !c.Accelerate {
		host += "." + c.Region
	}
	return host + "." + domain(c.Region)
}

// Host names the server, for a log.
func (c *Client) Host() string {
	if c.config.Endpoint == nil {
		return "Amazon S3, region " + strconv.Quote(c.config.Region)
	}
	return c.config.Endpoint.Host
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Error is an answer that is not a success.
type Error struct {
	Status  int    `xml:"-"` // of HTTP
	Code    string // of S3, if the answer has one
	Message string
}

func (e *Error) Error() string {
	text := "the bucket answered " + strconv.Itoa(e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// call is one request.
type call struct {
	method string
	key    string
	query  url.Values
	header http.Header
	body   []byte
}

// do sends a request, again if the failure may pass, and gives the answer if it is a success.
func (c *Client) do(ctx context.Context, call call) (*http.Response, error) {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		response, err := c.send(ctx, call)
		if err == nil || attempt == attempts || !mayPass(err) || ctx.Err() != nil {
			return response, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause *= 2
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}

// mayPass reports whether a request may succeed when it is sent again.
func mayPass(err error) bool {
	var answer *Error
	return !errors.As(err, &answer) || answer.Status == http.StatusTooManyRequests || answer.Status >= 500 && answer.Status != http.StatusNotImplemented
}

func (c *Client) send(ctx context.Context, call call) (*http.Response, error) {
	by, err := c.config.Credentials(ctx)
	if err != nil {
		return nil, err
	}
	target := c.base
	target.Path += "/" + call.key
	target.RawPath, target.RawQuery = escapePath(target.Path), escapeQuery(call.query)
	request, err := http.NewRequestWithContext(ctx, call.method, "", bytes.NewReader(call.body))
	if err != nil {
		return nil, err
	}
	request.URL, request.Host = &target, target.Host
	for name, values := range call.header {
		request.Header[name] = values
	}
	sum := emptySum
	if len(call.body) > 0 {
		sum = hexSum(call.body)
	} else {
		request.Body, request.ContentLength = http.NoBody, 0
	}
	sign(request, by, c.config.Region, "s3", sum, time.Now())
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	return nil, readError(response.StatusCode, response.Body)
}

// readError reads the XML of a failure. A body of another kind is left out.
func readError(status int, body io.Reader) error {
	failure := &Error{}
	_ = xml.NewDecoder(io.LimitReader(body, maxAnswer)).Decode(failure)
	failure.Status = status
	return failure
}

// discard sends a request whose answer has no body of interest.
func (c *Client) discard(ctx context.Context, call call) (http.Header, error) {
	response, err := c.do(ctx, call)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection is used again
	return response.Header, errors.Join(err, response.Body.Close())
}

// decode sends a request and reads the XML of the answer.
func (c *Client) decode(ctx context.Context, call call, answer any) error {
	response, err := c.do(ctx, call)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return xml.NewDecoder(io.LimitReader(response.Body, maxDecoded)).Decode(answer)
}

// Check fails if the bucket does not exist or may not be used.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.discard(ctx, call{method: http.MethodHead})
	return err
}

// CreateBucket creates the bucket.
func (c *Client) CreateBucket(ctx context.Context) error {
	_, err := c.discard(ctx, call{method: http.MethodPut})
	return err
}

// newObject is the header of a request that begins an object.
func (c *Client) newObject() http.Header {
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	if c.config.Encryption != "" {
		header.Set("X-Amz-Server-Side-Encryption", c.config.Encryption)
	}
	if c.config.KMSKey != "" {
		header.Set("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", c.config.KMSKey)
	}
	return header
}

// Put stores an object in one request.
func (c *Client) Put(ctx context.Context, key string, content []byte) error {
	_, err := c.discard(ctx, call{method: http.MethodPut, key: key, header: c.newObject(), body: content})
	return err
}

// Get reads an object from offset on: length bytes, or all if length is negative. It gives the size
// of the whole object. It does not retry once the answer has begun.
func (c *Client) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	header := http.Header{}
	if length > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	} else if offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	response, err := c.do(ctx, call{method: http.MethodGet, key: key, header: header})
	if err != nil {
		return nil, 0, err
	}
	if offset > 0 && !strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)) {
		return nil, 0, errors.Join(errors.New("the bucket answered another range"), response.Body.Close())
	}
	size := response.ContentLength
	if _, total, partial := strings.Cut(response.Header.Get("Content-Range"), "/"); partial {
		if size, err = strconv.ParseInt(total, 10, 64); err != nil {
			return nil, 0, errors.Join(fmt.Errorf("Content-Range: %w", err), response.Body.Close())
		}
	}
	return response.Body, size, nil
}

// Stat gives the size of an object and the time of its last put.
func (c *Client) Stat(ctx context.Context, key string) (size int64, modified time.Time, err error) {
	header, err := c.discard(ctx, call{method: http.MethodHead, key: key})
	if err != nil {
		return 0, time.Time{}, err
	}
	if size, err = strconv.ParseInt(header.Get("Content-Length"), 10, 64); err != nil {
		return 0, time.Time{}, fmt.Errorf("Content-Length: %w", err)
	}
	if modified, err = http.ParseTime(header.Get("Last-Modified")); err != nil {
		return 0, time.Time{}, fmt.Errorf("Last-Modified: %w", err)
	}
	return size, modified, nil
}

// Delete removes an object. Removing a missing one is a success.
func (c *Client) Delete(ctx context.Context, key string) error {
	_, err := c.discard(ctx, call{method: http.MethodDelete, key: key})
	return err
}

// DeleteIfModifiedAt removes an object if its last put was at the given time. Many servers do not
// know that condition: status 400 or 501.
func (c *Client) DeleteIfModifiedAt(ctx context.Context, key string, modified time.Time) error {
	condition := http.Header{"X-Amz-If-Match-Last-Modified-Time": {modified.UTC().Format(http.TimeFormat)}}
	_, err := c.discard(ctx, call{method: http.MethodDelete, key: key, header: condition})
	return err
}

// List gives the keys with a prefix that come after a key, in order. pageTimeout bounds each
// request.
func (c *Client) List(ctx context.Context, prefix, after string, pageTimeout time.Duration) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
		if after != "" {
			query.Set("start-after", after)
		}
		for {
			page, err := c.listPage(ctx, query, pageTimeout)
			if err != nil {
				yield("", err)
				return
			}
			for _, object := range page.Contents {
				if !yield(object.Key, nil) {
					return
				}
			}
			if !page.IsTruncated || page.NextContinuationToken == "" {
				return
			}
			query.Set("continuation-token", page.NextContinuationToken)
		}
	}
}

type listPage struct {
	Contents              []struct{ Key string }
	IsTruncated           bool
	NextContinuationToken string
}

func (c *Client) listPage(ctx context.Context, query url.Values, timeout time.Duration) (page listPage, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return page, c.decode(ctx, call{method: http.MethodGet, query: query}, &page)
}
