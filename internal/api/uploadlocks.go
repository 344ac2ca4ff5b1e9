package api

import (
	"context"
	"errors"
	"sync"
	"time"
)

// takeOverTimeout is how long takeOver waits for the other connection to end.
const takeOverTimeout = 2 * time.Second

// errTakenOver ends a body whose client reconnected.
var errTakenOver = errors.New("the client continued the upload on another connection")

// uploadLocks holds which uploads this process is receiving, so that a client can take over its own
// upload. When a phone loses its network the service does not notice: the old connection would keep
// the upload until it stalls, and the client reconnects long before that.
type uploadLocks struct {
	mu   sync.Mutex
	byID map[string]*uploadLock
}

// uploadLock is held by the request that receives an upload.
type uploadLock struct {
	released chan struct{}

	mu      sync.Mutex
	body    *stallReader // while it is being read
	aborted bool         // no further body may be read
}

// lock registers the request that receives an upload. The caller calls unlock after it closed the
// upload.
func (l *uploadLocks) lock(id string) (held *uploadLock, unlock func()) {
	held = &uploadLock{released: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = make(map[string]*uploadLock)
	}
	l.byID[id] = held
	return held, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.byID[id] == held {
			delete(l.byID, id)
		}
		close(held.released)
	}
}

// takeOver aborts the body that is being read for an upload and waits until its lock is released.
// It reports whether that happened in time.
func (l *uploadLocks) takeOver(ctx context.Context, id string) bool {
	l.mu.Lock()
	held := l.byID[id]
	l.mu.Unlock()
	if held == nil { // released meanwhile, or held by another process
		return false
	}
	held.abort()
	ctx, cancel := context.WithTimeout(ctx, takeOverTimeout)
	defer cancel()
	select {
	case <-held.released:
		return true
	case <-ctx.Done():
		return false
	}
}

// setBody sets the body that is being read; nil when it was read. Work after the body is not
// aborted.
func (l *uploadLock) setBody(body *stallReader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.body = body
	if body != nil && l.aborted {
		body.abort(errTakenOver)
	}
}

func (l *uploadLock) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aborted = true
	if l.body != nil {
		l.body.abort(errTakenOver)
	}
}
