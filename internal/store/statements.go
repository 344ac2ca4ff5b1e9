package store

import "slices"

// The statements that SQLite parses once per connection. PostgreSQL's driver does this by itself.
var (
	readStatements = []string{
		selectDraftByDraftID, selectDraftByMissionID, selectDraftByKey, selectDrafts, selectDraftsInStatus, selectEvents,
	}
	writeStatements = slices.Concat([]string{
		savepoint, rollbackToSavepoint, releaseSavepoint,
		insertDraft, moveDraft, addUnfundedDraft, addWalletEvent, insertEvent,
		selectAnyDraftByMissionID, selectAnyDraftByDraftID, selectFunding, selectFundingByKey, insertFunding,
	}, insertBlocks.forSQLite(), insertEvents.forSQLite())
)
