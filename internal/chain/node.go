// Package chain reads from nodes: JSON-RPC calls, the state and the events of the contracts, and
// what enough nodes agree on.
//
// It owns every JSON-RPC call of the service. It checks every answer that it can check. What money
// depends on needs the same answer from two nodes, if two are configured ([Quorum]).
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
	maxAnswerBytes = 32 << 20 // larger answers are refused
)

// Node is one JSON-RPC endpoint. Its name in errors and logs is its URL without credentials and
// query.
//
// The embedded client is for single calls with small answers. [Node.Batch] checks answers more
// strictly, and is faster for long ones.
type Node struct {
	*ethclient.Client
	name     string
	endpoint string // with credentials
	http     *http.Client
	limit    batchLimit
	large    largeReceipts
}

// Dial prepares a node for use. It makes no request.
func Dial(ctx context.Context, rawURL string) (*Node, error) {
	parsed, err := url.Parse(rawURL)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		// The value is not repeated: provider URLs contain keys.
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

// SetTimeout changes the timeout of one request.
func (n *Node) SetTimeout(limit time.Duration) { n.http.Timeout = limit }

// Name is the node's URL without credentials and query.
func (n *Node) Name() string { return n.name }

// callSender is the sender of simulated calls. It is not the zero address, which some contracts
// treat specially.
var callSender = common.HexToAddress("0x000000000000000000000000000000000000dEaD")

// RunCreationCode simulates a contract creation and returns its output. Signatures of contract
// wallets are verified with it.
func (n *Node) RunCreationCode(ctx context.Context, code []byte, gas uint64) ([]byte, error) {
	answer, err := n.CallContract(ctx, ethereum.CallMsg{From: callSender, Gas: gas, GasPrice: new(big.Int), Data: code}, nil)
	if err != nil {
		return nil, n.Redact(err)
	}
	return answer, nil
}

// Redact replaces the node's URL, which HTTP errors repeat, by its name.
func (n *Node) Redact(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", n.name, failed.Err)
	}
	return fmt.Errorf("%s: %w", n.name, err)
}

// boundedTransport limits the size of answers.
type boundedTransport struct{ http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxAnswerBytes+1) // one more, so that a reader notices the limit
	return response, nil
}

// IsAnswer reports whether err is a JSON-RPC error of the node, so that the node was reached.
func IsAnswer(err error) bool {
	var answered rpc.Error
	return errors.As(err, &answered)
}
