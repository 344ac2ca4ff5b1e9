package api

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	// defaultUploads is how many uploads a process receives at a time. An upload that waits for
	// bytes costs about 50 KiB: its connection, its goroutine and a buffer.
	defaultUploads = 2048
	// maxLeaving is how many displaced uploads may be unfinished. Each still writes the bytes that
	// arrived to the disk.
	maxLeaving = 64
	// slowPace is the time for minProgress bytes at which an upload can be displaced by an upload
	// of the same network, or of a network with as many uploads.
	slowPace = time.Second
)

// errDisplaced ends the body of an upload that was the slowest when the limit was reached.
var errDisplaced = errors.New("the upload was displaced by another")

// inflightUploads bounds how many uploads are received at a time. At the limit, a new upload
// displaces the slowest upload of the network that has the most uploads. So slow uploads from a few
// addresses do not block other clients.
type inflightUploads struct {
	limit       int
	perAddress  int // 0: no limit
	onDisplaced func()

	mu        sync.Mutex
	count     int
	leaving   int
	byAddress map[netip.Prefix]int
	byNetwork map[netip.Prefix]map[*inflightUpload]bool
}

// inflightUpload is one upload that is being received.
type inflightUpload struct {
	address, network netip.Prefix
	body             *stallReader // while it is being read; guarded by inflightUploads.mu
	isLeaving        bool
}

func newInflightUploads(limit, perAddress int, onDisplaced func()) *inflightUploads {
	return &inflightUploads{
		limit: limit, perAddress: perAddress, onDisplaced: onDisplaced,
		byAddress: make(map[netip.Prefix]int), byNetwork: make(map[netip.Prefix]map[*inflightUpload]bool),
	}
}

// acquire adds an upload. At the limit it displaces another upload, or fails if none may be
// displaced. The caller calls release after a success.
func (u *inflightUploads) acquire(address netip.Prefix) (*inflightUpload, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	network, _ := networkOf(address)
	added := &inflightUpload{address: address, network: network}
	if u.perAddress > 0 && (u.byAddress[address] >= u.perAddress || len(u.byNetwork[network]) >= networkShares*u.perAddress) {
		return nil, sortie.NewError(sortie.CodeServiceUnavailable, "this network has as many uploads in flight as it may have; wait for one to end")
	}
	if u.count >= u.limit {
		slowest := u.slowest(len(u.byNetwork[network]))
		if slowest == nil {
			return nil, sortie.NewError(sortie.CodeServiceUnavailable, "too many uploads are in flight; try again shortly")
		}
		u.displace(slowest)
	}
	u.count++
	u.byAddress[address]++
	if u.byNetwork[network] == nil {
		u.byNetwork[network] = make(map[*inflightUpload]bool)
	}
	u.byNetwork[network][added] = true
	return added, nil
}

// slowest returns the upload to displace for a network that has own uploads, or nil. Only uploads
// of the networks with the most uploads are candidates.
func (u *inflightUploads) slowest(own int) (found *inflightUpload) {
	if u.leaving >= maxLeaving {
		return nil
	}
	most := 0
	for _, uploads := range u.byNetwork {
		most = max(most, len(uploads))
	}
	var longest time.Duration
	for _, uploads := range u.byNetwork {
		if len(uploads) < most {
			continue
		}
		for upload := range uploads {
			if upload.body == nil {
				continue
			}
			if pace := upload.body.pace(); found == nil || pace > longest {
				found, longest = upload, pace
			}
		}
	}
	if own >= most && longest < slowPace {
		return nil
	}
	return found
}

func (u *inflightUploads) displace(upload *inflightUpload) {
	u.remove(upload)
	upload.isLeaving = true
	u.leaving++
	upload.body.abort(errDisplaced)
	u.onDisplaced()
}

func (u *inflightUploads) remove(upload *inflightUpload) {
	u.count--
	if u.byAddress[upload.address]--; u.byAddress[upload.address] == 0 {
		delete(u.byAddress, upload.address)
	}
	if delete(u.byNetwork[upload.network], upload); len(u.byNetwork[upload.network]) == 0 {
		delete(u.byNetwork, upload.network)
	}
}

func (u *inflightUploads) release(upload *inflightUpload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if upload.isLeaving {
		u.leaving--
		return
	}
	u.remove(upload)
}

// setBody sets the body that an upload reads. A nil body means that all bytes arrived: such an
// upload is not displaced.
func (u *inflightUploads) setBody(upload *inflightUpload, body *stallReader) {
	u.mu.Lock()
	defer u.mu.Unlock()
	upload.body = body
}
