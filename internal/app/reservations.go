package app

import (
	"context"
	"errors"
	"io"
	"math"
	"net/netip"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	// ReservationTime is how long a slot is kept for a file of which no byte arrives.
	ReservationTime = 10 * time.Minute
	// MaxReservationTime is how long a slot is kept for a file that keeps arriving.
	MaxReservationTime = time.Hour
	// prolongStep is the shortest prolongation: there is at most one write in this time.
	prolongStep = 2 * time.Minute
	// prolongRetry is when a prolongation that failed is tried again.
	prolongRetry = 10 * time.Second

	// LongestHold is the longest hold of an acceptance that can be configured.
	LongestHold = mission.LongestHold

	// longestLink is the life of the link that lives longest, that of an upload.
	longestLink = MaxReservationTime
)

// ReservationLimits bound what can be reserved without an upload. The zero value bounds only the
// bytes, by the space on disk.
type ReservationLimits struct {
	// PerAddress is how many reservations wallets without a final acceptance may make from one
	// network address in an hour, not counting those that are accepted. An IPv6 address is its /64;
	// a /48 may make four times as many. Wallets with a final acceptance may together make four
	// times as many from one address.
	PerAddress int
	// PerWallet is the same for one wallet that has a final acceptance, from any address.
	PerWallet int
	// NewcomerPercent is the part of a mission's free slots that wallets without a final acceptance
	// may hold together until their submissions are decided. They may always hold one.
	NewcomerPercent int
	// WalletBytes and TotalBytes bound the declared sizes of files that have not arrived. Wallets
	// without a final acceptance may together hold half of TotalBytes, and one network a sixteenth
	// of what its wallet may share in: see byteShares.
	WalletBytes, TotalBytes int64
}

// DefaultReservationLimits are the limits of a service in production.
func DefaultReservationLimits() ReservationLimits {
	return ReservationLimits{PerAddress: 16, PerWallet: 64, NewcomerPercent: 50, WalletBytes: 4 << 30, TotalBytes: 64 << 30}
}

const (
	siteBits  = 48 // of an IPv6 network that one customer may have
	siteShare = 4  // how many times as much as an address a site may reserve

	knownShare       = 4  // how many times as much as newcomers wallets with history may reserve from one address
	newcomerFraction = 2  // newcomers hold this fraction of all declared bytes
	networkFraction  = 16 // a network holds this fraction of what newcomers, or all, may hold
)

// reservationBounds are the bounds for a declaration of a wallet from a network.
func (a *App) reservationBounds(ctx context.Context, contributor sortie.Address, network netip.Prefix) (bounds store.ReservationBounds, err error) {
	limits := a.reserves
	bounds.ContributorBytes, bounds.TotalBytes = limits.WalletBytes, a.reservableBytes()
	if limits.PerAddress == 0 && limits.PerWallet == 0 && limits.NewcomerPercent == 0 {
		return bounds, nil
	}
	known, err := a.store.HasFinal(ctx, contributor)
	if err != nil {
		return bounds, storeError(err)
	}
	// Meters of wallets with history have different names, so that newcomers at the same address do
	// not use them up.
	kind, perAddress := "", limits.PerAddress
	if known {
		kind, perAddress = "known ", knownShare*limits.PerAddress
		bounds.OwnMeter = store.ReservationMeter{Holder: contributor.String(), Burst: limits.PerWallet}
	} else {
		bounds.Newcomer, bounds.NewcomerPercent = true, limits.NewcomerPercent
	}
	bounds.Meter = store.ReservationMeter{Holder: kind + network.String(), Burst: perAddress}
	bounds.Network = network.String()
	if network.IsValid() && network.Addr().Is6() {
		if site, err := network.Addr().Prefix(siteBits); err == nil {
			bounds.WideMeter = store.ReservationMeter{Holder: kind + site.String(), Burst: siteShare * perAddress}
			bounds.Network = site.String()
		}
	}
	bounds.NewcomerBytes, bounds.NetworkBytes = byteShares(bounds.TotalBytes, known)
	return bounds, nil
}

// byteShares are the parts of all declared bytes that newcomers may hold together, and that the
// network of a wallet may hold: an IPv4 address or an IPv6 /48. Each part has room for one file
// that fits into the total.
func byteShares(total int64, known bool) (newcomers, network int64) {
	least := min(total, sortie.MaxUploadBytes)
	newcomers = max(total/newcomerFraction, least)
	if known {
		return newcomers, max(total/networkFraction, least)
	}
	return newcomers, max(newcomers/networkFraction, least)
}

// reservableBytes is the largest sum of declared sizes, by configuration and by space on the upload
// disk. It is at least 1, because 0 means no limit.
func (a *App) reservableBytes() int64 {
	most := a.reserves.TotalBytes
	if most == 0 {
		most = math.MaxInt64
	}
	return max(1, min(most, a.incoming.Room()))
}

