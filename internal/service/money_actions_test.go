package service

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/api"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/store"
)

// begin publishes a few missions and puts a contributor on the denylist of one token.
func (m *moneyMachine) begin() {
	m.tally.runs++
	m.wild = rapid.IntRange(0, 2).Draw(m.t, "wild") == 2
	for range 3 {
		m.create(m.t)
		m.handInFunding(m.drafts[len(m.drafts)-1])
	}
	denied := rapid.SampledFrom(moneyContributors).Draw(m.t, "denied")
	m.byDeployer(m.chain.deployment.USDC, usdcBinding.PackSetDenylisted(common.Address(denied), true))
	m.mine(moneyFinality)
	m.follow()
	for _, draft := range m.drafts {
		_, err := m.operators.Approve(m.ctx, moneyOperator, draft.id, "")
		m.must(err)
	}
	m.mine(1)
	m.follow()
}

func (m *moneyMachine) create(t *rapid.T) {
	if open := m.find(func(d store.Draft) bool { return !m.isClosed(d) }); len(open) >= 6 || len(m.drafts) >= 30 {
		notNow()
	}
	token := rapid.SampledFrom([]sortie.Token{sortie.TokenUSDC, sortie.TokenService}).Draw(t, "token")
	amount := rapid.SampledFrom([]string{"2.5", "0.01", "7", "1000.000001"}).Draw(t, "reward")
	target := rapid.IntRange(1, 8).Draw(t, "slots")
	creator := devnet.WalletByRole(rapid.SampledFrom(moneyCreators).Draw(t, "creator")).Address
	ends := ""
	if hours := rapid.SampledFrom([]int{0, 24, 24 * 60, 2}).Draw(t, "hours"); hours > 0 {
		ends = fmt.Sprintf(`,"endsAt":%q`, sortie.FormatTime(m.clock().Add(time.Duration(hours)*time.Hour)))
	}
	body := fmt.Sprintf(`{"title":"Photo of the tower","reward":{"token":%q,"amount":%s},"targetCount":%d%s}`, token, amount, target, ends)
	view, _, err := m.app.CreateDraft(m.ctx, creator, rand.Text(), []byte(body))
	m.must(err)
	m.drafts = append(m.drafts, moneyDraft{view.DraftID, view.MissionID, creator})
}

func (m *moneyMachine) handInFunding(draft moneyDraft) {
	view, err := m.app.Mission(m.ctx, draft.creator, draft.id)
	m.must(err)
	m.chain.transact(m.t, draft.creator, view.Quote.FactoryAddress, view.Quote.Calldata)
}

// fund sends the funding of a mission that the service does not know to be funded: sometimes it is
// a second one.
func (m *moneyMachine) fund(t *rapid.T) {
	draft := m.draw(t, func(d store.Draft) bool { return d.State.QuoteLive() })
	m.handInFunding(draft)
	if rapid.Bool().Draw(t, "at once") {
		m.mine(moneyConfirmations)
		m.follow()
	}
}

