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

// ErrStalled says that an upload or a download stood still for longer than [WithStallTimeout]
// allows.
var ErrStalled = errors.New("nothing moved for too long")

// watch ends a transfer that stands still. A deadline for the whole would be wrong for a large
// file, and none hangs for ever.
type watch struct {
	ctx    context.Context // of the transfer
	stall  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// watched gives a context for one request under a link, which ends when nothing has moved for a
// while.
func (c *Client) watched(ctx context.Context) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watch{ctx: ctx, stall: c.stall, cancel: cancel, timer: time.AfterFunc(c.stall, func() { cancel(ErrStalled) })}
}

// moved is called whenever bytes went either way.
func (w *watch) moved() { w.timer.Reset(w.stall) }

// allow gives the other side time for work that is not seen from here.
func (w *watch) allow(d time.Duration) { w.timer.Reset(max(d, w.stall)) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// follow sends a request under a link, which is its own permission: it is not signed. Any answer
// but the wanted statuses is an error; retryIn is that of again.
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

// transferError is the reason why a transfer ended, where its context knows a better one than
// "canceled".
func transferError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrStalled) {
		return ErrStalled
	}
	var failed *url.Error
	if errors.As(err, &failed) && failed.URL != "" {
		failed.URL, _, _ = strings.Cut(failed.URL, "?") // a link is a permission: it must not get into logs
	}
	return err
}

// backoff is how long to wait after so many failures in a row, from a quarter of a second on.
func backoff(failures int) time.Duration {
	return min(250*time.Millisecond<<min(failures-1, 6), maxRetryIn)
}

// retryUnderLink says when to send again what failed with this status. Besides what may pass
// anywhere, another request may have the file in its hands (409 and, of tus, 423).
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

// linkError reads the error of a request under a link. An answer to HEAD has no body, and something
// in between may have answered instead, so that the status must do where nothing else says what is
// wrong.
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

// parseLink refuses what is no link of a service.
func parseLink(link string) (*url.URL, error) {
	parsed, err := url.Parse(link)
	if err != nil || (parsed.Scheme != "https" && parsed.Scheme != "http") || parsed.Host == "" || parsed.User != nil {
		return nil, errors.New("link: want an http or https URL as the service gave it")
	}
	return parsed, nil
}

// newLinkRequest makes a request under a link.
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
