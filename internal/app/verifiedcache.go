package app

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
)

const (
	provenFor           = 24 * time.Hour // after which a file is read again: disks forget
	provenPerGeneration = 16 << 10
)

// provenFiles remembers which files on this machine were read and found to be whole, so that a
// broken one is never served and a good one is not read twice to find out. It is safe for
// concurrent use.
type verifiedCache struct {
	mu       sync.Mutex
	recent   map[sortie.Hash]provenFile
	older    map[sortie.Hash]provenFile
	checking map[sortie.Hash]chan struct{} // closed when the one who reads the file is done
}

// provenFile is a file as it was when it was read.
type provenFile struct {
	at       time.Time
	modified time.Time
	size     int64
}

// prove reads a file, unless that was done not long ago and it has not been written to since. It
// fails with [blob.ErrObjectCorrupt].
func (p *verifiedCache) verify(ctx context.Context, objects *blob.Objects, hash sortie.Hash, info os.FileInfo, now time.Time) error {
	for {
		done, known := p.begin(hash, info, now)
		switch {
		case known:
			return nil
		case done == nil:
			err := objects.Check(ctx, hash)
			p.end(hash, provenFile{now, info.ModTime(), info.Size()}, err)
			return err
		}
		select { // somebody reads it already
		case <-done:
		case <-ctx.Done():
			return errors.Join(blob.ErrUnavailable, ctx.Err())
		}
	}
}

// begin tells whether the file is known to be whole. If not, it gives what to wait for, or nil to
// the one who must read it.
func (p *verifiedCache) begin(hash sortie.Hash, info os.FileInfo, now time.Time) (done chan struct{}, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	file, found := p.recent[hash]
	if !found {
		file, found = p.older[hash]
	}
	if found && file.size == info.Size() && file.modified.Equal(info.ModTime()) && now.Before(file.at.Add(provenFor)) {
		return nil, true
	}
	if done, busy := p.checking[hash]; busy {
		return done, false
	}
	if p.checking == nil {
		p.checking = make(map[sortie.Hash]chan struct{})
	}
	p.checking[hash] = make(chan struct{})
	return nil, false
}

func (p *verifiedCache) end(hash sortie.Hash, file provenFile, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.checking[hash])
	delete(p.checking, hash)
	if err != nil {
		return
	}
	if len(p.recent) >= provenPerGeneration {
		p.recent, p.older = nil, p.recent
	}
	if p.recent == nil {
		p.recent = make(map[sortie.Hash]provenFile)
	}
	p.recent[hash] = file
}