// isClosed reports whether the service knows that the mission is closed.
func (m *moneyMachine) isClosed(d store.Draft) bool {
	funding, err := m.store.FundingOf(m.ctx, d.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	m.must(err)
	return funding.Closed != nil
}

// takesWork reports whether a mission takes submissions.
func (m *moneyMachine) takesWork(d store.Draft) bool {
	slots, err := m.store.SlotsOf(m.ctx, d.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	m.must(err)
	return slots.Open(m.clock())
}

// draw chooses one of the drafts that fit.
func (m *moneyMachine) draw(t *rapid.T, fits func(store.Draft) bool) moneyDraft {
	found := m.find(fits)
	if len(found) == 0 {
		notNow()
	}
	return rapid.SampledFrom(found).Draw(t, "mission")
}

// find returns the drafts that fit.
func (m *moneyMachine) find(fits func(store.Draft) bool) (found []moneyDraft) {
	for _, draft := range m.drafts {
		stored, err := m.store.DraftByDraftID(m.ctx, draft.id)
		m.must(err)
		if fits(stored) {
			found = append(found, draft)
		}
	}
	return found
}

// skipRefused ends a step that the service refuses with an error code.
func (m *moneyMachine) skipRefused(t *rapid.T, err error) {
	var refused *sortie.Error
	if errors.As(err, &refused) && refused.Code != sortie.CodeInternal {
		notNow()
	}
	m.must(err)
}

func (m *moneyMachine) review(t *rapid.T) {
	draft := m.draw(t, func(d store.Draft) bool { return inReview(d) })
	decide := m.operators.Approve
	if rapid.IntRange(0, 3).Draw(t, "rejected") == 0 {
		decide = m.operators.Reject
	}
	_, err := decide(m.ctx, moneyOperator, draft.id, "Nothing may be photographed there.")
	m.skipRefused(t, err)
}

func (m *moneyMachine) reserve(t *rapid.T) (sortie.SubmissionDeclared, []byte) {
	draft := m.draw(t, m.takesWork)
	contributor := rapid.SampledFrom(moneyContributors).Draw(t, "contributor")
	declared, file, err := m.declare(contributor, draft.missionID)
	m.skipRefused(t, err)
	m.submissions = append(m.submissions, moneySubmission{declared.SubmissionID, contributor})
	return declared, file
}

func (m *moneyMachine) accept(t *rapid.T) {
	declared, file := m.reserve(t)
	m.submit(declared, file)
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		another := rapid.SampledFrom(m.drafts).Draw(t, "mission")
		contributor := rapid.SampledFrom(moneyContributors).Draw(t, "contributor")
		if declared, file, err := m.declare(contributor, another.missionID); err == nil {
			m.submissions = append(m.submissions, moneySubmission{declared.SubmissionID, contributor})
			m.submit(declared, file)
		}
	}
}

// withdraw declares a submission, or withdraws one.
func (m *moneyMachine) withdraw(t *rapid.T) {
	if len(m.submissions) == 0 || rapid.Bool().Draw(t, "new") {
		m.reserve(t)
		return
	}
	submission := rapid.SampledFrom(m.submissions).Draw(t, "submission")
	_, err := m.app.Withdraw(m.ctx, submission.contributor, submission.id)
	m.skipRefused(t, err)
}

func (m *moneyMachine) drawSubmission(t *rapid.T) moneySubmission {
	if len(m.submissions) == 0 {
		notNow()
	}
	return rapid.SampledFrom(m.submissions).Draw(t, "submission")
}

func (m *moneyMachine) revoke(t *rapid.T) {
	order := app.Order{Operator: moneyOperator}
	_, _ = rand.Read(order.Request[:])
	_, err := m.operators.RejectSubmission(m.ctx, api.LinksUnder(moneyBase), order, m.drawSubmission(t).id, "It shows another tower.")
	m.skipRefused(t, err)
}

// settle runs a worker and the sender once.
func (m *moneyMachine) settle(t *rapid.T) {
	m.pass(rapid.SampledFrom([]time.Duration{time.Second, moneyPayoutInterval, moneyHold}).Draw(t, "later"))
	m.due()
	m.send()
}

// redeem sends a receipt to the contract from any account, whether or not the slot is paid.
func (m *moneyMachine) redeem(t *rapid.T) {
	submission := m.drawSubmission(t)
	detail, err := m.app.Submission(m.ctx, submission.contributor, submission.id)
	m.must(err)
	receipt := detail.Submission.Receipt
	if receipt == nil {
		notNow()
	}
	m.chain.transact(t, devnet.WalletByRole(devnet.RoleContributor3).Address, m.chain.deployment.Factory, receipt.Settlement.Calldata(receipt.Signature))
	m.mine(rapid.IntRange(0, 1).Draw(t, "blocks"))
}

// claim claims a deferred credit, if there is one.
func (m *moneyMachine) claim(t *rapid.T) {
	m.seldom(t)
	token := rapid.SampledFrom(m.chain.tokens()).Draw(t, "token")
	account := rapid.SampledFrom(m.chain.accounts).Draw(t, "account")
	m.chain.transact(t, devnet.WalletByRole(devnet.RoleContributor3).Address, m.chain.deployment.Factory,
		factoryBinding.PackClaimDeferred(common.Address(token), common.Address(account)))
}

// end advances the clock past the end of a mission, so that the service closes it.
func (m *moneyMachine) end(t *rapid.T) {
	m.seldom(t)
	draft := m.draw(t, func(d store.Draft) bool { return d.State.View().Published })
	slots, err := m.store.SlotsOf(m.ctx, draft.id)
	m.must(err)
	if left := slots.EndsAt.Sub(m.clock()); left > 0 {
		m.pass(left)
	}
	m.mine(1)
	m.due()
	m.send()
}

// reclaim advances the clock by half a year and has the creator reclaim.
func (m *moneyMachine) reclaim(t *rapid.T) {
	m.seldom(t)
	draft := m.draw(t, func(d store.Draft) bool { return !d.State.QuoteLive() && !m.isClosed(d) })
	m.pass(181 * 24 * time.Hour)
	m.chain.transact(t, draft.creator, m.chain.deployment.Factory, factoryBinding.PackReclaim(sortie.MissionKey(draft.missionID)))
	m.mine(rapid.IntRange(0, 1).Draw(t, "blocks"))
}

// reorganize removes blocks that are not final. Their transactions are lost or mined again later.
func (m *moneyMachine) reorganize(t *rapid.T) {
	depth := uint64(rapid.IntRange(1, moneyFinality-1).Draw(t, "depth"))
	removed, before := m.chain.removable(t, depth), len(m.chain.factoryLogs(m).payments)
	m.chain.call(t, nil, "anvil_reorg", depth, []any{})
	m.tally.unpaid += before - len(m.chain.factoryLogs(m).payments)
	for _, raw := range removed {
		if rapid.IntRange(0, 2).Draw(t, "lost") > 0 {
			_ = m.chain.rpc.CallContext(m.ctx, nil, "eth_sendRawTransaction", raw) // its account may have used the nonce
		}
	}
}

func (m *moneyMachine) startAgain(*rapid.T) { m.restart() }

func (m *moneyMachine) grow(t *rapid.T) { m.mine(rapid.IntRange(1, 4).Draw(t, "blocks")) }

func (m *moneyMachine) catchUp(*rapid.T) { m.follow() }

func (m *moneyMachine) wait(t *rapid.T) {
	m.pass(rapid.SampledFrom([]time.Duration{7 * time.Second, time.Minute, 7 * time.Minute, 25 * time.Hour}).Draw(t, "time"))
}

func (m *moneyMachine) byDeployer(to sortie.Address, data []byte) {
	m.chain.transact(m.t, devnet.WalletByRole(devnet.RoleDeployer).Address, to, data)
}

// deny puts an account on the denylist of one token, or removes it. Its payments are deferred
// meanwhile.
func (m *moneyMachine) deny(t *rapid.T) {
	everyone := append(slices.Clone(moneyContributors), devnet.WalletByRole(devnet.RoleCreator).Address)
	account := rapid.SampledFrom(everyone).Draw(t, "account")
	m.byDeployer(m.chain.deployment.USDC, usdcBinding.PackSetDenylisted(common.Address(account), rapid.IntRange(0, 3).Draw(t, "allowed") < 3))
	m.mine(rapid.IntRange(0, 1).Draw(t, "blocks"))
}

// pause pauses or unpauses the factory.
func (m *moneyMachine) pause(t *rapid.T) {
	if !m.paused {
		m.seldom(t)
	}
	data := factoryBinding.PackPause()
	if m.paused {
		data = factoryBinding.PackUnpause()
	}
	m.byDeployer(m.chain.deployment.Factory, data)
	m.paused = !m.paused
}

// limit sets the daily cap of a token to unlimited or to a few rewards.
func (m *moneyMachine) limit(t *rapid.T) {
	token := rapid.SampledFrom(m.chain.tokens()).Draw(t, "token")
	limit := maxUint256
	if rapid.Bool().Draw(t, "low") {
		limit = big.NewInt(10_000_000)
		if token == m.chain.deployment.ServiceToken {
			limit = new(big.Int).Mul(limit, big.NewInt(1e12))
		}
	}
	m.byDeployer(m.chain.deployment.Factory, factoryBinding.PackSetDailyCap(common.Address(token), limit))
}

var maxUint256 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))

// disturb makes the node mishandle the next transactions of the service.
func (m *moneyMachine) disturb(t *rapid.T) {
	m.seldom(t)
	m.chain.front.misbehave(rapid.SampledFrom([]misbehaviour{refusing, mute, forgetting}).Draw(t, "misbehaviour"), rapid.IntRange(1, 3).Draw(t, "times"))
}

// drop removes every pending transaction from the node.
func (m *moneyMachine) drop(t *rapid.T) {
	m.seldom(t)
	m.chain.call(t, nil, "anvil_dropAllTransactions")
}
