package e2e

import (
	"net/http"
	"testing"

	"github.com/sortie-labs/sortie/internal/pgtest"
)

// A process does only the work of its roles.
func TestRoles(t *testing.T) {
	t.Parallel()
	chain, database := startAnvil(t), pgtest.Database(t)
	start := func(roles string) *member {
		node := startProxy(t, chain.RPCURL)
		environment := append(chain.serviceEnvironment(database, "8", node.url), "SORTIE_ROLES="+roles)
		return &member{follow(t, chain, environment), node}
	}
	front := start("api")
	draft := front.draft()
	chain.fund("creator", draft.quote)
	chain.mine(3)
	if overview := front.overview(); overview.Follower != nil {
		t.Errorf("a process without the role chain says that it follows: %+v", overview.Follower)
	}

	follower := start("chain")
	front.awaitView(draft, viewInReview) // the funding was mined while no process followed
	for _, path := range []string{"/api/external/missions", "/api/operator/chain", "/api/external/missions/drafts"} {
		if code := statusOf(t, follower.service.url+path); code != http.StatusNotFound {
			t.Errorf("a process without the role api answers %s with %d", path, code)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if code := statusOf(t, follower.service.url+path); code != http.StatusOK {
			t.Errorf("a process without the role api answers %s with %d", path, code)
		}
	}

	front.reject(draft) // the refund is work for a third
	chain.mine(1)
	front.awaitTip()
	worker := start("worker")
	front.mineUntilView(draft, viewRefunded)
	for name, member := range map[string]*member{"api": front, "worker": worker} {
		for _, method := range []string{"eth_getLogs", "eth_sendRawTransaction"} {
			if asked := member.node.count(method); asked != 0 {
				t.Errorf("a process with the role %s alone called %s %d times", name, method, asked)
			}
		}
	}
	if follower.node.count("eth_sendRawTransaction") == 0 {
		t.Error("the process with the role chain sent nothing")
	}
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
