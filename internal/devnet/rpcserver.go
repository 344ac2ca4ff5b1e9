package devnet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/sortie-labs/sortie/internal/setting"
)

const (
	maxBatchItems    = 1000
	maxBatchResponse = 25 << 20
	closeTimeout     = time.Second
)

// newRPC offers the node's methods to clients.
func newRPC(n *node) (*rpc.Server, error) {
	server := rpc.NewServer()
	server.SetBatchLimits(maxBatchItems, maxBatchResponse)
	for _, methods := range []struct {
		namespace string
		receiver  any
	}{
		{"eth", chainMethods{n}},
		{"eth", callMethods{n}},
		{"eth", transactionMethods{n}},
		{"eth", &logMethods{node: n}},
		{"txpool", poolMethods{n}},
		{"net", network{n.ChainConfig().ChainID.Uint64()}},
		{"web3", web3{}},
	} {
		if err := server.RegisterName(methods.namespace, methods.receiver); err != nil {
			return nil, fmt.Errorf("register RPC methods: %w", err)
		}
	}
	return server, nil
}

// rpcServer is JSON-RPC over HTTP and WebSocket on one port.
type rpcServer struct {
	listener net.Listener
	server   *http.Server
}

// listen takes the port. Connections wait until open.
func listen(address string) (*rpcServer, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &setting.Error{Name: setting.ChainListen, Value: address, Err: fmt.Errorf("want host:port, such as 127.0.0.1:8545: %w", err)}
	}
	if host == "" {
		host = "127.0.0.1" // the keys are public: listen beyond this machine only on request
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, &setting.Error{Name: setting.ChainListen, Err: fmt.Errorf("%w; if another sortie is running, stop it, or choose a free port, 0 for any", err)}
	}
	return &rpcServer{listener: listener}, nil
}

// open starts answering. Web pages of any origin may call: a development chain has nothing to
// protect.
func (s *rpcServer) open(methods *rpc.Server) {
	overHTTP := allowAnyOrigin(methods)
	overWebSocket := methods.WebsocketHandler([]string{"*"})
	s.server = &http.Server{
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
	go func() { _ = s.server.Serve(s.listener) }() // ends with close
}

// allowAnyOrigin lets pages of any origin read the answers (CORS).
func allowAnyOrigin(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			handler.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
		w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		w.Header().Set("Access-Control-Max-Age", "600")
	})
}

// address is the host:port for clients on this machine.
func (s *rpcServer) address() string {
	address := s.listener.Addr().(*net.TCPAddr)
	if address.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", address.Port)
	}
	return address.String()
}

func (s *rpcServer) close() error {
	if s.server == nil {
		return s.listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		return s.server.Close() // a client is still reading an answer: hang up
	}
	return nil
}
