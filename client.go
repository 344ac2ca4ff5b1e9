package sortie

import (
	"bytes"
	"context"
	"encoding/json"
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

// Client calls the API of a Sortie service as one wallet. It is safe for concurrent use.
//
// A request that fails temporarily (429, 503, a lost connection) is signed and sent again. That is
// safe: reads change nothing, and drafts and submissions have an idempotency key. Errors of the
// service are of type [*Error].
type Client struct {
	baseURL  string
	signer   Signer // nil: the public requests only
	http     *http.Client
	files    *http.Client // for media: no time limit for the whole transfer, see watch
	stall    time.Duration
	now      func() time.Time
	attempts int
	wait     func(context.Context, time.Duration) error
}

// ClientOption configures a client.
type ClientOption func(*Client)

// WithHTTPClient sets the HTTP client. The default has a timeout of 30 seconds. Uploads and
// downloads use it without its timeout: see [WithStallTimeout].
func WithHTTPClient(client *http.Client) ClientOption {
	return func(c *Client) { c.http = client }
}

// WithClock sets the clock that requests are signed by.
func WithClock(now func() time.Time) ClientOption {
	return func(c *Client) { c.now = now }
}

// WithAttempts sets how many times a request is sent before it fails; the default is 3.
func WithAttempts(attempts int) ClientOption {
	return func(c *Client) { c.attempts = max(1, attempts) }
}

// WithStallTimeout sets how long an upload or a download may transfer no byte before it fails; the
// default is 30 seconds. There is no limit for the whole transfer.
func WithStallTimeout(stall time.Duration) ClientOption {
	return func(c *Client) { c.stall = stall }
}

const (
	maxAnswer  = 32 << 20 // bytes; a page ends at 4 MiB
	maxRetryIn = 10 * time.Second

	headerReplayed = "Idempotent-Replayed"
)

// NewClient returns a client of the service at baseURL, such as https://api.example.com.
func NewClient(baseURL string, signer Signer, options ...ClientOption) (*Client, error) {
	if signer == nil {
		return nil, errors.New("client: signer is nil; use NewPublicClient for public requests")
	}
	return newClient(baseURL, signer, options)
}

// NewPublicClient returns a client without a wallet. It can call the public requests, such as
// [Client.Feed] and [Client.OpenMission], and use links; every other request fails.
func NewPublicClient(baseURL string, options ...ClientOption) (*Client, error) {
	return newClient(baseURL, nil, options)
}

func newClient(baseURL string, signer Signer, options []ClientOption) (*Client, error) {
	parsed, err := url.Parse(baseURL)
	if err != nil || (parsed.Scheme != "https" && parsed.Scheme != "http") || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, errors.New("base URL: want http:// or https://, a host and nothing after it, such as https://api.example.com")
	}
	client := &Client{
		baseURL:  strings.TrimRight(baseURL, "/"),
		signer:   signer,
		http:     &http.Client{Timeout: 30 * time.Second, CheckRedirect: refuseRedirect},
		stall:    30 * time.Second,
		now:      time.Now,
		attempts: 3,
		wait:     waitFor,
	}
	for _, option := range options {
		option(client)
	}
	files := *client.http
	files.Timeout = 0
	client.files = &files
	return client, nil
}

// A signature is valid for one URL only, so a redirect cannot be followed.
func refuseRedirect(*http.Request, []*http.Request) error {
	return errors.New("the service answered with a redirect: use the URL it points to as base URL")
}

func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Wallet is the address of the client's wallet; the zero address without one.
func (c *Client) Wallet() Address {
	if c.signer == nil {
		return Address{}
	}
	return c.signer.Address()
}

