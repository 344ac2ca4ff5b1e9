package devnet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

// ErrReset reports chain data that cannot be continued: it must be removed.
var ErrReset = errors.New("remove the chain data")

// clockTolerance is how far a stored chain may be ahead of the machine's clock for a start to wait
// rather than fail.
const clockTolerance = time.Minute

// Config configures a chain. Its zero value is a chain in memory on a free port.
type Config struct {
	// DataDir is the chain's own directory, made if missing. Empty: the chain lives in memory and
	// ends with the process.
	DataDir string
	// Listen is the host:port of JSON-RPC over HTTP and WebSocket. No host means 127.0.0.1, port 0
	// any free one. Empty: ":0".
	Listen string
	// ChainID is 31337 unless set.
	ChainID uint64
	// BlockInterval is the longest wait between two blocks; 1 second unless set. With less than a
	// second, set ClockLead too.
	BlockInterval time.Duration
	// ClockLead is how far block timestamps may run ahead of the wall clock; 2 seconds unless set.
	// A test that sends many transactions one after the other, and does not care about the time,
	// sets it to hours and never waits.
	ClockLead time.Duration
	// Logger gets the chain's own messages, and the library's at debug level. Nil: slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = ":0"
	}
	if c.ChainID == 0 {
		c.ChainID = DefaultChainID
	}
	if c.BlockInterval == 0 {
		c.BlockInterval = time.Second
	}
	if c.ClockLead == 0 {
		c.ClockLead = defaultClockLead
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Chain is a running development chain.
type Chain struct {
	config     Config
	server     *rpcServer
	node       *node
	methods    *rpc.Server
	client     *ethclient.Client
	deployment Deployment

	stop context.CancelFunc
	done chan struct{}
	err  error // valid when done is closed
}

// Start opens a chain, sets it up if it is new, and serves it until ctx ends or Close is called.
// When it returns, the contracts are deployed, the wallets funded and the port answers.
func Start(ctx context.Context, config Config) (*Chain, error) {
	config = config.withDefaults()
	routeLog(config.Logger)

	server, err := listen(config.Listen)
	if err != nil {
		return nil, err
	}
	node, err := openNode(config.DataDir, config.ChainID)
	if err != nil {
		return nil, also(err, server.close())
	}
	methods, err := newRPC(node)
	if err != nil {
		return nil, also(err, errors.Join(node.Close(), server.close()))
	}
	running, stop := context.WithCancel(ctx)
	chain := &Chain{
		config: config, server: server, node: node, methods: methods,
		client: ethclient.NewClient(rpc.DialInProc(methods)),
		stop:   stop, done: make(chan struct{}),
	}
	if err := chain.begin(running); err != nil {
		stopped := chain.Close()
		if stopped != nil && ctx.Err() == nil && errors.Is(err, context.Canceled) {
			return nil, stopped // no block could be made; what failed then is a consequence
		}
		return nil, also(err, stopped)
	}
	return chain, nil
}

// also adds an error of the clean-up to the error that caused it, on one line.
func also(err, cleanup error) error {
	if cleanup == nil || errors.Is(err, cleanup) {
		return err
	}
	return fmt.Errorf("%w; then: %w", err, cleanup)
}

// begin recovers the stored chain, starts the block production, sets up a new chain and starts the
// RPC server.
func (c *Chain) begin(ctx context.Context) error {
	ledger := ledger{c.node}
	if err := c.resume(ledger); err != nil {
		close(c.done)
		c.err = c.release()
		return err
	}
	producer := &producer{
		ledger: ledger,
		pace:   pace{c.config.BlockInterval, c.config.ClockLead},
		now:    time.Now,
		log:    c.config.Logger,
	}
	go c.run(ctx, producer)

	if err := c.setUp(ctx, ledger); err != nil {
		return err
	}
	c.server.open(c.methods)
	return nil
}

// run makes blocks until ctx ends, then closes everything.
func (c *Chain) run(ctx context.Context, producer *producer) {
	defer close(c.done)
	err := producer.run(ctx)
	c.stop()
	c.err = errors.Join(err, c.release())
}

// resume finds the newest block, and rewinds a chain whose set-up was interrupted.
func (c *Chain) resume(ledger ledger) error {
	if err := ledger.recover(); err != nil {
		return fmt.Errorf("resume chain %s: %w", c.config.DataDir, err)
	}
	if lead := ahead(ledger.head().Time, time.Now()); lead > c.config.ClockLead+clockTolerance {
		return fmt.Errorf("the chain is %s ahead of this machine's clock: set the clock, or %w", lead.Round(time.Second), ErrReset)
	}
	complete, err := ledger.noted(setupKey)
	if err != nil {
		return fmt.Errorf("resume chain %s: %w", c.config.DataDir, err)
	}
	if complete == nil && ledger.head().Number.Sign() > 0 {
		if err := ledger.rewind(); err != nil {
			return fmt.Errorf("rewind chain %s: %w", c.config.DataDir, err)
		}
	}
	return nil
}

func (c *Chain) release() error {
	err := c.server.close()
	c.client.Close()
	c.methods.Stop()
	return errors.Join(err, c.node.Close())
}

// RPCURL is the address of JSON-RPC over HTTP.
func (c *Chain) RPCURL() string { return "http://" + c.server.address() }

// WebSocketURL is the address of JSON-RPC over WebSocket, with subscriptions.
func (c *Chain) WebSocketURL() string { return "ws://" + c.server.address() }

// ChainID is the chain's id.
func (c *Chain) ChainID() uint64 { return c.config.ChainID }

// Deployment returns the addresses of the contracts.
func (c *Chain) Deployment() Deployment { return c.deployment }

// Client returns a client in this process. It is closed with the chain.
func (c *Chain) Client() *ethclient.Client { return c.client }

// Done is closed when the chain has stopped and its data directory is free.
func (c *Chain) Done() <-chan struct{} { return c.done }

// Close stops the chain and waits for it. It returns the error that had stopped the chain earlier,
// if any.
func (c *Chain) Close() error {
	c.stop()
	<-c.done
	return c.err
}
