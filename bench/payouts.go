package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
)

const (
	payoutMissions = 8   // half of them in each token
	payoutsEach    = 150 // of a mission
	allPayouts     = payoutMissions * payoutsEach
	payoutsTimeout = 10 * time.Minute
)

// payouts is a service with missions whose slots are all taken and unpaid.
type payouts struct {
	*bench
	database string
	drafts   []string
}

// measurePayouts compares the payouts of the service with as many plain transfers on the same
// chain.
func (b *bench) measurePayouts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, payoutsTimeout)
	defer cancel()
	p := &payouts{bench: b, database: b.path("payouts.db")}
	fmt.Fprintf(os.Stderr, "bench: seed %d missions with %d acceptances each\n", payoutMissions, payoutsEach)
	if err := p.fill(ctx); err != nil {
		return fmt.Errorf("seed acceptances: %w", err)
	}
	limit, err := p.transfers(ctx)
	if err != nil {
		return fmt.Errorf("plain transfers: %w", err)
	}
	product, err := p.settle(ctx)
	if err != nil {
		return err
	}
	section := fmt.Sprintf("%d acceptances of %d missions settled, and as many plain transfers", allPayouts, payoutMissions)
	rate := func(c cost) string { return fmt.Sprintf("%.0f /s", 1/c.wall.Seconds()) }
	b.report.add(section, result{
		Name: "rate, from acceptances that become final to payouts that are paid", Product: rate(product), Limit: rate(limit),
		Value: quotient(limit.wall, product.wall),
	})
	micros := func(c cost) string { return fmt.Sprintf("%d us", c.cpu.Microseconds()) }
	b.report.add(section, result{
		Name: "processor time of a payout, without the chain's", Product: micros(product), Limit: micros(limit), Value: quotient(product.cpu, limit.cpu),
	})
	b.report.Notes = append(b.report.Notes, "the service makes at most 256 acceptances final, and a settlement a mission, each second; "+
		"a plain transfer is signed, sent and its receipt read, and nothing of it is stored")
	return nil
}

// serveFlags are the flags of a service that pays. It has its own sender: `sortie dev` sends on the
// same chain.
func (p *payouts) serveFlags() []string {
	return []string{
		"--log-level", "error", "--media", "file:" + p.path("payouts"), "--verification", "auto", "--acceptance-hold", "24h", "--payout-interval", "0s",
		"--settler", "dev:7", "--sender", fmt.Sprintf("dev:%d", devnet.WalletByRole(devnet.RoleCreator2).Index),
		"--operators", devnet.WalletByRole(devnet.RoleOperator).Address.String(),
	}
}

// fill makes the service publish missions and accept one photo, and copies that acceptance until
// every slot is taken.
func (p *payouts) fill(ctx context.Context) error {
	itself := func(address string) string { return "http://" + address }
	server, err := p.serveAs(ctx, itself, p.database, p.serveFlags()...)
	if err != nil {
		return err
	}
	inner := *p.bench
	inner.dev.BaseURL = itself(server.address)
	submissionID, err := p.publishAll(ctx, &inner)
	server.stop()
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+p.database)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err == nil {
		err = errors.Join(p.copyAcceptances(tx, submissionID), tx.Commit())
	}
	return errors.Join(err, db.Close())
}