// walk yields the elements of every page, from the page at the cursor to the last.
func walk[T any](cursor string, page func(cursor string) (elements []T, next *string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at := cursor; ; {
			elements, next, err := page(at)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, element := range elements {
				if !yield(element, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			at = *next
		}
	}
}

// call is one request of the API.
type call struct {
	method, path   string
	body           []byte // nil: none
	idempotencyKey string
	replayed       *bool // if not nil, set to whether the answer is that of an earlier call with the same key
	public         bool  // not signed, so that caches can answer it
}

// send makes the call with retries and decodes the answer into result.
func (c *Client) send(ctx context.Context, call call, result any) error {
	var answer []byte
	err := c.again(ctx, func() (retryIn time.Duration, err error) {
		answer, retryIn, err = c.sendOnce(ctx, call)
		if err != nil {
			call.replayed = nil // the earlier call may be this call's first attempt
		}
		return retryIn, err
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("decode the answer of %s: %w", call.path, err)
	}
	return nil
}

// again calls try until it succeeds or must not be retried. After an error, retryIn is the time to
// wait: negative means no retry, zero the default.
func (c *Client) again(ctx context.Context, try func() (retryIn time.Duration, err error)) error {
	for attempt := 1; ; attempt++ {
		retryIn, err := try()
		if err == nil || retryIn < 0 || attempt >= c.attempts || ctx.Err() != nil {
			return err
		}
		if retryIn == 0 {
			retryIn = time.Duration(attempt) * 250 * time.Millisecond
		}
		if waitErr := c.wait(ctx, min(retryIn, maxRetryIn)); waitErr != nil {
			return err
		}
	}
}

// sendOnce signs and sends a request. retryIn is as in again.
func (c *Client) sendOnce(ctx context.Context, call call) (answer []byte, retryIn time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, call.method, c.baseURL+call.path, bytes.NewReader(call.body))
	if err != nil {
		return nil, -1, fmt.Errorf("make request: %w", err)
	}
	if call.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if call.idempotencyKey != "" {
		request.Header.Set(HeaderIdempotencyKey, call.idempotencyKey)
	}
	if !call.public {
		if c.signer == nil {
			return nil, -1, errors.New("this request needs a wallet: make the client with NewClient and a signer")
		}
		if err := SignRequest(ctx, request, call.body, c.signer, c.now()); err != nil {
			return nil, -1, fmt.Errorf("sign request: %w", err)
		}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("read the answer of %s: %w", call.path, err)
	case len(answer) > maxAnswer:
		return nil, -1, fmt.Errorf("the answer of %s is larger than %d bytes", call.path, maxAnswer)
	case response.StatusCode < 300:
		if call.replayed != nil {
			*call.replayed = response.Header.Get(headerReplayed) == "true"
		}
		return answer, 0, nil
	default:
		return nil, retryAfter(response), decodeError(response, answer)
	}
}

func retryAfter(response *http.Response) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return -1
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// decodeError reads the service's error. The answer may be that of a proxy instead.
func decodeError(response *http.Response, answer []byte) error {
	var envelope struct {
		Error *Error `json:"error"`
	}
	if json.Unmarshal(answer, &envelope) == nil && envelope.Error != nil && envelope.Error.Code != "" {
		return envelope.Error
	}
	code := CodeInternal
	if response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusBadGateway || response.StatusCode == http.StatusGatewayTimeout {
		code = CodeServiceUnavailable
	}
	return NewError(code, "%s answered %s without a Sortie error; check the base URL", response.Request.URL.Host, response.Status)
}

// PageQuery selects a page of a list that has no filters. Its zero value selects the first.
type PageQuery struct {
	Limit  int    // 0: the service's default
	Cursor string // the NextCursor of the page before
}

// apply adds the page and the filters, pairs of name and value, to a path. Empty values are left
// out.
func (q PageQuery) apply(path string, filters ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(filters); i += 2 {
		if filters[i+1] != "" {
			values.Set(filters[i], filters[i+1])
		}
	}
	if q.Limit != 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		values.Set("cursor", q.Cursor)
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// encodeReason is the body of a request with a reason.
func encodeReason(reason string) ([]byte, error) {
	body, err := json.Marshal(DecisionRequest{Reason: reason})
	if err != nil {
		return nil, fmt.Errorf("encode reason: %w", err)
	}
	return body, nil
}

// order sends an operator's request with its reason.
func (c *Client) order(ctx context.Context, path, reason string, answer any) error {
	body, err := encodeReason(reason)
	if err != nil {
		return err
	}
	return c.send(ctx, call{method: http.MethodPost, path: path, body: body}, answer)
}
