package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/sortie-labs/sortie"
)

// Quotes need no node. They are withheld while the chain advances and cannot be followed, because a
// funding would not be noticed.
func TestQuotesAreWithheldWhileTheFollowerIsStuck(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	node := startProxy(t, chain.RPCURL)
	f := follow(t, chain, chain.serviceEnvironment(sqliteIn(t), "8", node.url))
	f.awaitTip()

	node.behave(hangsUp())
	node.awaitRequests(3, f.service)
	before := f.draft() // while the node is unavailable

	node.behave(behaviour{before: func(_ context.Context, call rpcCall) *rpcAnswer {
		if call.Method == "eth_getLogs" {
			return refused(-32601, "the method does not exist")
		}
		return nil
	}})
	chain.fund("creator", before.quote)
	chain.mine(1)
	f.service.await(t, "word of health that the follower is stuck", func() bool { return f.health().Parts["chain"] == "stuck" })
	if got := f.health().Status; got != "degraded" {
		t.Errorf("the status is %q, want degraded", got)
	}
	_, createErr := f.creator.CreateDraft(f.ctx, titled("While it is stuck"), "while-stuck")
	_, statusErr := f.creator.Mission(f.ctx, before.draftID)
	_, listErr := f.creator.Drafts(f.ctx, sortie.ListQuery{})
	for name, err := range map[string]error{"create": createErr, "status": statusErr, "list": listErr} {
		var coded *sortie.Error
		if !errors.As(err, &coded) || coded.Code != sortie.CodeFundingQuoteUnavailable {
			t.Errorf("%s: got %v, want %s", name, err, sortie.CodeFundingQuoteUnavailable)
		}
	}
	if incidents := f.overview().Incidents; len(incidents) != 1 || incidents[0].Kind != "follower_stuck" || incidents[0].Halting {
		t.Errorf("the incidents are %+v, want one of follower_stuck that does not halt", incidents)
	}

	node.behave(behaviour{})
	f.service.await(t, "end of the incident", func() bool { return len(f.overview().Incidents) == 0 })
	chain.mine(2)
	f.awaitView(before, viewInReview)
	f.draft()
}
