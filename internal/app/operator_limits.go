package app

import (
	"math/big"
	"sync/atomic"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// operatorLimits bound what one operator's key can accept within an hour before an incident is
// opened.
type operatorLimits struct {
	perHour map[sortie.Token]*big.Int // base units; a token without an entry has no limit
	second  bool                      // above the limit a second operator must accept as well

	crossed atomic.Uint64
}

// incidentOperatorLimit does not halt: an operator accepted more than the limit within an hour.
const incidentOperatorLimit = "operator_limit"

// countAcceptance counts an acceptance in its operator's hour. Above the limit it opens an
// incident; where a second operator is needed, it returns false and counts nothing. Acceptances for
// the operator's own missions are not counted: they spend the operator's own money.
func (tx *writeTx) countAcceptance(operator sortie.Address, submission store.Submission) (alone bool, err error) {
	token, reward := submission.Mission.Token, submission.Mission.Reward
	limit := tx.core.limits.perHour[token]
	if limit == nil || operator == submission.Mission.Creator {
		return true, nil
	}
	if _, err := mission.NextSubmission(submission.State(), mission.OperatorAccepted); err != nil {
		return false, err
	}
	hour, err := tx.HoldOperatorHour(operator, token)
	if err != nil {
		return false, err
	}
	if sum := hour.Sum(); sum.Add(sum, reward).Cmp(limit) > 0 {
		tx.crossed++
		if err := tx.alarmAboutOperator(operator, token, limit); err != nil {
			return false, err
		}
		if tx.core.limits.second && !tx.endorsedByAnother(operator, submission) {
			return false, nil
		}
	}
	return true, tx.AddAccepted(hour, reward)
}

// alarmAboutOperator opens one incident until it is cleared: its text holds no sum, so that it
// stays the same incident.
func (tx *writeTx) alarmAboutOperator(operator sortie.Address, token sortie.Token, limit *big.Int) error {
	return tx.incident(incidentOperatorLimit, false,
		"Operator %s accepted submissions for more than %s %s within an hour. Ask its owner. If the key is stolen, remove it from the operators and reject what it accepted before that becomes final.",
		operator, sortie.FormatUnits(limit, tx.core.tokens[token].Decimals), token)
}

// endorsedByAnother reports whether another operator accepted the submission before.
func (tx *writeTx) endorsedByAnother(operator sortie.Address, submission store.Submission) bool {
	first, err := sortie.ParseAddress(submission.EndorsedBy)
	return err == nil && first != operator && tx.core.operators[first]
}

// endorse records, once, the acceptance of a submission that a second operator must accept as well.
func (tx *writeTx) endorse(order Order, submission store.Submission) error {
	operator := order.Operator.String()
	if submission.EndorsedBy == operator {
		return nil
	}
	if err := tx.Endorse(submission, operator); err != nil {
		return err
	}
	entry := store.AuditEntry{Actor: operator, Action: "submission.endorsed", Subject: submission.ID, Request: order.Request}
	return tx.addAudit(entry, map[string]any{"missionId": submission.Mission.MissionID, "contributor": submission.Contributor})
}

// endorsedOnly is the answer to an acceptance that a second operator must confirm.
func (o *Operators) endorsedOnly(operator sortie.Address, submission sortie.ReviewedSubmission) error {
	if submission.Status != sortie.SubmissionFlagged || submission.EndorsedBy == nil || *submission.EndorsedBy != operator.String() {
		return nil
	}
	token := submission.Payout.Token
	limit := "the limit"
	if units := o.limits.perHour[token]; units != nil {
		limit = sortie.FormatUnits(units, o.tokens[token].Decimals) + " " + string(token)
	}
	return sortie.NewError(sortie.CodeSecondOperatorNeeded,
		"you accepted submissions for more than %s within an hour; your acceptance is noted, and a second operator must accept this one, too", limit).
		Detail("endorsedBy", operator).Detail("status", submission.Status)
}
