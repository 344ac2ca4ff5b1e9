package store

// The statements that SQLite parses once per connection. PostgreSQL's driver does this by itself.
var (
	readStatements = []string{
		selectDraftByDraftID, selectDraftByMissionID, selectDraftByKey, selectDrafts, selectDraftsInStatus, selectEvents,
	}
	writeStatements = []string{
		savepoint, rollbackToSavepoint, releaseSavepoint,
		insertDraft, moveDraft, addUnfundedDraft, addWalletEvent, insertEvent,
	}
)