// errMissionFull refuses a declaration to a mission without a free slot, and reports whether and
// when a later try can succeed.
func (a *App) errMissionFull(ctx context.Context, was store.OpenSlots, cause error) error {
	slots, err := a.store.SlotsOf(ctx, was.DraftID)
	if err != nil {
		return storeError(err)
	}
	if slots.Accepted >= slots.Target {
		return sortie.NewError(sortie.CodeMissionFull, "this mission has all it asked for; choose another mission").Because(cause)
	}
	end, err := a.store.NextReservationEnd(ctx, was.DraftID)
	if err != nil {
		return storeError(err)
	}
	message := "every slot of this mission is reserved; a slot whose file does not arrive or is not accepted becomes free, so try again later or choose another mission"
	if errors.Is(cause, store.ErrNewcomersFull) {
		message = "wallets without a final acceptance hold their share of this mission; try again when a submission of theirs is decided about, or choose another mission"
	}
	retryIn := time.Minute // files are being checked, or a slot became free
	full := sortie.NewError(sortie.CodeMissionFull, "%s", message).Because(cause).Detail("slotsLeft", slots.Left()).Detail("slotsReserved", slots.Reserved)
	if end != nil {
		free := freeAt(*end)
		full = full.Detail("nextSlotAt", sortie.FormatTime(free))
		retryIn = free.Sub(a.now())
	}
	return full.Detail("retryAfterSeconds", secondsUntil(retryIn))
}

// freeAt is when the slot of a reservation becomes free if its file does not arrive: see
// expireReservations.
func freeAt(reservedUntil time.Time) time.Time { return reservedUntil.Add(takeInTime) }

func secondsUntil(wait time.Duration) int { return max(1, int(math.Ceil(wait.Seconds()))) }

// boundError turns a refusal by the reservation bounds into an error for a client.
func (a *App) boundError(err error) error {
	var meter *store.MeterError
	switch {
	case errors.As(err, &meter):
		wait := secondsUntil(meter.RetryAt.Sub(a.now()))
		return sortie.NewError(sortie.CodeRateLimited, "%d reservations of this network or wallet are not accepted; wait for the decisions about them, or try again in %d s", meter.Meter.Burst, wait).
			Detail("limit", "reservations").Detail("maxReservations", meter.Meter.Burst).Detail("retryAfterSeconds", wait).Because(err)
	case errors.Is(err, store.ErrContributorBytes):
		return sortie.NewError(sortie.CodeContributorLimit, "the files that this wallet has declared and not uploaded have %d bytes at most; upload or withdraw them, then declare this one", a.reserves.WalletBytes).
			Detail("maxReservedBytes", a.reserves.WalletBytes).Detail("retryAfterSeconds", secondsUntil(ReservationTime)).Because(err)
	case errors.Is(err, store.ErrNetworkBytes):
		return sortie.NewError(sortie.CodeRateLimited, "the files that were declared from this network and not uploaded are too large in sum; upload or withdraw them, or try again in a minute").
			Detail("limit", "reserved-bytes").Detail("retryAfterSeconds", 60).Because(err)
	case errors.Is(err, store.ErrNewcomerBytes):
		return sortie.NewError(sortie.CodeServiceUnavailable, "the service waits for as many bytes as wallets without a final acceptance may declare together; try again in a minute").
			Detail("retryAfterSeconds", 60).Because(err)
	case errors.Is(err, store.ErrReservedBytes):
		return sortie.NewError(sortie.CodeServiceUnavailable, "the service waits for as many bytes of declared files as it has room for; try again in a minute").
			Detail("retryAfterSeconds", 60).Because(err)
	default:
		return storeError(err)
	}
}

// dropIdleMeters removes the meters of networks and wallets whose reservations no longer count.
func (l *Ledger) dropIdleMeters(ctx context.Context) error {
	idle, err := l.store.HasIdleMeters(ctx)
	if err != nil || !idle {
		return err
	}
	return l.store.Tx(ctx, func(tx *store.Tx) error { return tx.DropIdleMeters(maxDue) })
}

// longestReservation is the latest end of a reservation.
func longestReservation(submission store.Submission) time.Time {
	return submission.CreatedAt.Add(MaxReservationTime).Truncate(time.Second)
}

// arriving reads the body of an upload, and prolongs the reservation while bytes arrive.
type arriving struct {
	io.Reader
	ctx    context.Context
	upload *Upload
}

func (r arriving) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.upload.prolong(r.ctx)
	}
	return n, err
}

// prolongation is a running update of the end of a reservation.
type prolongation struct {
	until time.Time
	done  chan error
}

// prolong moves the end of the reservation, at most once in prolongStep. It does not wait for the
// database, so that a slow one does not stop the upload. When it fails the upload continues, and it
// is tried again.
func (u *Upload) prolong(ctx context.Context) {
	if u.prolonging != nil {
		select {
		case err := <-u.prolonging.done:
			u.prolonged(err)
		default:
			return // one at a time
		}
	}
	now, ends, longest := u.app.now(), u.submission.ReservedUntil, longestReservation(u.submission)
	until := now.Add(ReservationTime).Truncate(time.Second)
	if until.After(longest) {
		until = longest
	}
	isStep := until.Sub(ends) >= prolongStep || until.Equal(longest)
	if !until.After(ends) || !isStep || !now.Before(ends) || now.Before(u.prolongAt) {
		return
	}
	move := &prolongation{until: until, done: make(chan error, 1)}
	u.prolonging = move
	id := u.submission.ID
	go func() {
		move.done <- u.app.store.Tx(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.Prolong(id, until) })
	}()
}

// prolonged reads the result of a prolongation.
func (u *Upload) prolonged(err error) {
	until := u.prolonging.until
	u.prolonging = nil
	if err != nil {
		u.prolongAt = u.app.now().Add(prolongRetry)
		u.app.log.Warn("the reservation of an upload could not be prolonged", "submissionId", u.submission.ID, "error", err)
		return
	}
	u.submission.ReservedUntil = until
}

// awaitProlonging waits for a running prolongation.
func (u *Upload) awaitProlonging() {
	if u.prolonging != nil {
		u.prolonged(<-u.prolonging.done)
	}
}
