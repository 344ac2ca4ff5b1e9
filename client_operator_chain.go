package sortie

import (
	"context"
	"net/http"
	"net/url"
)

// Chain returns how far the service has followed the chain, with incidents and alarms.
func (c *Client) Chain(ctx context.Context) (ChainOverview, error) {
	var overview ChainOverview
	err := c.send(ctx, call{method: http.MethodGet, path: "/api/operator/chain"}, &overview)
	return overview, err
}

// Reconcile asks the service to compare the contract's state with its database, for all open
// missions. That happens after the answer; LastReconcile of [Client.Chain] has the outcome.
func (c *Client) Reconcile(ctx context.Context) error {
	var requested ReconcileRequested
	return c.send(ctx, call{method: http.MethodPost, path: "/api/operator/chain/reconcile"}, &requested)
}

// ClearIncident closes an incident, with the reason why the service may continue.
//
// It fails with not_found, with validation_failed for a reason that is empty or too long, and with
// wrong_state when the incident was cleared before.
func (c *Client) ClearIncident(ctx context.Context, id, reason string) (IncidentCleared, error) {
	body, err := encodeReason(reason)
	if err != nil {
		return IncidentCleared{}, err
	}
	var cleared IncidentCleared
	err = c.send(ctx, call{method: http.MethodPost, path: "/api/operator/incidents/" + url.PathEscape(id) + "/clear", body: body}, &cleared)
	return cleared, err
}
