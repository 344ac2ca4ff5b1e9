package app

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// Audit returns a page of the audit log, newest first.
//
// It fails with wallet_not_allowed and invalid_cursor.
func (o *Operators) Audit(ctx context.Context, operator sortie.Address, page Page) (sortie.AuditPage, error) {
	if err := o.admit(operator); err != nil {
		return sortie.AuditPage{}, err
	}
	const list = "audit"
	before, err := o.cursors.open(list, page.Cursor)
	if err != nil {
		return sortie.AuditPage{}, err
	}
	limit := page.limit()
	entries, err := o.store.Audit(ctx, before, limit+1) // one more shows whether there is another page
	if err != nil {
		return sortie.AuditPage{}, storeError(err)
	}
	answer := sortie.AuditPage{OK: true, Entries: []sortie.AuditEntry{}, Summary: sortie.AuditSummary{GeneratedAt: sortie.FormatTime(o.now())}}
	if len(entries) > limit {
		entries = entries[:limit]
		cursor := o.cursors.seal(list, entries[limit-1].Seq)
		answer.Summary.NextCursor = &cursor
	}
	for _, entry := range entries {
		answer.Entries = append(answer.Entries, sortie.AuditEntry{
			ID: entry.Seq, At: sortie.FormatTime(entry.At), Actor: entry.Actor, Action: entry.Action, Subject: entry.Subject, Detail: entry.Detail,
		})
	}
	answer.Summary.ReturnedEntries = len(answer.Entries)
	return answer, nil
}
