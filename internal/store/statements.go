package store

import "slices"

// The statements that SQLite parses once per connection. PostgreSQL's driver does this by itself.
var (
	readStatements = []string{
		selectDraftByDraftID, selectDraftByMissionID, selectDraftByKey, selectDrafts, selectDraftsInStatus, selectEvents,
		selectAnyDraftByMissionID, selectAnyDraftByDraftID, selectFunding, selectFundingByKey, selectPosition, selectHalted,
		selectFundingsToDeepen, selectRefundsToConfirm,
	}
	writeStatements = slices.Concat([]string{
		savepoint, rollbackToSavepoint, releaseSavepoint,
		insertDraft, moveDraft, addUnfundedDraft, addWalletEvent, addWalletEvents, insertEvent,
		insertFunding, updateClosing, updateRefundDue, movePosition, holdPosition, holdLease, insertReview, insertAudit,
	}, insertBlocks.forSQLite(), insertEvents.forSQLite(), insertWalletEvents.forSQLite())
)
