package api

import (
	"math"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
)

// Limits are the rate limits, in requests a minute; 0 is no limit.
type Limits struct {
	AddressRequests       int // per address, before authentication
	AddressFailures       int // per address: failed authentications
	AddressContractChecks int // per address: signatures that need the chain to be checked
	AddressDraftKiB       int // per address: kibibytes of posted drafts, since wallets cost nothing and drafts are kept
	WalletDrafts          int // per wallet: posted drafts
	WalletReads           int // per wallet: everything else
	AddressUploads        int // per address: at a time, unlike those above
	AddressDownloads      int // per address: at a time
	AddressBodies         int // per address: bodies that are being received at a time, for each pool of them
	AddressLists          int // per address: lists at a time
	WalletLists           int // per wallet: lists at a time
}

// DefaultLimits are the limits of a service in production.
func DefaultLimits() *Limits {
	return &Limits{
		AddressRequests: 300, AddressFailures: 30, AddressContractChecks: 20, AddressDraftKiB: 512, WalletDrafts: 30, WalletReads: 120,
		AddressUploads: 16, AddressDownloads: 64, AddressBodies: 64, AddressLists: 16, WalletLists: 4,
	}
}

const (
	limitWindow  = time.Minute
	limitedKeys  = 100_000 // per limiter; a bucket is about 100 bytes
	sweepPortion = 64      // keys looked at for each new one, so that no request pays for a sweep of all
)

// limiter is a token bucket per key: quota requests at once, refilled over the window.
type limiter[K comparable] struct {
	name  string // as the RateLimit headers call it
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

// of says what the quota counts, where that is not requests.
func (l *limiter[K]) of(unit string) *limiter[K] {
	if l != nil {
		l.unit = unit
	}
	return l
}

// allowance is what is left of a quota after a request. Its zero value is that of no limit.
type allowance struct {
	limit     string
	quota     int
	unit      string
	remaining int
	retryIn   time.Duration // positive when the request is refused
}

func (a allowance) refused() bool { return a.retryIn > 0 }

// take uses up one request of the key's quota. A nil limiter has no limit.
func (l *limiter[K]) take(key K, now time.Time) allowance { return l.use(key, now, 1, false) }

// look says what take would, and uses up nothing.
func (l *limiter[K]) look(key K, now time.Time) allowance { return l.use(key, now, 0, false) }

// charge uses up more of the quota for a request that was taken and turned out to be costly. It may
// leave a debt.
func (l *limiter[K]) charge(key K, now time.Time, requests int) {
	if requests > 0 {
		l.use(key, now, float64(requests), true)
	}
}

// giveBack returns what was used up for a request that turned out to cost nothing.
func (l *limiter[K]) giveBack(key K, now time.Time, requests int) {
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
	b.tokens = min(float64(l.quota), max(b.tokens, -float64(l.quota))) // a debt is paid back within a window
	left.remaining = max(0, int(b.tokens))
	if known || tokens != 0 {
		l.buckets[key] = b
	}
	return left
}

// sweep makes room: buckets that have refilled say nothing. When a flood of keys leaves none,
// arbitrary ones go; the memory stays bounded, and a flood from that many addresses is not what
// this limit is against.
func (l *limiter[K]) sweep(now time.Time) {
	if len(l.buckets) < limitedKeys {
		return
	}
	looked := 0
	for key, b := range l.buckets {
		if looked++; looked > sweepPortion {
			break
		}
		if now.Sub(b.at) >= limitWindow || len(l.buckets) >= limitedKeys {
			delete(l.buckets, key)
		}
	}
}

// networkQuota is how much more than one address all addresses of an IPv6 /48 may do: a site is
// given a /48, and could otherwise count as 65,536 clients.
const networkQuota = 10

// networkBits are those of a network that one IPv6 customer may own.
const networkBits = 48

// networkOf is the /48 of an IPv6 client. For any other it is the address itself, and ok is false.
func networkOf(address netip.Prefix) (network netip.Prefix, ok bool) {
	if !address.Addr().Is6() {
		return address, false
	}
	network, err := address.Addr().Prefix(networkBits)
	return network, err == nil
}

// addressLimiter limits clients by their address, and those with IPv6 by their /48 too.
type addressLimiter struct{ addresses, networks *limiter[netip.Prefix] }

func newAddressLimiter(name string, quota int) addressLimiter {
	return addressLimiter{newLimiter[netip.Prefix](name, quota), newLimiter[netip.Prefix](name+"-network", networkQuota*quota)}
}

// of says what the quota counts, where that is not requests.
func (l addressLimiter) of(unit string) addressLimiter {
	return addressLimiter{l.addresses.of(unit), l.networks.of(unit)}
}

// take uses up one request of the address and of its network, unless one of them has none left.
func (l addressLimiter) take(address netip.Prefix, now time.Time) allowance {
	network, ok := networkOf(address)
	if ok {
		if left := l.networks.look(network, now); left.refused() {
			return left
		}
	}
	left := l.addresses.take(address, now)
	if ok && !left.refused() {
		l.networks.take(network, now)
	}
	return left
}

// look says what take would, and uses up nothing.
func (l addressLimiter) look(address netip.Prefix, now time.Time) allowance {
	if network, ok := networkOf(address); ok {
		if left := l.networks.look(network, now); left.refused() {
			return left
		}
	}
	return l.addresses.look(address, now)
}

// charge is [limiter.charge] for the address and its network.
func (l addressLimiter) charge(address netip.Prefix, now time.Time, requests int) {
	l.addresses.charge(address, now, requests)
	if network, ok := networkOf(address); ok {
		l.networks.charge(network, now, requests)
	}
}

// giveBack is [limiter.giveBack] for the address and its network.
func (l addressLimiter) giveBack(address netip.Prefix, now time.Time, requests int) {
	l.addresses.giveBack(address, now, requests)
	if network, ok := networkOf(address); ok {
		l.networks.giveBack(network, now, requests)
	}
}

// limiters holds one limiter for each limit.
type limiters struct {
	requests, failures, contractChecks addressLimiter
	draftKiB                           addressLimiter
	drafts, reads                      *limiter[sortie.Address]
	uploads, downloads, lists          *shares
	walletLists                        *walletShares
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
		uploads:        newShares(limits.AddressUploads),
		downloads:      newShares(limits.AddressDownloads),
		lists:          newShares(limits.AddressLists),
		walletLists:    newWalletShares(limits.WalletLists),
	}
}