func (p *payouts) publishAll(ctx context.Context, b *bench) (submissionID string, err error) {
	payer, err := b.openPayer(ctx, devnet.RoleCreator)
	if err != nil {
		return "", err
	}
	defer payer.close()
	creator, err := b.party(devnet.RoleCreator)
	if err != nil {
		return "", err
	}
	var first string
	for number := range payoutMissions {
		body := strings.Replace(string(missionBody), `"targetCount":40`, fmt.Sprintf(`"targetCount":%d`, payoutsEach), 1)
		if number%2 == 1 {
			body = strings.Replace(body, `"token":"USDC"`, fmt.Sprintf(`"token":%q`, sortie.TokenService), 1)
		}
		draftID, missionID, err := payer.publish(ctx, b, creator, []byte(body), func() {})
		if err != nil {
			return "", err
		}
		if p.drafts = append(p.drafts, draftID); number == 0 {
			first = missionID
		}
	}
	contributor, err := b.party(devnet.RoleContributor1)
	if err != nil {
		return "", err
	}
	photo, err := samplePhoto()
	if err != nil {
		return "", err
	}
	if submissionID, err = submitPhoto(ctx, contributor, first, photo); err != nil {
		return "", err
	}
	return submissionID, await(ctx, "acceptance of a photo", func() (bool, error) {
		submission, err := contributor.MySubmission(ctx, submissionID)
		if err == nil && (submission.Status == sortie.SubmissionRejected || submission.Status == sortie.SubmissionFlagged) {
			err = fmt.Errorf("the photo is %s: %s", submission.Status, submission.Reason)
		}
		return submission.Status == sortie.SubmissionAccepted, err
	})
}

// copyAcceptances takes every slot of the missions, with acceptances whose hold is over.
func (p *payouts) copyAcceptances(tx *sql.Tx, submissionID string) error {
	for number, draftID := range p.drafts {
		copied := series{first: 1, last: payoutsEach, shift: 1000 * number, own: map[string]string{
			"draft_id": "'" + draftID + "'", "contributor": "printf('0xbe%038x', i + shift)",
		}}
		if number == 0 {
			copied.first = firstCopy // the one that is copied is its first
		}
		if err := copyRows(tx, submissionID, copied); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE mission_slots SET accepted = $1, accept_seq = $1 WHERE draft_id = $2`, payoutsEach, draftID); err != nil {
			return err
		}
	}
	_, err := tx.Exec(`UPDATE submissions SET hold_until = $1`, time.Now().UnixMicro())
	return err
}

// transfers is the limit: for each payout an account signs a transfer, sends it and reads its
// receipt.
func (p *payouts) transfers(ctx context.Context) (cost, error) {
	payer, err := p.openPayer(ctx, devnet.RoleCreator)
	if err != nil {
		return cost{}, err
	}
	defer payer.close()
	before, err := processCPU(os.Getpid())
	if err != nil {
		return cost{}, err
	}
	begin := time.Now()
	sent := make([]*types.Transaction, allPayouts)
	for i := range sent {
		to := common.BigToAddress(new(big.Int).Add(new(big.Int).Lsh(big.NewInt(0xbf), 152), big.NewInt(int64(i))))
		const gas = 100_000
		token := p.dev.token(sortie.TokenUSDC)
		if sent[i], err = payer.Send(ctx, gas, &token, tokenCalls.PackTransfer(to, big.NewInt(1000))); err != nil {
			return cost{}, err
		}
	}
	for _, tx := range sent {
		if _, err := payer.Mined(ctx, tx); err != nil {
			return cost{}, err
		}
	}
	wall := time.Since(begin)
	after, err := processCPU(os.Getpid())
	return cost{cpu: (after - before) / allPayouts, wall: wall / allPayouts}, err
}

// settle starts the service and waits until all payouts are paid.
func (p *payouts) settle(ctx context.Context) (cost, error) {
	server, err := p.serve(ctx, p.database, p.serveFlags()...)
	if err != nil {
		return cost{}, err
	}
	defer server.stop()
	before, err := processCPU(server.pid())
	if err != nil {
		return cost{}, err
	}
	begin := time.Now()
	db, err := sql.Open("sqlite", "file:"+p.database+"?mode=ro")
	if err != nil {
		return cost{}, err
	}
	defer func() { _ = db.Close() }()
	var paid int
	err = await(ctx, "payouts", func() (bool, error) {
		err := db.QueryRowContext(ctx, `SELECT COALESCE(SUM(paid), 0) FROM mission_slots`).Scan(&paid)
		return paid == allPayouts, err
	})
	if err != nil {
		return cost{}, fmt.Errorf("%d of %d acceptances are paid: %w", paid, allPayouts, err)
	}
	wall := time.Since(begin)
	after, err := processCPU(server.pid())
	return cost{cpu: (after - before) / allPayouts, wall: wall / allPayouts}, err
}
