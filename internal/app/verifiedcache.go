package app

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/ethereum/go-ethereum/common/lru"
	"golang.org/x/sync/singleflight"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
)

const (
	verifiedFor   = 24 * time.Hour // after which a file is read again: a disk may have lost it
	verifiedFiles = 32 << 10       // that are remembered
)

// verifiedCache remembers which files on this machine were read and have the right hash, so that a
// damaged file is never served and a good one is read once a day. It is safe for concurrent use.
type verifiedCache struct {
	files *lru.Cache[sortie.Hash, verifiedFile]
	reads singleflight.Group
}

// verifiedFile is a file as it was when it was read.
type verifiedFile struct {
	at       time.Time
	modified time.Time
	size     int64
}

func newVerifiedCache() *verifiedCache {
	return &verifiedCache{files: lru.NewCache[sortie.Hash, verifiedFile](verifiedFiles)}
}

// verify reads a file, unless it was read within verifiedFor and not written to since. It fails
// with [blob.ErrObjectCorrupt].
//
// It does not return before the reading ends, also when the client leaves: the limits of downloads
// count it until then, so they bound the readings, too.
func (c *verifiedCache) verify(ctx context.Context, objects *blob.Objects, hash sortie.Hash, info os.FileInfo, now time.Time) error {
	for !c.knows(hash, info, now) {
		if ctx.Err() != nil {
			return errors.Join(blob.ErrUnavailable, ctx.Err())
		}
		read := false // by this call
		_, err, _ := c.reads.Do(string(hash[:]), func() (any, error) {
			read = true
			err := objects.Check(ctx, hash)
			if err == nil {
				c.files.Add(hash, verifiedFile{now, info.ModTime(), info.Size()})
			}
			return nil, err
		})
		if read {
			return err
		}
		// Another call read the file. If it failed, its own context may have ended: read again.
	}
	return nil
}

func (c *verifiedCache) knows(hash sortie.Hash, info os.FileInfo, now time.Time) bool {
	file, found := c.files.Get(hash)
	return found && file.size == info.Size() && file.modified.Equal(info.ModTime()) && now.Before(file.at.Add(verifiedFor))
}