// What an answer costs beyond the one request that was counted before it: one more for so many
// bytes, and for so many quotes.
const (
	costlyBytes  = 1 << 20
	costlyQuotes = 100
)

// cost is what a request is charged after its answer.
func (req *request) cost() int { return req.answered/costlyBytes + req.rows/costlyQuotes }

// writeHeaders tells the client what is left, in the form of the IETF's RateLimit draft.
func (a allowance) writeHeaders(header map[string][]string) {
	if a.limit == "" {
		return
	}
	header["Ratelimit-Policy"] = []string{strconv.Quote(a.limit) + ";q=" + strconv.Itoa(a.quota) + ";w=60"}
	header["Ratelimit"] = []string{strconv.Quote(a.limit) + ";r=" + strconv.Itoa(a.remaining) + ";t=" + strconv.Itoa(a.resetSeconds())}
}

// resetSeconds is when the quota has grown by at least one request.
func (a allowance) resetSeconds() int {
	if a.refused() {
		return ceilSeconds(a.retryIn)
	}
	return ceilSeconds(limitWindow / time.Duration(max(1, a.quota)))
}

// refusal is the error of a refused request, whose answer gets the headers that tell why; nil for
// any other.
func (a allowance) refusal(header map[string][]string) error {
	if !a.refused() {
		return nil
	}
	a.writeHeaders(header)
	return sortie.NewError(sortie.CodeRateLimited, "more than %d %s a minute (limit %q); try again in %d s", a.quota, a.unit, a.limit, ceilSeconds(a.retryIn)).
		Detail("limit", a.limit).Detail("retryAfterSeconds", ceilSeconds(a.retryIn))
}

func ceilSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
