package store

import "slices"

// The statements that SQLite parses once per connection. PostgreSQL's driver does this by itself.
var (
	readStatements = []string{
		selectDraftByDraftID, selectDraftByMissionID, selectDraftByKey, selectDrafts, selectDraftsInStatus, selectDraftsToLapse, selectEvents,
		selectAnyDraftByMissionID, selectAnyDraftByDraftID, selectFunding, selectFundingByKey, selectPosition, selectHalted, selectFollowerStuck, selectOpenIncidentOf,
		selectFundingsToDeepen, selectRefundsToConfirm,
		selectSlots, selectSlotsByMission, selectOpenSlots, selectOpenPhotos, selectOpenVideos, selectAnywhere, selectAnywherePhotos, selectAnywhereVideos, selectNear, selectSlotsToClose, selectSlotsToComplete,
		selectPayout, selectPayoutsToFinalize, selectMissionsWaiting, selectMissionsWithFullBatch, selectSettlement, selectOpenOfSettlement, selectOpenSettlements,
		selectSubmission, selectSubmissionByKey, selectSubmissionsOf, selectSubmissionsInStatus, selectSubmissionsOfMission,
		selectReservationsToExpire, selectAcceptancesDue, selectReceiptsDue, selectOpenReceipts, selectFinal, selectNextReservationEnd, selectIdleMeter,
		selectOldRefund,
		selectDeliverablesByDraftID, selectDeliverablesByMissionID, selectDeliverables, selectServedMedia,
		selectExactDuplicate, selectServedDuplicate, selectLookalikes, selectLookalikesOfWord, selectEarliest, selectSlotsBySeq,
		selectRemovableDrafts,
		selectOpenBooks, selectClosedBooks, selectEarnings, selectPaymentsOf,
	}
	writeStatements = slices.Concat([]string{
		savepoint, rollbackToSavepoint, releaseSavepoint,
		insertDraft, moveDraft, addUnfundedDraft, addWalletEvent, addWalletEvents, insertEvent,
		insertFunding, updateClosing, updateRefundDue, movePosition, holdPosition, holdLease, insertReview, insertAudit,
		insertSubmission, reserveSlot, addContribution, chargeMeter, refundMeter, insertReservation, selectReservation, deleteReservation, noteArrival,
		addReservedBytes, subtractReservedBytes, deleteReservedBytes, prolongReservation, endContribution, addToSlots, markUploaded, recordMedia, insertPerceptual,
		moveSubmission, numberAcceptance, insertDeliverable, deleteDeliverable, finishAcceptance, prolongHold, numberSlot, putReceipt, startClosing, completeSlots,
		insertPayout, holdMission, holdWaitingMission, addToPayoutCounts, selectWaiting, selectPayoutsOfSlots, updatePayouts, insertSettlement, endSettlement,
		renewReceipt, noteReceiptsPaid, holdOperatorHour, updateOperatorHour,
		deleteEventsOfDrafts, deleteUnfundedDrafts,
	}, insertBlocks.forSQLite(), insertEvents.forSQLite(), insertWalletEvents.forSQLite())
)
