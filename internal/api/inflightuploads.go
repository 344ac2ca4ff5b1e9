package api

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	// defaultUploads is how many uploads a process receives at a time. One that waits for bytes
	// costs about 50 KiB: its connection, its goroutine and a buffer.
	defaultUploads = 2048
	// maxLeaving is how many uploads may be on their way out after they gave way. Each still writes
	// what arrived to the disk.
	maxLeaving = 64
	// slowPace is the time for leastProgress bytes from which an upload gives way to an upload of
	// the same network, or of one that has as many.
	slowPace = time.Second
)

// errGaveWay ends the body of an upload that was the slowest when places ran out.
var errGaveWay = errors.New("the upload gave way to another")

// uploadPlaces bounds how many uploads are received at a time. When all places are taken, the
// slowest upload of the network with the most uploads gives way to a network with fewer: trickling
// uploads from a few addresses keep no other client out.
type uploadPlaces struct {
	most       int
	perAddress int // 0: as many as there are places
	displaced  func()

	mu        sync.Mutex
	taken     int
	leaving   int
	byAddress map[netip.Prefix]int
	bySite    map[netip.Prefix]map[*uploadPlace]bool
}

// uploadPlace is held by one upload.
type uploadPlace struct {
	address, site netip.Prefix
	body          *pacedBody // while one is read; guarded by the places' mutex
	isLeaving     bool
}

func newUploadPlaces(most, perAddress int, displaced func()) *uploadPlaces {
	return &uploadPlaces{
		most: most, perAddress: perAddress, displaced: displaced,
		byAddress: make(map[netip.Prefix]int), bySite: make(map[netip.Prefix]map[*uploadPlace]bool),
	}
}

// take takes a place, to be released again. Without a free one, another upload gives way if one
// should.
func (p *uploadPlaces) take(address netip.Prefix) (*uploadPlace, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	site, _ := networkOf(address)
	place := &uploadPlace{address: address, site: site}
	if p.perAddress > 0 && (p.byAddress[address] >= p.perAddress || len(p.bySite[place.site]) >= networkShares*p.perAddress) {
		return nil, sortie.NewError(sortie.CodeServiceUnavailable, "as many uploads of this network are on their way as it may have; wait for one of them to end")
	}
	if p.taken >= p.most {
		slowest := p.slowest(len(p.bySite[place.site]))
		if slowest == nil {
			return nil, sortie.NewError(sortie.CodeServiceUnavailable, "too many uploads are on their way; try again shortly")
		}
		p.remove(slowest)
		slowest.isLeaving = true
		p.leaving++
		slowest.body.breakOff(errGaveWay)
		p.displaced()
	}
	p.taken++
	p.byAddress[address]++
	if p.bySite[place.site] == nil {
		p.bySite[place.site] = make(map[*uploadPlace]bool)
	}
	p.bySite[place.site][place] = true
	return place, nil
}

// slowest finds the upload that gives way to one of a site which has so many; nil for none. Only
// uploads of the sites with the most uploads do.
func (p *uploadPlaces) slowest(has int) (found *uploadPlace) {
	if p.leaving >= maxLeaving {
		return nil
	}
	most := 0
	for _, places := range p.bySite {
		most = max(most, len(places))
	}
	var longest time.Duration
	for _, places := range p.bySite {
		if len(places) < most {
			continue
		}
		for place := range places {
			if place.body == nil {
				continue
			}
			if pace := place.body.pace(); found == nil || pace > longest {
				found, longest = place, pace
			}
		}
	}
	if has >= most && longest < slowPace {
		return nil
	}
	return found
}

func (p *uploadPlaces) remove(place *uploadPlace) {
	p.taken--
	if p.byAddress[place.address]--; p.byAddress[place.address] == 0 {
		delete(p.byAddress, place.address)
	}
	if delete(p.bySite[place.site], place); len(p.bySite[place.site]) == 0 {
		delete(p.bySite, place.site)
	}
}

func (p *uploadPlaces) release(place *uploadPlace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place.isLeaving {
		p.leaving--
		return
	}
	p.remove(place)
}

// reads notes the body that is read at a place, nil for none any more: an upload whose last byte
// arrived does not give way.
func (p *uploadPlaces) reads(place *uploadPlace, body *pacedBody) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place.body = body
}
