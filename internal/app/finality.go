package app

import "context"

// Due does what became due by time alone: reservations expire, acceptances become final, receipts are signed, missions are complete.
func (a *App) Due(ctx context.Context) error { return errNotBuilt }
