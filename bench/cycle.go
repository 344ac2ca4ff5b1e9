package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/devnet"
)

const (
	cycles       = 3 // of which the median counts
	cyclePoll    = 20 * time.Millisecond
	cycleTimeout = 2 * time.Minute
)

// cycle holds the steps of a mission with one contributor, each with the time since its draft was
// created.
type cycle struct {
	funded, published, accepted, paid time.Duration
	blocks                            int // made meanwhile
}

// measureCycle runs complete missions on `sortie dev`, as creator, operator and contributor.
func (b *bench) measureCycle(ctx context.Context) error {
	var all []cycle
	for number := range cycles {
		one, err := b.runCycle(ctx, number)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	section := "a mission through sortie dev: seconds since its creation"
	for _, stage := range []struct {
		name string
		time func(cycle) time.Duration
	}{
		{"funded, in the creator's view", func(c cycle) time.Duration { return c.funded }},
		{"approved and published", func(c cycle) time.Duration { return c.published }},
		{"a photo submitted and accepted", func(c cycle) time.Duration { return c.accepted }},
	} {
		b.report.add(section, result{Name: stage.name, Value: median(all, stage.time).Seconds(), Unit: "s"})
	}
	total := median(all, func(c cycle) time.Duration { return c.paid })
	b.report.add(section, result{Name: "paid, in a final block", Value: total.Seconds(), Unit: "s"}.atMost(10))
	b.report.add(section, result{Name: "blocks that the chain made meanwhile", Value: float64(median(all, func(c cycle) int { return c.blocks })), Unit: "blocks"})
	return nil
}

// party returns a client with the development wallet of a role.
func (b *bench) party(role devnet.Role) (*sortie.Client, error) {
	return sortie.NewClient(b.dev.BaseURL, devnet.WalletByRole(role).Key)
}

func (b *bench) runCycle(ctx context.Context, number int) (c cycle, err error) {
	ctx, cancel := context.WithTimeout(ctx, cycleTimeout)
	defer cancel()
	payer, err := b.openPayer(ctx, devnet.RoleCreator)
	if err != nil {
		return c, err
	}
	defer payer.close()
	creator, err := b.party(devnet.RoleCreator)
	if err != nil {
		return c, err
	}
	first, err := payer.eth.BlockNumber(ctx)
	if err != nil {
		return c, err
	}
	begin := time.Now()
	draftID, missionID, err := payer.publish(ctx, b, creator, missionBody, func() { c.funded = time.Since(begin) })
	if err != nil {
		return c, err
	}
	c.published = time.Since(begin)
	contributor, err := b.party([]devnet.Role{devnet.RoleContributor1, devnet.RoleContributor2, devnet.RoleContributor3}[number%3])
	if err != nil {
		return c, err
	}
	photo, err := distinctPhoto(number)
	if err != nil {
		return c, err
	}
	id, err := submitPhoto(ctx, contributor, missionID, photo)
	if err != nil {
		return c, err
	}
	err = await(ctx, "payment of "+id+" of draft "+draftID, func() (bool, error) {
		submission, err := contributor.MySubmission(ctx, id)
		if err == nil && (submission.Status == sortie.SubmissionRejected || submission.Status == sortie.SubmissionFlagged) {
			err = fmt.Errorf("the photo is %s: %s", submission.Status, submission.Reason)
		}
		if err != nil {
			return false, err
		}
		if submission.Status == sortie.SubmissionAccepted && c.accepted == 0 {
			c.accepted = time.Since(begin)
		}
		return submission.Payout.Status == sortie.PayoutPaid, nil
	})
	if err != nil {
		return c, err
	}
	c.paid = time.Since(begin)
	last, err := payer.eth.BlockNumber(ctx)
	c.blocks = int(last - first)
	return c, err
}

// publish creates a mission, funds it, approves it as an operator and waits until contributors see
// it.
func (p *payer) publish(ctx context.Context, b *bench, creator *sortie.Client, body []byte, funded func()) (draftID, missionID string, err error) {
	operator, err := b.party(devnet.RoleOperator)
	if err != nil {
		return "", "", err
	}
	created, err := creator.CreateDraftJSON(ctx, body, rand.Text())
	if err != nil {
		return "", "", err
	}
	quote := created.FundingQuote
	budget, _ := new(big.Int).SetString(quote.TotalBudgetBaseUnits, 10)
	if _, err := p.send(ctx, quote.TokenAddress, tokenCalls.PackApprove(common.Address(quote.FactoryAddress), budget)); err != nil {
		return "", "", err
	}
	if _, err := p.mine(ctx, quote.FactoryAddress, quote.Calldata); err != nil {
		return "", "", err
	}
	approved := false
	err = await(ctx, "publication of draft "+created.DraftID, func() (bool, error) {
		status, err := creator.Mission(ctx, created.DraftID)
		if err == nil && status.ReviewStatus == sortie.ReviewInReview && !approved {
			funded()
			approved = true
			_, err = operator.Approve(ctx, created.DraftID, "")
		}
		return status.Published, err
	})
	return created.DraftID, created.MissionID, err
}

// submitPhoto declares a photo at the location of the sample mission and uploads it.
func submitPhoto(ctx context.Context, contributor *sortie.Client, missionID string, photo []byte) (id string, err error) {
	file := upload{contentType: "image/jpeg", content: photo}
	declared, err := contributor.Declare(ctx, missionID, sortie.Declaration{
		Location:   sortie.Location{Lat: "52.52", Lng: "13.405", AccuracyMeters: "12"},
		CapturedAt: sortie.FormatTime(time.Now()), ContentType: file.contentType, SizeBytes: int64(file.size()), SHA256: file.hash(),
	}, rand.Text())
	if err != nil {
		return "", err
	}
	if declared.Upload == nil {
		return "", fmt.Errorf("no upload is waited for: the submission is %s", declared.Status)
	}
	_, err = contributor.Upload(ctx, *declared.Upload, bytes.NewReader(photo), int64(len(photo)))
	return declared.SubmissionID, err
}

// await polls until a condition holds.
func await(ctx context.Context, what string, is func() (bool, error)) error {
	for {
		done, err := is()
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the %s: %w", what, ctx.Err())
		case <-time.After(cyclePoll):
		}
	}
}
