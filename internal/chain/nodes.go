package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sortie-labs/sortie/internal/setting"
)

const (
	checkTimeout   = 3 * time.Second
	recheckWaiting = 2 * time.Second // for a node that has not answered yet
	recheckGood    = 15              // times as long for one that has: it may return as another chain
)

// Nodes are the nodes of a service. A node is used only after a check of its chain and contracts.
type Nodes struct {
	deployment Deployment
	log        *slog.Logger
	nodes      []*checkedNode
	interval   time.Duration // between checks of nodes that have not answered yet
}

type checkedNode struct {
	*Node
	good    atomic.Bool
	problem atomic.Pointer[string] // nil while the node is good
}

// OpenNodes dials the nodes and checks the deployment on each. A node that cannot be reached is
// checked later by [Nodes.Run], because quotes need no node. A node with another chain or other
// contracts is an error.
func OpenNodes(ctx context.Context, urls []string, deployment Deployment, log *slog.Logger) (*Nodes, error) {
	n := &Nodes{deployment: deployment, log: log, interval: recheckWaiting}
	for i, rawURL := range urls {
		node, err := Dial(ctx, rawURL)
		if err != nil {
			return nil, &setting.Error{Name: setting.RPC, Err: err}
		}
		if slices.ContainsFunc(urls[:i], func(earlier string) bool { return sameEndpoint(earlier, rawURL) }) {
			// The value is not repeated: provider URLs contain keys.
			return nil, &setting.Error{Name: setting.RPC, Err: fmt.Errorf("URL %d, of %s, is given twice: a node cannot confirm itself; give the URL of another provider", i+1, node.Name())}
		}
		n.nodes = append(n.nodes, &checkedNode{Node: node})
	}
	results := make([]error, len(n.nodes))
	var group sync.WaitGroup
	for i, node := range n.nodes {
		group.Go(func() { results[i] = n.check(ctx, node) })
	}
	group.Wait()
	for i, err := range results {
		if err != nil && !errors.Is(err, ErrUnreachable) {
			n.Close()
			return nil, fmt.Errorf("%w (asked %s)", err, n.nodes[i].Name())
		}
	}
	return n, nil
}

// Close closes all connections.
func (n *Nodes) Close() {
	for _, node := range n.nodes {
		node.Client.Close()
	}
}

// check checks a node and stores whether it may be used. It logs changes.
func (n *Nodes) check(ctx context.Context, node *checkedNode) error {
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := n.deployment.Check(asking, node.Node)
	if err != nil && ctx.Err() != nil {
		return err // the caller ended it, not the node
	}
	wasGood := node.good.Swap(err == nil)
	if err == nil {
		node.problem.Store(nil)
		if !wasGood {
			n.log.Info("node in use", "node", node.Name())
		}
		return nil
	}
	problem := err.Error()
	first := node.problem.Swap(&problem) == nil
	if wasGood || (first && errors.Is(err, ErrUnreachable)) {
		n.log.Warn("node not in use", "node", node.Name(), "error", problem)
	}
	return err
}

// Run checks the nodes periodically. It ends with ctx, or with an error if a node that had never
// answered is on another chain, because the configuration is wrong then. A node that was good
// before is only put out of use.
func (n *Nodes) Run(ctx context.Context) error {
	known := make([]bool, len(n.nodes))
	for i, node := range n.nodes {
		known[i] = node.good.Load()
	}
	last := time.Now()
	ticker := time.NewTicker(n.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		all := time.Since(last) >= recheckGood*n.interval
		if all {
			last = time.Now()
		}
		for i, node := range n.nodes {
			if node.good.Load() && !all {
				continue
			}
			err := n.check(ctx, node)
			if err != nil && !errors.Is(err, ErrUnreachable) && !known[i] && ctx.Err() == nil {
				return fmt.Errorf("%w (asked %s)", err, node.Name())
			}
			known[i] = known[i] || err == nil
		}
	}
}

// sameEndpoint reports whether two URLs name the same endpoint.
func sameEndpoint(a, b string) bool {
	first, errA := url.Parse(a)
	second, errB := url.Parse(b)
	return errA == nil && errB == nil && strings.EqualFold(first.Scheme, second.Scheme) && strings.EqualFold(first.Host, second.Host) &&
		strings.TrimSuffix(first.Path, "/") == strings.TrimSuffix(second.Path, "/") && first.RawQuery == second.RawQuery
}

// InUse returns the nodes that passed their check, in the order of the configuration.
func (n *Nodes) InUse() []*Node {
	usable := make([]*Node, 0, len(n.nodes))
	for _, node := range n.nodes {
		if node.good.Load() {
			usable = append(usable, node.Node)
		}
	}
	return usable
}

// UncheckedNodes returns nodes that are in use without a check, for tests.
func UncheckedNodes(deployment Deployment, log *slog.Logger, nodes ...*Node) *Nodes {
	n := &Nodes{deployment: deployment, log: log, interval: recheckWaiting}
	for _, node := range nodes {
		n.nodes = append(n.nodes, &checkedNode{Node: node})
		n.Trust(node)
	}
	return n
}

// Trust puts a node in use without a check.
func (n *Nodes) Trust(node *Node) {
	for _, checked := range n.nodes {
		if checked.Node == node {
			checked.problem.Store(nil)
			checked.good.Store(true)
		}
	}
}

// Distrust puts a node out of use until it passes a check of [Nodes.Run].
func (n *Nodes) Distrust(node *Node, problem string) {
	for _, checked := range n.nodes {
		if checked.Node == node {
			checked.problem.Store(&problem)
			if checked.good.Swap(false) {
				n.log.Warn("node not in use", "node", node.Name(), "error", problem)
			}
		}
	}
}

// Problem is the problem of the first node that is not good; empty: there is none.
func (n *Nodes) Problem() string {
	for _, node := range n.nodes {
		if problem := node.problem.Load(); problem != nil {
			return *problem
		}
	}
	return ""
}

// RunCreationCode calls [Node.RunCreationCode] on the first good node that answers.
func (n *Nodes) RunCreationCode(ctx context.Context, code []byte, gas uint64) ([]byte, error) {
	failures := []error{ErrUnreachable}
	for _, node := range n.nodes {
		if !node.good.Load() {
			continue
		}
		answer, err := node.RunCreationCode(ctx, code, gas)
		if err == nil {
			return answer, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(slices.Clip(failures)...)
}
