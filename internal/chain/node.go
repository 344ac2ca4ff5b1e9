// Package chain asks nodes: single calls and batches, the state and the events of the contracts, and
// what enough nodes agree on.
//
// It owns every JSON-RPC call of the service. It trusts a node with nothing that it can check
// itself, and for what money depends on it wants the same answer from two nodes where two are
// configured ([Quorum]).
package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

const (
	requestTimeout = 15 * time.Second
	maxAnswerBytes = 32 << 20 // a node that answers more than this is broken or hostile
)

// Node is one JSON-RPC endpoint. Its name in errors and logs is its URL without credentials and
// query.
//
// The embedded client is for single calls whose answers are few and small. The follower asks
// through [Node.batch], which is stricter about answers and cheaper where they are long.
type Node struct {
	*ethclient.Client
	name     string
	endpoint string // with its secrets
	http     *http.Client
	limit    batchLimit
	heavy    heavyReceipts
}

// Dial prepares a node for use. It makes no request: a node that is down is found out when it is
// asked.
func Dial(ctx context.Context, rawURL string) (*Node, error) {
	parsed, err := url.Parse(rawURL)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		// The value is not repeated: provider URLs carry keys.
		return nil, errors.New("RPC URL: want http:// or https:// and a host, such as http://127.0.0.1:8545")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	httpClient := &http.Client{Timeout: requestTimeout, Transport: boundedTransport{transport}}
	client, err := rpc.DialOptions(ctx, rawURL, rpc.WithHTTPClient(httpClient))
	if err != nil {
		return nil, fmt.Errorf("RPC URL of %s: %w", parsed.Host, errors.New("it cannot be used"))
	}
	return &Node{Client: ethclient.NewClient(client), name: parsed.Scheme + "://" + parsed.Host, endpoint: rawURL, http: httpClient}, nil
}

// SetTimeout changes the time that one request may take.
func (n *Node) SetTimeout(limit time.Duration) { n.http.Timeout = limit }

// Name is the node's URL without what may be secret in it.
func (n *Node) Name() string { return n.name }

// asker is the sender of calls that nobody mines. It is not the zero address, which some contracts
// treat specially.
var asker = common.HexToAddress("0x000000000000000000000000000000000000dEaD")

// RunCreationCode runs code as a contract creation that nobody mines and gives what it returns: how
// signatures of contract wallets are checked.
func (n *Node) RunCreationCode(ctx context.Context, code []byte, gas uint64) ([]byte, error) {
	answer, err := n.CallContract(ctx, ethereum.CallMsg{From: asker, Gas: gas, GasPrice: new(big.Int), Data: code}, nil)
	if err != nil {
		return nil, n.Redact(err)
	}
	return answer, nil
}

// Redact keeps the node's full URL, which HTTP errors repeat, out of errors.
func (n *Node) Redact(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", n.name, failed.Err)
	}
	return fmt.Errorf("%s: %w", n.name, err)
}

// boundedTransport ends answers that are too large.
type boundedTransport struct{ http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxAnswerBytes+1) // one more, so that who reads a limit sees it exceeded
	return response, nil
}

// IsAnswer reports whether err came from the node's own JSON-RPC answer, rather than from a node
// that could not be reached.
func IsAnswer(err error) bool {
	var answered rpc.Error
	return errors.As(err, &answered)
}
