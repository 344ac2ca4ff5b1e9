package api

import (
	"math"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// Limits are the rate limits, in requests a minute unless noted; 0 is no limit.
type Limits struct {
	AddressRequests       int // per address, before authentication
	AddressFailures       int // per address: failed authentications
	AddressContractChecks int // per address: signatures that need the chain to be checked
	AddressDraftKiB       int // per address: KiB of posted drafts
	WalletDrafts          int // per wallet: posted drafts
	WalletReads           int // per wallet: everything else
	AddressUploads        int // per address: uploads in flight
	AddressDownloads      int // per address: downloads in flight
	AddressBodies         int // per address: bodies being received, for each pool
	AddressLists          int // per address: lists in flight
	WalletLists           int // per wallet: lists in flight
}

// DefaultLimits returns the limits of a service in production.
func DefaultLimits() *Limits {
	return &Limits{
		AddressRequests: 300, AddressFailures: 30, AddressContractChecks: 20, AddressDraftKiB: 512, WalletDrafts: 30, WalletReads: 120,
		AddressUploads: 16, AddressDownloads: 64, AddressBodies: 64, AddressLists: 16, WalletLists: 4,
	}
}

const (
	limitWindow  = time.Minute
	limitedKeys  = 100_000 // per limiter; a bucket is about 100 bytes
	sweepPortion = 64      // keys checked for each new key, so that no request sweeps them all
)

// limiter is a token bucket per key: quota requests at once, refilled over the window.
type limiter[K comparable] struct {
	name  string // in the RateLimit headers
	quota int
	unit  string // of the quota, in the plural

	mu      sync.Mutex
	buckets map[K]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newLimiter[K comparable](name string, quota int) *limiter[K] {
	if quota <= 0 {
		return nil
	}
	return &limiter[K]{name: name, quota: quota, unit: "requests", buckets: make(map[K]bucket)}
}

// of sets the unit of the quota, which is requests otherwise.
func (l *limiter[K]) of(unit string) *limiter[K] {
	if l != nil {
		l.unit = unit
	}
	return l
}

// allowance is the rest of a quota after a request. The zero value means no limit.
type allowance struct {
	limit     string
	quota     int
	unit      string
	remaining int
	retryIn   time.Duration // positive when the request is refused
}

func (a allowance) refused() bool { return a.retryIn > 0 }

// take uses one request of the key's quota. A nil limiter has no limit.
func (l *limiter[K]) take(key K, now time.Time) allowance { return l.use(key, now, 1, false) }

// peek returns what take would return, and uses nothing.
func (l *limiter[K]) peek(key K, now time.Time) allowance { return l.use(key, now, 0, false) }

// charge uses more of the quota for an expensive request that was allowed. The rest may become
// negative.
func (l *limiter[K]) charge(key K, now time.Time, requests int) {
	if requests > 0 {
		l.use(key, now, float64(requests), true)
	}
}

// refund returns quota that was used for a request without cost.
func (l *limiter[K]) refund(key K, now time.Time, requests int) {
	if requests > 0 {
		l.use(key, now, -float64(requests), true)
	}
}

func (l *limiter[K]) use(key K, now time.Time, tokens float64, charged bool) allowance {
	if l == nil {
		return allowance{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	perSecond := float64(l.quota) / limitWindow.Seconds()
	b, known := l.buckets[key]
	if !known {
		l.sweep(now)
		b = bucket{tokens: float64(l.quota), at: now}
	}
	if elapsed := now.Sub(b.at); elapsed > 0 {
		b.tokens = min(float64(l.quota), b.tokens+elapsed.Seconds()*perSecond)
		b.at = now
	}
	left := allowance{limit: l.name, quota: l.quota, unit: l.unit}
	if b.tokens < 1 && !charged {
		left.retryIn = time.Duration((1 - b.tokens) / perSecond * float64(time.Second))
	} else {
		b.tokens -= tokens
	}
	b.tokens = min(float64(l.quota), max(b.tokens, -float64(l.quota))) // refills to zero within a window
	left.remaining = max(0, int(b.tokens))
	if known || tokens != 0 {
		l.buckets[key] = b
	}
	return left
}

// sweep deletes buckets that have refilled. If there are none among those it checks, it deletes
// others, so that the memory stays bounded: these limits are not meant for a flood from that many
// addresses.
func (l *limiter[K]) sweep(now time.Time) {
	if len(l.buckets) < limitedKeys {
		return
	}
	checked := 0
	for key, b := range l.buckets {
		if checked++; checked > sweepPortion {
			break
		}
		if now.Sub(b.at) >= limitWindow || len(l.buckets) >= limitedKeys {
			delete(l.buckets, key)
		}
	}
}

// networkQuota is by how much the quota of an IPv6 /48 is larger than that of one address. A site
// has a /48, and would otherwise count as 65,536 clients.
const networkQuota = 10

// networkBits is the prefix length of the network of one IPv6 site.
const networkBits = 48

// networkOf returns the /48 of an IPv6 client. For IPv4 it returns the address, and ok is false.
func networkOf(address netip.Prefix) (network netip.Prefix, ok bool) {
	if !address.Addr().Is6() {
		return address, false
	}
	network, err := address.Addr().Prefix(networkBits)
	return network, err == nil
}

// addressLimiter limits clients by their address, and IPv6 clients also by their /48.
type addressLimiter struct{ addresses, networks *limiter[netip.Prefix] }

func newAddressLimiter(name string, quota int) addressLimiter {
	return addressLimiter{newLimiter[netip.Prefix](name, quota), newLimiter[netip.Prefix](name+"-network", networkQuota*quota)}
}

// of sets the unit of the quota, which is requests otherwise.
func (l addressLimiter) of(unit string) addressLimiter {
	return addressLimiter{l.addresses.of(unit), l.networks.of(unit)}
}

// take uses one request of the address and of its network, unless one of them has none left.
func (l addressLimiter) take(address netip.Prefix, now time.Time) allowance {
	network, ok := networkOf(address)
	if ok {
		if left := l.networks.peek(network, now); left.refused() {
			return left
		}
	}
	left := l.addresses.take(address, now)
	if ok && !left.refused() {
		l.networks.take(network, now)
	}
	return left
}

// peek returns what take would return, and uses nothing.
func (l addressLimiter) peek(address netip.Prefix, now time.Time) allowance {
	if network, ok := networkOf(address); ok {
		if left := l.networks.peek(network, now); left.refused() {
			return left
		}
	}
	return l.addresses.peek(address, now)
}

// charge is [limiter.charge] for the address and its network.
func (l addressLimiter) charge(address netip.Prefix, now time.Time, requests int) {
	l.addresses.charge(address, now, requests)
	if network, ok := networkOf(address); ok {
		l.networks.charge(network, now, requests)
	}
}

// refund is [limiter.refund] for the address and its network.
func (l addressLimiter) refund(address netip.Prefix, now time.Time, requests int) {
	l.addresses.refund(address, now, requests)
	if network, ok := networkOf(address); ok {
		l.networks.refund(network, now, requests)
	}
}

// limiters holds one limiter for each limit.
type limiters struct {
	requests, failures, contractChecks addressLimiter
	draftKiB                           addressLimiter
	drafts, reads                      *limiter[sortie.Address]
	uploads, downloads, lists          *perClient
	walletLists                        *perWallet
}

func newLimiters(limits *Limits) *limiters {
	if limits == nil {
		limits = &Limits{}
	}
	return &limiters{
		requests:       newAddressLimiter("address", limits.AddressRequests),
		failures:       newAddressLimiter("failed-authentication", limits.AddressFailures),
		contractChecks: newAddressLimiter("contract-wallet-checks", limits.AddressContractChecks),
		draftKiB:       newAddressLimiter("draft-bytes", limits.AddressDraftKiB).of("KiB of drafts"),
		drafts:         newLimiter[sortie.Address]("drafts", limits.WalletDrafts),
		reads:          newLimiter[sortie.Address]("reads", limits.WalletReads),
		uploads:        newPerClient(limits.AddressUploads),
		downloads:      newPerClient(limits.AddressDownloads),
		lists:          newPerClient(limits.AddressLists),
		walletLists:    newPerWallet(limits.WalletLists),
	}
}

// A large answer counts as one more request for each costlyBytes and each costlyQuotes.
const (
	costlyBytes  = 1 << 20
	costlyQuotes = 100
)

// cost returns how many requests the answer costs in addition to one.
func (req *request) cost() int { return req.answered/costlyBytes + req.rows/costlyQuotes }

// writeHeaders sets the RateLimit headers of the IETF draft.
func (a allowance) writeHeaders(header map[string][]string) {
	if a.limit == "" {
		return
	}
	header["Ratelimit-Policy"] = []string{strconv.Quote(a.limit) + ";q=" + strconv.Itoa(a.quota) + ";w=60"}
	header["Ratelimit"] = []string{strconv.Quote(a.limit) + ";r=" + strconv.Itoa(a.remaining) + ";t=" + strconv.Itoa(a.resetSeconds())}
}

// resetSeconds returns after how many seconds at least one more request is allowed.
func (a allowance) resetSeconds() int {
	if a.refused() {
		return ceilSeconds(a.retryIn)
	}
	return ceilSeconds(limitWindow / time.Duration(max(1, a.quota)))
}

// refusal returns the error of a refused request and sets the RateLimit headers. It returns nil for
// an allowed request.
func (a allowance) refusal(header map[string][]string) error {
	if !a.refused() {
		return nil
	}
	a.writeHeaders(header)
	return sortie.NewError(sortie.CodeRateLimited, "more than %d %s a minute (limit %q); try again in %d s", a.quota, a.unit, a.limit, ceilSeconds(a.retryIn)).
		Detail("limit", a.limit).Detail("retryAfterSeconds", ceilSeconds(a.retryIn))
}

func ceilSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
