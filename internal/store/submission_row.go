package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

const selectSubmissions = `SELECT s.submission_id, s.seq, s.status, s.draft_id, s.served_hash, s.served_type, s.served_size,
	s.thumbnail_hash, s.contributor, s.idempotency_key, s.fingerprint, s.lat, s.lng, s.accuracy, s.captured_at, s.content_type,
	s.size_bytes, s.declared_hash, s.reserved_until, s.created_at, s.reason, s.score, s.checks, s.policy, s.decided_by, s.duplicate_of,
	s.uploaded_at, s.uploaded_hash, s.media_kind, s.width, s.height, s.duration_ms, s.keyframes, s.perceptual, s.file_captured_at,
	s.file_zone_unknown, s.file_lat, s.file_lng, s.problem_code, s.problem_message, s.verified_at, s.accept_seq, s.hold_until, s.slot,
	s.final_at, s.receipt, s.receipt_signer, s.endorsed_by, s.failing_since, s.version, d.mission_id, d.title, d.wallet, d.token, d.reward,
	d.chain_id, d.factory_address, f.reclaim_after, p.status, p.transaction_hash, p.problem
FROM submissions AS s JOIN drafts AS d ON d.draft_id = s.draft_id LEFT JOIN fundings AS f ON f.draft_id = s.draft_id
LEFT JOIN payouts AS p ON p.submission_id = s.submission_id `

// submissionRow holds the values of a row of selectSubmissions that need conversion.
type submissionRow struct {
	contributor, fingerprint, declaredHash         string
	capturedAt, reservedUntil, createdAt           int64
	score                                          sql.NullInt64
	checks, receipt                                []byte
	uploadedAt, verifiedAt, holdUntil, slot        sql.NullInt64
	finalAt, acceptSeq, failingSince               sql.NullInt64
	uploadedHash, problemCode, problemMessage      sql.NullString
	creator, reward, factory, signer               string
	reclaimAfter                                   sql.NullInt64 // Unix seconds
	kind, servedHash, servedType, thumbnailHash    sql.NullString
	servedSize, width, height, duration, keyframes sql.NullInt64
	perceptual, fileCapturedAt                     sql.NullInt64
	zoneUnknown                                    sql.NullBool
	fileLat, fileLng                               sql.NullFloat64
	payout, payoutTransaction, payoutProblem       sql.NullString
}

func scanSubmission(row scanner) (Submission, error) {
	var s Submission
	var r submissionRow
	d := &s.Declaration
	err := row.Scan(&s.ID, &s.Seq, (*string)(&s.Status), &s.DraftID, &r.servedHash, &r.servedType, &r.servedSize,
		&r.thumbnailHash, &r.contributor, &s.Key, &r.fingerprint, (*string)(&d.Location.Lat), (*string)(&d.Location.Lng),
		(*string)(&d.Location.AccuracyMeters), &r.capturedAt, &d.ContentType, &d.SizeBytes, &r.declaredHash, &r.reservedUntil,
		&r.createdAt, &s.Reason, &r.score, &r.checks, &s.Policy, &s.DecidedBy, &s.DuplicateOf, &r.uploadedAt, &r.uploadedHash, &r.kind,
		&r.width, &r.height, &r.duration, &r.keyframes, &r.perceptual, &r.fileCapturedAt, &r.zoneUnknown, &r.fileLat, &r.fileLng,
		&r.problemCode, &r.problemMessage, &r.verifiedAt, &r.acceptSeq, &r.holdUntil, &r.slot, &r.finalAt, &r.receipt, &r.signer, &s.EndorsedBy, &r.failingSince, &s.Version,
		&s.Mission.MissionID, &s.Mission.Title, &r.creator, (*string)(&s.Mission.Token), &r.reward, &s.Mission.Domain.ChainID,
		&r.factory, &r.reclaimAfter, &r.payout, &r.payoutTransaction, &r.payoutProblem)
	if err != nil {
		return Submission{}, err
	}
	if err := r.fill(&s); err != nil {
		return Submission{}, fmt.Errorf("submission %s: %w", s.ID, err)
	}
	return s, nil
}

