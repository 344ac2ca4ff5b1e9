package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// publicProblem begins the stored problem of a settlement that contributors and creators may read.
// Other problems hold what only operators need, such as the names of nodes.
const publicProblem = "payouts wait: "

// PublicProblem makes an error of preparing a settlement whose text contributors and creators may
// read. Other errors are for operators only.
func PublicProblem(format string, args ...any) error {
	return errors.New(publicProblem + fmt.Sprintf(format, args...))
}

// SenderTrouble is a problem that keeps transactions of the service from being sent or mined.
type SenderTrouble struct {
	Detail string `json:"detail"` // for operators
	Public string `json:"public"` // for contributors and creators
}

// senderTroubles is the setting in which the sending process stores its problems for the other
// processes.
type senderTroubles struct {
	At   time.Time       `json:"at"`
	List []SenderTrouble `json:"list"`
}

// troublesLast is how long stored problems of the sender are valid. It stores them again before
// that.
const troublesLast = 2 * time.Minute

func (c *core) troublesSetting() string { return fmt.Sprintf("sender-troubles:%d", c.domain.ChainID) }

// NoteSenderTroubles stores the problems of this process's sender, so that every process can report
// what a payout waits for.
func (l *Ledger) NoteSenderTroubles(ctx context.Context, list []SenderTrouble) error {
	encoded, err := json.Marshal(senderTroubles{At: l.now(), List: list})
	if err != nil {
		return fmt.Errorf("keep the troubles of the sender: %w", err)
	}
	return l.store.Tx(ctx, func(tx *store.Tx) error { return tx.PutSetting(l.troublesSetting(), encoded) })
}

func (c *core) senderTroubles(ctx context.Context) ([]SenderTrouble, error) {
	stored, err := c.store.LastSetting(ctx, c.troublesSetting())
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	var found senderTroubles
	if err == nil {
		err = json.Unmarshal(stored, &found)
	}
	if err != nil || c.now().Sub(found.At) > troublesLast {
		return nil, err
	}
	return found.List, nil
}

// payoutScene is what the reasons to wait of a mission's payouts follow from.
type payoutScene struct {
	incident bool                  // a halting incident is open
	halt     *store.PayoutHalt     // nil: payouts are not halted
	position onchain.Position      // zero before the chain was followed
	waiting  *store.WaitingMission // nil: no payout of the mission waits for a settlement
	troubles []SenderTrouble
	interval time.Duration
	now      time.Time
	public   bool // for contributors and creators; without details for operators
}

func (c *core) payoutScene(ctx context.Context, draftID string, public bool) (scene payoutScene, err error) {
	scene = payoutScene{interval: c.settling.interval, now: c.now(), public: public}
	if scene.incident, err = c.store.Halted(ctx); err != nil {
		return scene, storeError(err)
	}
	if scene.halt, err = c.store.PayoutHalt(ctx); err != nil {
		return scene, storeError(err)
	}
	if scene.position, err = c.position(ctx); err != nil {
		return scene, err
	}
	if scene.troubles, err = c.senderTroubles(ctx); err != nil {
		return scene, storeError(err)
	}
	waiting, err := c.store.WaitingOf(ctx, draftID)
	switch {
	case err == nil:
		scene.waiting = &waiting
	case !errors.Is(err, store.ErrNotFound):
		return scene, storeError(err)
	}
	return scene, nil
}

func wait(code sortie.PayoutWaitCode, format string, args ...any) sortie.PayoutWait {
	return sortie.PayoutWait{Code: code, Message: fmt.Sprintf(format, args...)}
}

// waits returns what a payout waits for, the most important first. The intent is nil where no
// settlement has the payout.
func (s payoutScene) waits(payout store.Payout, intent *store.Intent) []sortie.PayoutWait {
	switch {
	case payout.Problem == problemMoneyLeft:
		return []sortie.PayoutWait{wait(sortie.WaitsForOperator, "It was set aside: %s. It can no longer be paid: agree with its contributor on another way.", payout.Problem)}
	case payout.Status == sortie.PayoutFailed:
		return []sortie.PayoutWait{wait(sortie.WaitsForOperator, "It was set aside: %s. An operator must find out why, and then: sortie payouts retry %s",
			payout.Problem, payout.SubmissionID)}
	case payout.Status == sortie.PayoutDeferred:
		return []sortie.PayoutWait{wait(sortie.WaitsForRecipient, "The token refused the transfer to %s, and the contract credited the amount to that address: sortie claim pays it. The service does not follow claims.", payout.Recipient)}
	case payout.Status == sortie.PayoutPaid:
		return nil
	case payout.Block != 0:
		return []sortie.PayoutWait{s.finality(payout.Block)}
	case payout.Status == sortie.PayoutSent:
		return []sortie.PayoutWait{s.block(payout.Transaction)}
	case intent != nil && (intent.Status == store.IntentSent || intent.Status == store.IntentMined) && len(intent.Attempts) > 0:
		return []sortie.PayoutWait{s.block(intent.Attempts[len(intent.Attempts)-1].Hash)}
	case intent != nil:
		return append(s.halts(), s.sender(intent.Problem))
	}
	return append(s.halts(), s.batch())
}

