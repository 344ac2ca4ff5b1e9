package api

import (
	"context"
	"errors"
	"sync"
	"time"
)

// takeOverTimeout is how long a client that comes back waits for its lost connection to be given
// up.
const takeOverTimeout = 2 * time.Second

// errTakenOver ends a body whose client has come back on another connection.
var errTakenOver = errors.New("the client has come back on another connection")

// turns knows who works on which upload in this process. When a phone loses its network, the
// service does not learn of it: the old connection would keep the upload until it is found to stand
// still, and the client, which is back long before that, would be told that it is in its own way.
type turns struct {
	mu   sync.Mutex
	byID map[string]*turn
}

// turn is the work on one upload.
type turn struct {
	over chan struct{}

	mu     sync.Mutex
	body   *pacedBody // while one is being read
	broken bool       // no body shall be read any more
}

// begin notes that the upload is worked on. The turn ends after the upload was closed.
func (t *turns) begin(id string) (*turn, func()) {
	mine := &turn{over: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = make(map[string]*turn)
	}
	t.byID[id] = mine
	return mine, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.byID[id] == mine {
			delete(t.byID, id)
		}
		close(mine.over)
	}
}

// end breaks off the body that is being read for an upload, and waits for the turn to be over. It
// reports whether it is.
func (t *turns) end(ctx context.Context, id string) bool {
	t.mu.Lock()
	theirs := t.byID[id]
	t.mu.Unlock()
	if theirs == nil { // over by now, or another process's
		return false
	}
	theirs.breakOff()
	ctx, cancel := context.WithTimeout(ctx, takeOverTimeout)
	defer cancel()
	select {
	case <-theirs.over:
		return true
	case <-ctx.Done():
		return false
	}
}

// reads notes the body that is being read, nil for none any more. What is done with an upload after
// its body is not broken off.
func (t *turn) reads(body *pacedBody) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.body = body
	if body != nil && t.broken {
		body.breakOff(errTakenOver)
	}
}

func (t *turn) breakOff() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = true
	if t.body != nil {
		t.body.breakOff(errTakenOver)
	}
}