func (r *submissionRow) fill(s *Submission) error {
	s.Declaration.CapturedAt, s.ReservedUntil, s.CreatedAt = microTime(r.capturedAt), microTime(r.reservedUntil), microTime(r.createdAt)
	s.UploadedAt, s.VerifiedAt = optionalTime(r.uploadedAt), optionalTime(r.verifiedAt)
	s.HoldUntil, s.FinalAt, s.FailingSince = optionalTime(r.holdUntil), optionalTime(r.finalAt), optionalTime(r.failingSince)
	s.AcceptSeq, s.Receipt = r.acceptSeq.Int64, r.receipt
	if r.score.Valid {
		score := int(r.score.Int64)
		s.Score = &score
	}
	if r.slot.Valid {
		slot := uint32(r.slot.Int64)
		s.Slot = &slot
	}
	if r.reclaimAfter.Valid {
		reclaim := time.Unix(r.reclaimAfter.Int64, 0).UTC()
		s.Mission.Reclaim = &reclaim
	}
	if r.problemCode.Valid {
		s.Problem = &MediaProblem{Code: r.problemCode.String, Message: r.problemMessage.String}
	}
	var payoutErr error
	if r.payout.Valid {
		s.Payout = &SubmissionPayout{Status: sortie.PayoutStatus(r.payout.String), Problem: r.payoutProblem.String}
		payoutErr = parseOptionalHash(&s.Payout.Transaction, r.payoutTransaction)
	}
	media, mediaErr := r.media()
	s.Media = media
	if r.signer != "" {
		mediaErr = errors.Join(mediaErr, parse(&s.Signer, r.signer, sortie.ParseAddress))
	}
	return errors.Join(mediaErr, payoutErr, json.Unmarshal(r.checks, &s.Checks),
		parse(&s.Contributor, r.contributor, sortie.ParseAddress), parse(&s.Fingerprint, r.fingerprint, sortie.ParseHash),
		parse(&s.Declaration.Hash, r.declaredHash, sortie.ParseHash), parseOptionalHash(&s.UploadedHash, r.uploadedHash),
		parse(&s.Mission.Creator, r.creator, sortie.ParseAddress),
		parse(&s.Mission.Domain.Factory, r.factory, sortie.ParseAddress), parse(&s.Mission.Reward, r.reward, parseInteger))
}

// media returns the recorded media, or nil.
func (r *submissionRow) media() (*SubmissionMedia, error) {
	if !r.kind.Valid {
		return nil, nil
	}
	m := &SubmissionMedia{
		Kind: sortie.MediaType(r.kind.String), ServedType: r.servedType.String, ServedSize: r.servedSize.Int64,
		Width: int(r.width.Int64), Height: int(r.height.Int64),
		Duration: time.Duration(r.duration.Int64) * time.Millisecond, Keyframes: int(r.keyframes.Int64),
		CapturedAt: optionalTime(r.fileCapturedAt), ZoneUnknown: r.zoneUnknown.Bool,
	}
	if r.perceptual.Valid {
		perceptual := uint64(r.perceptual.Int64)
		m.Perceptual = &perceptual
	}
	if r.fileLat.Valid && r.fileLng.Valid {
		if place, ok := mission.MicroDegreesOf(r.fileLat.Float64, r.fileLng.Float64); ok {
			m.Place = &place
		}
	}
	return m, errors.Join(parseOptionalHash(&m.ServedHash, r.servedHash), parseOptionalHash(&m.ThumbnailHash, r.thumbnailHash))
}

func parseOptionalHash(to *sortie.Hash, text sql.NullString) error {
	if !text.Valid {
		return nil
	}
	return parse(to, text.String, sortie.ParseHash)
}
