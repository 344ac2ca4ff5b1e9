package sortie

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrStalled means that an upload or a download transferred no byte for longer than
// [WithStallTimeout] allows.
var ErrStalled = errors.New("transfer stalled: no byte moved within the stall timeout")

// watch cancels a transfer that stalls. A deadline for the whole transfer would have to depend on
// the size of the file.
type watch struct {
	ctx    context.Context // of the transfer
	stall  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// watched returns a context for one request under a link, which is cancelled when the transfer
// stalls.
func (c *Client) watched(ctx context.Context) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watch{ctx: ctx, stall: c.stall, cancel: cancel, timer: time.AfterFunc(c.stall, func() { cancel(ErrStalled) })}
}

// moved resets the timer. It is called for every read or write.
func (w *watch) moved() { w.timer.Reset(w.stall) }

// allow gives the service time for work without transfer.
func (w *watch) allow(d time.Duration) { w.timer.Reset(max(d, w.stall)) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// follow sends a request under a link. It is not signed: the link is the permission. Any status but
// the wanted ones is an error; retryIn is as in again.
func (c *Client) follow(request *http.Request, wanted ...int) (response *http.Response, retryIn time.Duration, err error) {
	response, err = c.files.Do(request)
	if err != nil {
		return nil, 0, transferError(request.Context(), err)
	}
	for _, status := range wanted {
		if response.StatusCode == status {
			return response, 0, nil
		}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, 0, transferError(request.Context(), err)
	}
	return nil, retryUnderLink(response), linkError(response, answer)
}

// transferError returns ErrStalled for a transfer that stalled, and removes the link from the
// error's text.
func transferError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrStalled) {
		return ErrStalled
	}
	var failed *url.Error
	if errors.As(err, &failed) && failed.URL != "" {
		failed.URL, _, _ = strings.Cut(failed.URL, "?") // a link is a permission: keep it out of logs
	}
	return err
}

// backoff is the time to wait after a number of failures in a row, from 250 ms.
func backoff(failures int) time.Duration {
	return min(250*time.Millisecond<<min(failures-1, 6), maxRetryIn)
}

// retryUnderLink returns when to retry after this status. 409 and 423 (tus) mean that another
// request holds the upload.
func retryUnderLink(response *http.Response) time.Duration {
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return retryAfter(response)
	case status == http.StatusConflict || status == http.StatusLocked || status >= http.StatusInternalServerError:
		return 0
	default:
		return -1
	}
}

// linkError reads the error of a request under a link. An answer to HEAD, or of a proxy, has no
// error body: then the status gives the code.
func linkError(response *http.Response, answer []byte) error {
	err := decodeError(response, answer)
	if ErrorCode(err) != CodeInternal {
		return err
	}
	code := map[int]Code{
		http.StatusForbidden: CodeMediaURLInvalid, http.StatusNotFound: CodeNotFound, http.StatusGone: CodeMediaURLExpired,
		http.StatusConflict: CodeIdempotencyInProgress, http.StatusLocked: CodeIdempotencyInProgress, http.StatusTooManyRequests: CodeRateLimited,
		http.StatusRequestedRangeNotSatisfiable: CodeRangeNotSatisfiable,
	}[response.StatusCode]
	if code == "" {
		return err
	}
	return NewError(code, "%s answered %s", response.Request.URL.Host, response.Status)
}

// parseLink refuses URLs that cannot be links of a service.
func parseLink(link string) (*url.URL, error) {
	parsed, err := url.Parse(link)
	if err != nil || (parsed.Scheme != "https" && parsed.Scheme != "http") || parsed.Host == "" || parsed.User != nil {
		return nil, errors.New("link: want an http or https URL as the service gave it")
	}
	return parsed, nil
}

// newLinkRequest returns a request under a link.
func newLinkRequest(ctx context.Context, method, link string, body io.Reader) (*http.Request, error) {
	if _, err := parseLink(link); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, link, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	return request, nil
}
