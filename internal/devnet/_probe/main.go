package main

import (
	"context"
	"flag"
	"fmt"
	"math/big"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/sortie-labs/sortie/internal/devnet"
)

func rss() string {
	b, _ := os.ReadFile("/proc/self/status")
	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "VmRSS") || strings.HasPrefix(l, "RssAnon") || strings.HasPrefix(l,"VmHWM") {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
	}
	return strings.Join(out, ", ")
}

func main() {
	dir := flag.String("data", "", "")
	interval := flag.Duration("interval", time.Second, "")
	lead := flag.Duration("lead", 0, "")
	blocks := flag.Uint64("blocks", 0, "run until this many more blocks")
	txs := flag.Int("txs", 0, "")
	idle := flag.Duration("idle", 0, "")
	prof := flag.Bool("goroutines", false, "")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	fmt.Println("before", rss())
	t0 := time.Now()
	c, err := devnet.Start(ctx, devnet.Config{DataDir: *dir, BlockInterval: *interval, ClockLead: *lead})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started in", time.Since(t0), c.RPCURL(), rss())
	cl, _ := ethclient.Dial(c.RPCURL())
	n0, _ := cl.BlockNumber(ctx)
	fmt.Println("head", n0)
	if *blocks > 0 {
		t := time.Now()
		for {
			n, err := cl.BlockNumber(ctx)
			if err != nil { panic(err) }
			if n >= n0+*blocks {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		fmt.Println(*blocks, "blocks in", time.Since(t), rss())
	}
	if *txs > 0 {
		w := devnet.WalletByRole(devnet.RoleCreator)
		key, _ := crypto.HexToECDSA(w.PrivateKey[2:])
		nonce, _ := cl.PendingNonceAt(ctx, common.Address(w.Address))
		signer := types.LatestSignerForChainID(big.NewInt(31337))
		t := time.Now()
		var last common.Hash
		for i := 0; i < *txs; i++ {
			to := common.BigToAddress(big.NewInt(int64(0x100000 + i)))
			tx := types.MustSignNewTx(key, signer, &types.DynamicFeeTx{ChainID: big.NewInt(31337), Nonce: nonce + uint64(i), GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(2e9), Gas: 21000, To: &to, Value: big.NewInt(1)})
			if err := cl.SendTransaction(ctx, tx); err != nil {
				panic(err)
			}
			last = tx.Hash()
		}
		fmt.Println("sent", time.Since(t))
		for {
			r, err := cl.TransactionReceipt(ctx, last)
			if err == nil {
				h, _ := cl.HeaderByNumber(ctx, r.BlockNumber)
				fmt.Println("mined", time.Since(t), "block", r.BlockNumber, "ahead", time.Until(time.Unix(int64(h.Time), 0)))
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Println(rss())
	}
	if *idle > 0 {
		time.Sleep(*idle)
		fmt.Println("idle", rss())
	}
	if *prof {
		pprof.Lookup("goroutine").WriteTo(os.Stdout, 1)
	}
	t1 := time.Now()
	fmt.Println(c.Close(), "closed in", time.Since(t1))
	if *prof {
		time.Sleep(100*time.Millisecond)
		pprof.Lookup("goroutine").WriteTo(os.Stdout, 1)
	}
}