// halts returns what stops new settlements.
func (s payoutScene) halts() (list []sortie.PayoutWait) {
	if s.incident {
		list = append(list, wait(sortie.WaitsForIncident, "An incident halts payouts until an operator has cleared it."))
	}
	switch {
	case s.halt == nil:
	case s.public:
		list = append(list, wait(sortie.WaitsForResume, "%s", haltInWords(s.halt)))
	default:
		list = append(list, wait(sortie.WaitsForResume, "Payouts are halted by %s since %s: %s. To let them continue: sortie payouts resume",
			s.halt.By, sortie.FormatTime(s.halt.Since), s.halt.Reason))
	}
	return list
}

// haltInWords is what contributors and creators read about a halt.
func haltInWords(halt *store.PayoutHalt) string {
	return fmt.Sprintf("The operator has halted payouts since %s; they continue when the operator resumes them.", sortie.FormatTime(halt.Since))
}

// batch returns how long payouts wait to share a transaction.
func (s payoutScene) batch() sortie.PayoutWait {
	waiting := s.waiting
	if waiting == nil { // it is being put into a settlement now
		return wait(sortie.WaitsForTurn, "It waits for the service to send it, which looks each second.")
	}
	due := waiting.Since.Add(s.interval)
	if full := waiting.Waiting >= waiting.Batch; full {
		due = waiting.Since
	}
	if s.now.Before(due) {
		return wait(sortie.WaitsForBatch, "It waits until %s at most for other payouts of the mission to share its transaction.", sortie.FormatTime(due))
	}
	return wait(sortie.WaitsForTurn, "It waits for its turn: of each token the service sends a few settlements at a time, those of the missions that wait longest first.")
}

// sender returns what a settlement without a transaction waits for.
func (s payoutScene) sender(problem string) sortie.PayoutWait {
	text, isPublic := strings.CutPrefix(problem, publicProblem)
	switch {
	case problem != "" && (isPublic || !s.public):
		return wait(sortie.WaitsForSender, "It cannot be sent now, and is tried again: %s", text)
	case problem != "":
		return wait(sortie.WaitsForSender, "The service cannot send it now and tries again; its operator sees why.")
	}
	return wait(sortie.WaitsForSender, "It waits to be sent.%s", s.trouble())
}

// trouble returns the problem of the sender, if there is one.
func (s payoutScene) trouble() string {
	var text strings.Builder
	for _, each := range s.troubles {
		words := each.Detail
		if s.public {
			words = each.Public
		}
		text.WriteString(" " + strings.TrimSuffix(words, ".") + ".")
	}
	return text.String()
}

func (s payoutScene) block(transaction sortie.Hash) sortie.PayoutWait {
	return wait(sortie.WaitsForBlock, "Transaction %s was sent and is not in a block that the service has followed.%s", transaction, s.trouble())
}

func (s payoutScene) finality(block uint64) sortie.PayoutWait {
	return wait(sortie.WaitsForFinality, "Block %d paid it, which is not final yet; the newest final block is %d.", block, s.position.Final)
}

// intentOf reads the intent of the settlement that carries a payout; nil: none carries it.
func (c *core) intentOf(ctx context.Context, payout store.Payout) (*store.Intent, error) {
	if payout.Settlement == 0 {
		return nil, nil
	}
	intent, err := c.store.IntentOf(ctx, store.IntentSettle, strconv.FormatInt(payout.Settlement, 10))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError(err)
	}
	return &intent, nil
}

// payoutWait is one line about what a contributor's payout waits for; empty where its status
// explains it.
func (a *App) payoutWait(ctx context.Context, submission store.Submission) (string, error) {
	if submission.Payout == nil || submission.Payout.Status != sortie.PayoutQueued && submission.Payout.Status != sortie.PayoutSent {
		return "", nil
	}
	payout, err := a.store.PayoutOf(ctx, submission.ID)
	if err != nil {
		return "", storeError(err)
	}
	intent, err := a.intentOf(ctx, payout)
	if err != nil {
		return "", err
	}
	scene, err := a.payoutScene(ctx, payout.DraftID, true)
	if err != nil {
		return "", err
	}
	if waits := scene.waits(payout, intent); len(waits) > 0 {
		return waits[0].Message, nil
	}
	return "", nil
}
