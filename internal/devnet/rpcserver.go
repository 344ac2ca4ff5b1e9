package devnet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/rpc"
)

// publicModules are the JSON-RPC namespaces that clients may use. The node's others can stop,
// rewind or debug it.
var publicModules = []string{"eth", "net", "web3", "txpool"}

const (
	maxBatchItems    = 1000
	maxBatchResponse = 25 << 20
	closeTimeout     = time.Second
)

// newRPC offers the node's public methods.
func newRPC(ethereum *eth.Ethereum) (*rpc.Server, error) {
	events := filters.NewFilterSystem(ethereum.APIBackend, filters.Config{})
	methods := append(ethereum.APIs(),
		rpc.API{Namespace: "eth", Service: filters.NewFilterAPI(events)},
		rpc.API{Namespace: "web3", Service: web3{}},
	)
	server := rpc.NewServer()
	server.SetBatchLimits(maxBatchItems, maxBatchResponse)
	if err := node.RegisterApis(methods, publicModules, server); err != nil {
		return nil, fmt.Errorf("register RPC methods: %w", err)
	}
	return server, nil
}

// web3 is the namespace of the same name.
type web3 struct{}

// ClientVersion answers web3_clientVersion.
func (web3) ClientVersion() string { return "sortie-devnet/" + runtime.Version() }

// Sha3 answers web3_sha3.
func (web3) Sha3(input hexutil.Bytes) hexutil.Bytes { return crypto.Keccak256(input) }

// door is JSON-RPC over HTTP and WebSocket on one port.
type door struct {
	listener net.Listener
	server   *http.Server
}

// listen takes the port. Connections wait until open.
func listen(address string) (*door, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("chain address %q: want host:port: %w", address, err)
	}
	if host == "" {
		host = "127.0.0.1" // the keys are public: nothing beyond this machine without being asked
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("open the chain's port (choose another one with --chain-listen, or 0 for any): %w", err)
	}
	return &door{listener: listener}, nil
}

// open starts answering. Pages of any origin may call: there is nothing here to protect from them.
func (d *door) open(methods *rpc.Server) {
	anyone := []string{"*"}
	overHTTP := node.NewHTTPHandlerStack(methods, anyone, anyone, nil, false)
	overWebSocket := methods.WebsocketHandler(anyone)
	d.server = &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
				overWebSocket.ServeHTTP(w, r)
				return
			}
			overHTTP.ServeHTTP(w, r)
		}),
	}
	go func() { _ = d.server.Serve(d.listener) }() // ends with close
}

// address is where clients on this machine reach the door.
func (d *door) address() string {
	address := d.listener.Addr().(*net.TCPAddr)
	if address.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", address.Port)
	}
	return address.String()
}

func (d *door) close() error {
	if d.server == nil {
		return d.listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := d.server.Shutdown(ctx); err != nil {
		return d.server.Close() // somebody is still reading an answer: hang up
	}
	return nil
}
